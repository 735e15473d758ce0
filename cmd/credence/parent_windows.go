package main

import "os"

// awaitParent returns when the parent has ended. On Windows the id of the parent remains that of a process that has ended, but any
// process can be waited for.
func awaitParent(parent int) {
	if p, err := os.FindProcess(parent); err == nil { // else it has ended
		_, _ = p.Wait()
	}
}
