package study

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"credence/internal/cohort"
	"credence/nn"
)

// elsewhere is an engine that is not the CPU.
type elsewhere struct{ nn.CPU }

// The next cohort is drawn ahead where networks train elsewhere, once, and is the one that would be drawn.
func TestDrawNext(t *testing.T) {
	a := tinyADNI()
	a.Scans, a.Fresh, a.Size, a.Scratch = 6, 4, cohort.Size{8, 8, 8}, t.TempDir()
	f, err := OpenFolder(filepath.Join(t.TempDir(), "out"), a, false)
	if err != nil {
		t.Fatal(err)
	}
	c := &adniCohort{study: a, folder: f, seed: 1}
	for _, e := range []nn.Engine{nil, nn.CPU{}, elsewhere{}} {
		a.Engine = e
		if c.drawNext(t.Context()) != nil {
			t.Errorf("%T: drawn ahead before the first is there", e)
		}
	}
	if err := c.make(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.Engine = nn.CPU{}
	if c.drawNext(t.Context()) != nil {
		t.Error("drawn ahead beside the CPU's training")
	}
	a.Engine = elsewhere{}
	next := c.drawNext(t.Context())
	if next == nil {
		t.Fatal("nothing is drawn ahead")
	}
	if err := next.make(t.Context()); err != nil || next.seed != 2 || next.truth == nil || next.drawn != nil {
		t.Fatalf("%+v, %v", next, err)
	}
	alone := tinyADNI()
	alone.Scans, alone.Fresh, alone.Size, alone.Scratch = a.Scans, a.Fresh, a.Size, t.TempDir()
	want := &adniCohort{study: alone, folder: f, seed: 2}
	if err := want.make(t.Context()); err != nil {
		t.Fatal(err)
	}
	files := 0
	err = filepath.WalkDir(want.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		name, _ := filepath.Rel(want.dir, path)
		x, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if y, err := os.ReadFile(filepath.Join(next.dir, name)); err != nil || string(x) != string(y) {
			t.Errorf("%s differs: %v", name, err)
		}
		return nil
	})
	if err != nil || files < 10 {
		t.Errorf("%d files, %v", files, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.drawNext(ended).wait(); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
