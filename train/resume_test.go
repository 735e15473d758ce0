package train

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"credence/dataset"
	"credence/internal/atomicfile"
	"credence/internal/safetensors"
	"credence/model"
)

// stopping are rows that cancel a run once a number of them were read: inputs that
// are not kept in memory are read for every batch, so that a run can be stopped
// at any step.
type stopping struct {
	dataset.Rows
	left atomic.Int64
	stop context.CancelFunc
}

func (s *stopping) ReadRow(i int, dst []float32) error {
	if s.left.Add(-1) == 0 {
		s.stop()
	}
	return s.Rows.ReadRow(i, dst)
}

// interrupted fits a model in runs that are each stopped after some more rows
// than the one before, and resumed from the checkpoint that o names. It returns
// the model and how often it was stopped.
func interrupted(t *testing.T, ds *dataset.Dataset, o Options, reads int) (m *model.Model, stops int) {
	t.Helper()
	rows := &stopping{Rows: ds.Rows}
	watched := *ds
	watched.Rows = rows
	for {
		f, err := newFitting(t.Context(), &watched, o)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		rows.stop = cancel
		rows.left.Store(int64(reads + 10*stops))
		res, err := f.run(ctx)
		cancel()
		switch {
		case err == nil:
			return res.Model, stops
		case !errors.Is(err, ErrStopped):
			t.Fatal(err)
		}
		stops++
	}
}

// withNorm is a network with running statistics, dropout and a categorical
// input, so that every kind of state is in the checkpoint.
const withNorm = `
- type: concat
  inputs: [[2], [1]]
  branches: [[], [{type: embedding, sizes: 7, width: 2}]]
- {type: dense, out: 6}
- type: batchnorm
- type: relu
- {type: dropout, rate: 0.2}
- type: dense
`

// TestResume: a run stopped at any steps, any number of times, ends with the
// same bytes as one that was not.
func TestResume(t *testing.T) {
	var ds *dataset.Dataset
	for _, c := range []struct {
		name string
		edit func(o *Options)
	}{
		{"augmented", func(o *Options) {
			ds = pictures(90)
			o.Network, o.Widths = flat, nil
			o.Augment = Augment{Shift: 1, Flip: true, Intensity: 0.2, Noise: 0.1}
		}},
		{"ensemble", func(o *Options) { ds, o.NoReferences = simulated(90, 3, 1), false }},
		{"states", func(o *Options) { o.Network = withNorm; o.Widths = nil }},
		{"refit", func(o *Options) { o.Ensemble = 1; o.Optimizer = "sgd" }},
		{"cosine", func(o *Options) { o.Schedule = "cosine"; o.ClassWeights = []float64{1, 2} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := bare()
			o.Epochs, o.Patience = 5, 3
			c.edit(&o)
			want := encoded(t, fitted(t, ds, o).Model)
			for _, reads := range []int{20, 333, 900} {
				o := o
				o.Checkpoint, o.Resume, o.Memory = filepath.Join(t.TempDir(), "checkpoint"), true, 1
				got, stops := interrupted(t, ds, o, reads)
				if stops == 0 {
					t.Errorf("stops after %d reads: none", reads)
				}
				if !bytes.Equal(encoded(t, got), want) {
					t.Errorf("stopped %d times, about every %d reads: another model", stops, reads)
				}
			}
		})
	}
}

// TestResumeRefuses: other data, another configuration, another instruction set
// and damaged files are named.
func TestResumeRefuses(t *testing.T) {
	ds := simulated(60, 3, 1)
	o := quick()
	o.Checkpoint, o.Resume = t.TempDir(), true
	fitted(t, ds, o)
	refuses := func(what string, edit func(f *fitting)) {
		t.Helper()
		f, err := newFitting(t.Context(), ds, o)
		if err != nil {
			t.Fatal(err)
		}
		edit(f)
		if _, err := f.run(context.Background()); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("error %v, want one with %q", err, what)
		}
	}
	refuses("the data differ", func(f *fitting) { f.mark.Data = strings.Repeat("0", 64) })
	refuses("the instruction set is z80", func(f *fitting) { f.mark.Kernel = "z80" })
	refuses(`the configuration differs: rate is 0.5, then 0.001`, func(f *fitting) {
		f.o.Rate = 0.5
		f.mark.Config, _ = json.Marshal(f.o)
	})
	path := filepath.Join(o.Checkpoint, "member-0.checkpoint")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text[:len(text)-9], 0o644); err != nil {
		t.Fatal(err)
	}
	refuses(safetensors.ErrTruncated.Error(), func(*fitting) {})
	if err := RemoveCheckpoint(o.Checkpoint); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(o.Checkpoint); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
}

// TestCancel: a canceled fit returns the best model so far and ErrStopped.
func TestCancel(t *testing.T) {
	ds := simulated(90, 3, 1)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	o := quick()
	o.Epochs = 1000
	o.Patience = 1000
	o.Progress = func(e Event) {
		if e.Epoch == 3 {
			cancel()
		}
	}
	res, err := Fit(ctx, ds, o)
	if !errors.Is(err, ErrStopped) || res == nil || res.Model.Check() != nil {
		t.Fatalf("result %v, error %v", res, err)
	}
	if w := res.Model.Provenance.Warnings; !strings.Contains(fmt.Sprint(w), "stopped before its end") {
		t.Errorf("warnings %q", w)
	}
	if _, err := res.Model.Predict(context.Background(), ds, model.PredictOptions{}); err != nil {
		t.Error(err)
	}
	ctx, cancel = context.WithCancel(context.Background())
	cancel()
	if res, err := Fit(ctx, ds, quick()); !errors.Is(err, ErrStopped) || res != nil {
		t.Errorf("cancelled at the start: %v, %v", res, err)
	}
}

// TestKilled kills a training process with SIGKILL again and again while it
// writes checkpoints as often as it can: what is under a final name is always
// whole, and the run ends as one that was never killed.
func TestKilled(t *testing.T) {
	const env = "CREDENCE_TEST_KILLED"
	ds := simulated(120, 3, 1)
	o := quick()
	o.Epochs, o.Patience = 30, -1
	if dir := os.Getenv(env); dir != "" { // the process that is killed
		o.Checkpoint, o.Resume, o.CheckpointEvery = dir, true, time.Nanosecond
		if err := fitted(t, ds, o).Model.Save(filepath.Join(filepath.Dir(dir), "model.credence")); err != nil {
			t.Fatal(err)
		}
		return
	}
	if testing.Short() {
		t.Skip("starts processes")
	}
	dir := filepath.Join(t.TempDir(), "checkpoint")
	final := filepath.Join(filepath.Dir(dir), "model.credence")
	leftovers := 0
	for kills := 0; ; kills++ {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$")
		cmd.Env = append(os.Environ(), env+"="+dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(30+20*kills) * time.Millisecond)
		_ = cmd.Process.Kill() // it may be done already
		_ = cmd.Wait()
		files, err := filepath.Glob(filepath.Join(dir, "*.checkpoint"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if _, err := safetensors.ReadFile(f); err != nil {
				t.Fatalf("after %d kills: %v", kills+1, err)
			}
		}
		half, err := filepath.Glob(filepath.Join(dir, ".*.tmp"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(final); err == nil {
			t.Logf("killed %d times, with up to %d files left half written", kills, leftovers)
			if len(half) > 0 {
				t.Errorf("files half written stay to the end: %q", half)
			}
			break
		}
		leftovers = max(leftovers, len(half))
		if kills > 200 {
			t.Fatal("the run does not end")
		}
	}
	got, err := model.Load(final)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(encoded(t, got), encoded(t, fitted(t, ds, o).Model)) {
		t.Error("killed and resumed: another model")
	}
	if err := RemoveCheckpoint(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the folder of checkpoints is still there: %v", err)
	}
}

// TestStaleCheckpoint: a checkpoint that was half written when its process was
// killed does not keep a folder from being resumed, cleaned or removed, and what
// another process is writing is left alone.
func TestStaleCheckpoint(t *testing.T) {
	ds := simulated(60, 3, 1)
	o := quick()
	o.Checkpoint, o.Resume = filepath.Join(t.TempDir(), "checkpoint"), true
	stale := filepath.Join(o.Checkpoint, ".member-1.checkpoint.3141.tmp")
	plant := func() {
		t.Helper()
		if err := os.MkdirAll(o.Checkpoint, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(stale, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	gone := func(path string) {
		t.Helper()
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", path, err)
		}
	}
	plant()
	want := encoded(t, fitted(t, ds, o).Model)
	gone(stale)
	err := CleanCheckpoint(o.Checkpoint)
	if there, _ := filepath.Glob(filepath.Join(o.Checkpoint, "*.checkpoint")); err != nil || len(there) == 0 {
		t.Errorf("CleanCheckpoint of finished checkpoints: %v, %q", err, there)
	}
	plant()
	if err := RemoveCheckpoint(o.Checkpoint); err != nil {
		t.Fatal(err)
	}
	gone(o.Checkpoint)
	plant()
	if err := CleanCheckpoint(o.Checkpoint); err != nil {
		t.Errorf("CleanCheckpoint of a leftover alone: %v", err)
	}
	gone(o.Checkpoint)
	plant()
	err = atomicfile.Write(filepath.Join(o.Checkpoint, "member-1.checkpoint"), func(io.Writer) error {
		if err := RemoveCheckpoint(o.Checkpoint); err != nil {
			t.Error(err)
		}
		if half, _ := filepath.Glob(filepath.Join(o.Checkpoint, ".*.tmp")); len(half) != 1 || half[0] == stale {
			t.Errorf("while a checkpoint is written: %q", half)
		}
		return errors.New("enough")
	})
	if err == nil {
		t.Error("no error")
	}
	if !bytes.Equal(encoded(t, fitted(t, ds, o).Model), want) {
		t.Error("another model")
	}
}
