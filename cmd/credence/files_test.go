package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"credence/dataset"
	"credence/run"
	"credence/train"
)

// TestStoppedRun: verbs that use the model of a run that was stopped warn about it,
// with the number of networks that it has.
func TestStoppedRun(t *testing.T) {
	t.Chdir(t.TempDir())
	items, votes := smallData(40)
	for name, text := range map[string]string{"items.csv": items, "votes.csv": votes} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ds, err := dataset.Load(t.Context(), dataset.LoadOptions{Data: []string{"items.csv"}, Votes: []string{"votes.csv"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	o := newTrainOptions()
	o.Load.Data, o.Load.Votes, o.out = []string{"items.csv"}, []string{"votes.csv"}, "run"
	opts := o.options(&trainDisplay{})
	opts.Fit = train.Options{Ensemble: 3, Epochs: 4, Widths: []int{4}, Seed: 1}
	opts.Fit.Progress = func(e train.Event) {
		if e.Index == 1 && e.End {
			stop()
		}
	}
	if _, err := run.Train(ctx, o.out, &run.Partition{Items: ds, Learn: ds}, opts); !errors.Is(err, train.ErrStopped) {
		t.Fatal(err)
	}
	for _, verb := range []string{"predict run items.csv", "evaluate run items.csv --votes votes.csv", "inspect run", "next run items.csv --budget 3"} {
		var stdout, stderr bytes.Buffer
		if code := program(strings.Fields(verb), nil, &stdout, &stderr); code != exitOK {
			t.Errorf("%s: exit code %d, %s", verb, code, &stderr)
		}
		if !strings.Contains(stderr.String(), "warning: the run in run has not ended: its model has ") {
			t.Errorf("%s: %s", verb, &stderr)
		}
	}
	m, err := run.Load("run")
	if err != nil {
		t.Fatal(err)
	}
	m.Members = m.Members[:1] // the number of networks that had started depends on the machine
	if got := networksOf(m); got != "1 of 3 networks, as far as they were trained" {
		t.Errorf("the model has %s", got)
	}
	if left, _ := filepath.Glob("run/.*"); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}
