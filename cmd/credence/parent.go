package main

import (
	"context"
	"os"
	"strconv"
	"syscall"
	"time"
)

// parentVariable is the environment variable with which a calling program asks this one not to
// outlive it: its value is the caller's process id.
const parentVariable = "CREDENCE_PARENT"

// endWithParent shuts this process down as SIGTERM does when its parent is gone, if the parent
// requested it. The parent-death signal of prctl is no alternative: it is sent when the thread that
// started the process ends. Where a process cannot signal itself, the returned context ends.
func endWithParent() context.Context {
	parent, err := strconv.Atoi(os.Getenv(parentVariable))
	if err != nil || parent != os.Getppid() {
		return context.Background()
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		awaitParent(parent)
		self, err := os.FindProcess(os.Getpid())
		if err != nil || self.Signal(syscall.SIGTERM) != nil {
			cancel()
		}
		time.Sleep(20 * time.Second)
		os.Exit(exitError)
	}()
	return ctx
}
