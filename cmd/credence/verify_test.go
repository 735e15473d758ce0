package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"credence/model"
)

// The difference that is named is the first in the order of what it explains.
func TestFirstDifference(t *testing.T) {
	t.Chdir(t.TempDir())
	items, votes := smallData(40)
	for name, text := range map[string]string{"items.csv": items, "votes.csv": votes} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	must(t, "train --data items.csv --votes votes.csv --epochs 1 --ensemble 2 --widths 4 --quiet --out run")
	load := func() *model.Model {
		m, err := loadModel("run")
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	weight := func(m *model.Model) { m.Members[1].Net.Params[0].Value[2]++ }
	for _, c := range []struct {
		change func(m *model.Model)
		want   string
	}{
		{func(m *model.Model) { m.Provenance.Data, m.Provenance.Kernel = "x", "y" }, "data: recorded"},
		{func(m *model.Model) { m.Provenance.Kernel, m.Provenance.Version = "x", "y" }, "kernel: recorded"},
		{func(m *model.Model) { m.Provenance.Version = "9.9" }, "found 9.9; the weights are equal"},
		{func(m *model.Model) { m.Provenance.Version = "9.9"; weight(m) }, "found 9.9; the weights differ too"},
		{func(m *model.Model) { m.Provenance.Config = []byte(`{}`) }, "configuration: recorded"},
		{weight, "weights: network 1, "},
		{func(m *model.Model) { m.Members = m.Members[:1] }, "networks: recorded 2, found 1"},
		{func(m *model.Model) { m.Provenance.Warnings = nil }, "the weights are equal, the record of training is not"},
	} {
		a, b := load(), load()
		c.change(b)
		err := firstDifference("run", a, b)
		if !strings.HasPrefix(err.Error(), "run does not repeat: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// A repetition that is interrupted proves nothing and leaves nothing.
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
	if want := "credence: error: stopped before the end of training: nothing is proved\n"; code != exitError || stderr.String() != want || stdout.Len() > 0 {
		t.Errorf("exit code %d, stdout %q, stderr %q, want %q", code, &stdout, &stderr, want)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
