//go:build !linux

package kernel

import "time"

var started = time.Now()

// threadTime is the wall clock where the processor time of a thread cannot be
// had.
func threadTime() time.Duration { return time.Since(started) }
