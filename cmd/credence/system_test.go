package main

import (
	"strings"
	"testing"
)

func TestMkdirCommand(t *testing.T) {
	if a, b := mkdirCommand("linux", "a/b c"), mkdirCommand("windows", `a\b c`); a != "mkdir -p 'a/b c'" || b != `mkdir "a\b c"` {
		t.Errorf("found %s and %s", a, b)
	}
}

// A line of a terminal is redrawn without control sequences, and leaves nothing of a longer one before.
func TestStatusLine(t *testing.T) {
	var b strings.Builder
	l := statusLine{w: &b, live: true}
	l.show("", "80% ± 1")
	l.show("", "90%")
	l.erase()
	l.erase()
	if want := "80% ± 1\r       \r90%\r   \r"; b.String() != want {
		t.Errorf("found %q, want %q", b.String(), want)
	}
}
