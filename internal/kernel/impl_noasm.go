//go:build (!amd64 && !arm64) || purego

package kernel

func archImpls() []*impl { return nil }
