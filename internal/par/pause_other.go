//go:build !amd64

package par

// pause does nothing where there is no instruction for it.
func pause() {}
