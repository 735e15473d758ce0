//go:build !windows

package main

import (
	"os"
	"time"
)

// awaitParent returns when the parent has ended: another process takes its place.
func awaitParent(parent int) {
	for os.Getppid() == parent {
		time.Sleep(500 * time.Millisecond)
	}
}
