package main

import (
	"io"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"
)

// orphan starts the program, which reads its standard input, and ends without waiting for it.
func orphan() {
	cmd := exec.Command("credence", "mixture", "--json")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if os.Getenv("ORPHAN_MAY_LIVE") == "" {
		cmd.Env = append(os.Environ(), parentVariable+"="+strconv.Itoa(os.Getpid()))
	}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	time.Sleep(500 * time.Millisecond) // it has looked for its parent by then
}

// TestEndWithParent checks that the program ends with its parent, if the parent asked for it: its output is closed although its input
// is not.
func TestEndWithParent(t *testing.T) {
	for _, live := range []string{"", "1"} {
		input, hold, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer input.Close()
		output, end, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer output.Close()
		cmd := exec.Command("orphan")
		cmd.Env = append(os.Environ(), "ORPHAN_MAY_LIVE="+live)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = input, end, os.Stderr
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		end.Close()
		ended := make(chan struct{})
		go func() {
			_, _ = io.Copy(io.Discard, output)
			close(ended)
		}()
		within := 30 * time.Second
		if live != "" {
			within = 2 * time.Second
		}
		select {
		case <-ended:
			if live != "" {
				t.Error("it ended with its parent without having been asked to")
			}
		case <-time.After(within):
			if live == "" {
				t.Errorf("it did not end within %v of its parent", within)
			}
		}
		hold.Close() // the program ends
		<-ended
	}
}
