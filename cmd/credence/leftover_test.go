package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"credence/run"
)

// TestLeftovers: temporary files of a process that was killed while writing to
// the folder of a run do not affect the commands that open the folder, and these
// remove them.
func TestLeftovers(t *testing.T) {
	t.Chdir(t.TempDir())
	items, votes := smallData(40)
	for name, text := range map[string]string{"items.csv": items, "votes.csv": votes} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	folder := run.Folder("run")
	plant := func(names ...string) {
		t.Helper()
		for _, name := range names {
			if err := os.MkdirAll(filepath.Dir(folder.Path(name)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(folder.Path(name), []byte("half"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	clean := func(after string) {
		t.Helper()
		left, _ := filepath.Glob(folder.Path(".*.tmp"))
		if folder.Has("checkpoint") || len(left) > 0 {
			t.Errorf("%s leaves %q, or the checkpoints", after, left)
		}
	}
	const checkpoint, model = "checkpoint/.member-0.checkpoint.421.tmp", ".model.credence.77.tmp"
	const training = "train --data items.csv --votes votes.csv --epochs 1 --ensemble 2 --widths 4 --quiet --out run"

	plant(".config.yaml.5.tmp") // killed in its first write
	must(t, training)
	clean("train")
	want, err := os.ReadFile(folder.Path(run.ModelFile))
	if err != nil {
		t.Fatal(err)
	}
	plant(checkpoint, model)
	must(t, "verify run --quiet")
	if folder.Has("checkpoint") {
		t.Error("verify leaves the folder of checkpoints")
	}
	plant(checkpoint, model)
	var stdout, stderr bytes.Buffer
	code := program([]string{"train", "--resume", "--out", string(folder)}, nil, &stdout, &stderr)
	if code != exitOK || !strings.Contains(stderr.String(), "nothing to resume") {
		t.Errorf("resuming a run that has ended: exit code %d, %s", code, &stderr)
	}
	clean("train --resume")
	plant(checkpoint, model)
	must(t, training+" --overwrite")
	clean("train --overwrite")
	if got, err := os.ReadFile(folder.Path(run.ModelFile)); err != nil || !bytes.Equal(got, want) {
		t.Errorf("another model, %v", err)
	}
}
