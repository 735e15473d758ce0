//go:build !purego

package kernel

func archImpls() []*impl { return nil }
