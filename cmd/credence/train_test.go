package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"credence/run"
)

// stopAfter cancels a context after the given number of lines with a mark.
type stopAfter struct {
	bytes.Buffer
	mark   string
	left   int
	cancel func()
}

func (s *stopAfter) Write(p []byte) (int, error) {
	if strings.Contains(string(p), s.mark) {
		if s.left--; s.left == 0 {
			s.cancel()
		}
	}
	return s.Buffer.Write(p)
}

// A run that is stopped keeps the best model and prints how to continue. Once
// continued, it ends with the model of a run that was never stopped.
func TestTrainResume(t *testing.T) {
	t.Chdir(t.TempDir())
	items, votes := smallData(120)
	for name, text := range map[string]string{"items.csv": items, "votes.csv": votes} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	args := func(more string) []string {
		return strings.Fields("train --data items.csv --votes votes.csv --ensemble 2 --epochs 30 --patience 0 --json " + more)
	}
	var stdout, stderr bytes.Buffer
	if code := program(args("--out whole"), nil, &stdout, &stderr); code != exitOK {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	root := newRoot()
	root.SetContext(ctx)
	begun := []byte(nil) // the record while the run is at work
	out := &stopAfter{mark: `"event":"epoch"`, left: 9, cancel: func() {
		begun, _ = os.ReadFile(filepath.Join("parts", run.ConfigFile))
		cancel()
	}}
	stderr.Reset()
	if code := execute(root, args("--out parts"), nil, out, &stderr); code != exitError {
		t.Fatalf("stopped: exit code %d: %s", code, &stderr)
	}
	command := "credence train --config " + filepath.Join("parts", "config.yaml") + " --out parts --resume"
	if !strings.Contains(stderr.String(), "credence: hint: continue with: "+command+"\n") {
		t.Fatalf("stopped: no command to continue in\n%s", &stderr)
	}
	stdout.Reset()
	stderr.Reset()
	if code := program([]string{"inspect", "parts"}, nil, &stdout, &stderr); code != exitOK || !strings.Contains(stdout.String(), "stopped before its end") {
		t.Fatalf("inspecting a stopped run: exit code %d, %s%s", code, &stdout, &stderr)
	}
	// A rejected attempt changes nothing.
	if code := program(append(strings.Fields(command)[1:], "--epochs", "31"), nil, &stdout, &stderr); code != exitError || !strings.Contains(stderr.String(), "epochs is 31, then 30") {
		t.Fatalf("resumed with other flags: exit code %d: %s", code, &stderr)
	}
	// A run that is killed leaves the record of its beginning, and no model.
	if err := os.WriteFile(filepath.Join("parts", run.ConfigFile), begun, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join("parts", run.ModelFile)); err != nil {
		t.Fatal(err)
	}
	if code := program(strings.Fields(command)[1:], nil, &stdout, &stderr); code != exitOK {
		t.Fatalf("resumed: exit code %d: %s", code, &stderr)
	}
	for _, name := range []string{run.ModelFile, run.MetricsFile, run.HistoryFile} {
		want, err := os.ReadFile(filepath.Join("whole", name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join("parts", name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s of the resumed run differs from that of a whole one (%v)", name, err)
		}
	}
	if _, err := os.Stat(filepath.Join("parts", "checkpoint")); err == nil {
		t.Error("a run that has ended left its checkpoints")
	}
}

// Ctrl-C while data are read ends at once, and leaves no folder behind.
func TestTrainStoppedReading(t *testing.T) {
	t.Chdir(t.TempDir())
	items, votes := smallData(120)
	for name, text := range map[string]string{"items.csv": items, "votes.csv": votes} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	root := newRoot()
	root.SetContext(ctx)
	var stdout, stderr bytes.Buffer
	code := execute(root, strings.Fields("train --data items.csv --votes votes.csv --out run"), nil, &stdout, &stderr)
	want := "credence: error: training was stopped before its end: the data were still being read\n"
	if code != exitError || stderr.String() != want {
		t.Errorf("exit code %d, stderr %q, want %q", code, &stderr, want)
	}
	if _, err := os.Stat("run"); err == nil {
		t.Error("a folder was made")
	}
}
