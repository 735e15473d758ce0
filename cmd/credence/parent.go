package main

import (
	"os"
	"strconv"
	"syscall"
	"time"
)

// parentVariable is the variable of the environment by which a program that calls this one asks it
// not to outlive the caller: it holds the caller's process id.
const parentVariable = "CREDENCE_PARENT"

// endWithParent ends this process as SIGTERM does, in good order, when its parent is gone, if the
// parent asked for that. Signals at the death of a parent (prctl) would come when the thread ends
// that started the process.
func endWithParent() {
	parent, err := strconv.Atoi(os.Getenv(parentVariable))
	if err != nil || parent != os.Getppid() {
		return
	}
	go func() {
		for os.Getppid() == parent {
			time.Sleep(500 * time.Millisecond)
		}
		if self, err := os.FindProcess(os.Getpid()); err == nil && self.Signal(syscall.SIGTERM) == nil {
			time.Sleep(20 * time.Second)
		}
		os.Exit(exitError)
	}()
}
