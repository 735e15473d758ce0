package kernel

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime is the processor time this thread has used: unlike the wall clock
// it stands still while others run. The caller must stay on its thread.
func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}
