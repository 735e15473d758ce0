package main

import (
	"bytes"
	"context"
	"os"
	"testing"
)

// A verification that is interrupted proves nothing and leaves no files.
func TestVerifyStopped(t *testing.T) {
	t.Chdir(t.TempDir())
	items, votes := smallData(40)
	for name, text := range map[string]string{"items.csv": items, "votes.csv": votes} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	must(t, "train --data items.csv --votes votes.csv --epochs 1 --ensemble 2 --widths 4 --quiet --out run")
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	root := newRoot()
	root.SetContext(ctx)
	var stdout, stderr bytes.Buffer
	code := execute(root, []string{"verify", "run", "--quiet"}, nil, &stdout, &stderr)
	if want := "credence: error: stopped before the end of training: nothing was verified\n"; code != exitError || stderr.String() != want || stdout.Len() > 0 {
		t.Errorf("exit code %d, stdout %q, stderr %q, want %q", code, &stdout, &stderr, want)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
