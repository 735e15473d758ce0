//go:build (amd64 || arm64) && !purego

package kernel

// first returns the address of the first element, nil for a nil slice.
func first[T any](x []T) *T {
	if len(x) == 0 {
		return nil
	}
	return &x[0]
}

// termsAt returns the address of the first number.
func termsAt(terms []BetaTerm) *float64 {
	if len(terms) == 0 {
		return nil
	}
	return &terms[0].A
}
