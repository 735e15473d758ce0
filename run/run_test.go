package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"credence/dataset"
	"credence/evaluate"
	"credence/train"
)

// plane returns items in the plane, whose votes depend on one coordinate.
func plane(n int) *dataset.Dataset {
	rows := &dataset.Memory{N: n, W: 2}
	ds := &dataset.Dataset{Classes: []string{"a", "b"}, Features: []dataset.Feature{{Name: "x"}, {Name: "y"}}, Rows: rows}
	for i := range n {
		x := math.Sin(float64(i))
		ds.Items = append(ds.Items, fmt.Sprint(i))
		rows.Values = append(rows.Values, float32(x), float32(math.Cos(3*float64(i))))
		b := float32(math.Round(1.5 + 1.5*x))
		ds.Counts = append(ds.Counts, 3-b, b)
	}
	return ds
}

func quick() train.Options {
	return train.Options{Epochs: 3, Ensemble: 2, Widths: []int{4}, Seed: 1, Version: "test"}
}

// trained trains on the division of 80 items and fails if that does.
func trained(t *testing.T, folder Folder, d *Partition, o Options) *Trained {
	t.Helper()
	got, err := Train(context.Background(), folder, d, o)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func trainedFolder(t *testing.T, o Options) Folder {
	t.Helper()
	folder := Folder(filepath.Join(t.TempDir(), "run"))
	trained(t, folder, &Partition{Items: plane(80), Learn: plane(80)}, o)
	return folder
}

func read(t *testing.T, folder Folder, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(folder.Path(name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// writeConfig writes the chosen options, as a program with settings would.
func writeConfig(w io.Writer, chosen *train.Options) error {
	if chosen == nil {
		_, err := io.WriteString(w, "before")
		return err
	}
	_, err := fmt.Fprintf(w, "rate %v", chosen.Rate)
	return err
}

// TestTrain: a run leaves all of its files, and its metrics are those of the
// model and of the references.
func TestTrain(t *testing.T) {
	ds := plane(80)
	d, err := Divide(ds, 0.2, 0.25, 1)
	if err != nil {
		t.Fatal(err)
	}
	folder := Folder(filepath.Join(t.TempDir(), "run"))
	got := trained(t, folder, d, Options{Fit: quick(), Config: writeConfig, Command: "again"})
	for _, name := range files {
		if rated := name == RatersFile; folder.Has(name) == rated { // nobody is named
			t.Errorf("%s is there: %v", name, rated)
		}
	}
	if folder.Unfinished() || folder.Has("checkpoint") {
		t.Error("the checkpoints are still there")
	}
	if text := string(read(t, folder, ConfigFile)); text != fmt.Sprint("rate ", got.Options.Rate) || got.Options.Rate == 0 {
		t.Errorf("configuration %q", text)
	}
	if !bytes.Contains(read(t, folder, ReportFile), []byte("again")) {
		t.Error("the report has no command")
	}
	var m Metrics
	if err := json.Unmarshal(read(t, folder, MetricsFile), &m); err != nil {
		t.Fatal(err)
	}
	if m.Items != 60 || m.Votes != 180 || m.Networks != 2 || len(m.Runs) != 2 || m.HeldOut.LogisticDMNLL == nil ||
		*m.HeldOut.NLL != got.Model.Provenance.Scores.NLLPerVote {
		t.Errorf("metrics %+v", m)
	}
	if lines := bytes.Count(read(t, folder, HistoryFile), []byte("\n")); lines != 1+2*3 {
		t.Errorf("%d lines of history", lines)
	}

	// The parts are those of the split.
	for i, want := range [][]int{d.Split.Train, d.Split.Validation, d.Split.Test} {
		part, err := folder.Split(ds, SplitNames[i])
		if err != nil || !slices.Equal(part.Items, ds.Select(want).Items) {
			t.Errorf("part %s: %d items, want %d, error %v", SplitNames[i], part.Len(), len(want), err)
		}
	}
	for _, c := range []struct {
		ds    *dataset.Dataset
		n     int
		equal bool
	}{{ds, 60, false}, {d.Learn, 60, true}, {ds.Select(d.Split.Test), 0, false}} {
		if n, equal, err := folder.Seen(got.Model, c.ds); n != c.n || equal != c.equal || err != nil {
			t.Errorf("%d seen, equal %v, error %v; want %d, %v", n, equal, err, c.n, c.equal)
		}
	}
	none := ds.Select([]int{0})
	none.Items = []string{"unheard of"}
	if _, err := folder.Split(none, TestSplit); err == nil || !strings.Contains(err.Error(), "none of the 1 item is in the test part") {
		t.Errorf("items in no part: %v", err)
	}

	// The model that is read back is judged like any other.
	in, err := Input(got.Model, ds.Select(d.Split.Test))
	if err != nil {
		t.Fatal(err)
	}
	r, err := evaluate.Evaluate(*in, evaluate.Options{Bootstrap: evaluate.Bootstrap{Replicates: 20}})
	if err != nil || !r.LogisticDMNLL.Value.Known() || in.Predictions[0].Resolution == 0 {
		t.Errorf("result %+v, error %v", r, err)
	}
	other := ds.Select(d.Split.Test)
	other.Classes = []string{"a", "c"}
	if _, err := Input(got.Model, other); err == nil || err.Error() != `expected votes for the model's classes ["a" "b"], found ["a" "c"]` {
		t.Errorf("other classes: %v", err)
	}
}

// untilModel is a context that is canceled once a folder has a model.
type untilModel struct {
	context.Context
	folder Folder
}

func (c untilModel) Err() error {
	if c.folder.Has(ModelFile) {
		return context.Canceled
	}
	return nil
}

// TestStopInReport: a run that is stopped while its report is made has all but the report, and can be resumed.
func TestStopInReport(t *testing.T) {
	d := &Partition{Items: plane(80), Learn: plane(80)}
	o := Options{Fit: quick(), Config: writeConfig}
	want := trainedFolder(t, o)
	folder := Folder(filepath.Join(t.TempDir(), "run"))
	got, err := Train(untilModel{context.Background(), folder}, folder, d, o)
	if !errors.Is(err, train.ErrStopped) || got == nil || !folder.Unfinished() || folder.Has(ReportFile) {
		t.Fatalf("stopped: error %v, result %v, unfinished %v, report %v", err, got, folder.Unfinished(), folder.Has(ReportFile))
	}
	o.Mode = Resume
	trained(t, folder, d, o)
	if !folder.Has(ReportFile) || !bytes.Equal(read(t, folder, ModelFile), read(t, want, ModelFile)) {
		t.Error("a resumed run has no report, or another model")
	}
}

// TestResume: a run that is stopped keeps its configuration, can be resumed and
// ends with the bytes of one that was not.
func TestResume(t *testing.T) {
	d := &Partition{Items: plane(80), Learn: plane(80)}
	o := Options{Fit: quick(), Config: writeConfig}
	want := trainedFolder(t, o)
	folder := Folder(filepath.Join(t.TempDir(), "run"))
	ctx, cancel := context.WithCancel(context.Background())
	o.Fit.Progress = func(e train.Event) { cancel() }
	got, err := Train(ctx, folder, d, o)
	if !errors.Is(err, train.ErrStopped) || got == nil || !folder.Unfinished() || !folder.Has(ModelFile) || folder.Has(ReportFile) {
		t.Fatalf("stopped: error %v, result %v, unfinished %v, report %v", err, got, folder.Unfinished(), folder.Has(ReportFile))
	}
	if got.Metrics.HeldOut.ConstantNLL != nil || got.Metrics.Warnings[len(got.Metrics.Warnings)-1].Kind != train.StoppedEarly {
		t.Errorf("metrics of a stopped run %+v", got.Metrics)
	}
	o.Fit.Progress = nil
	if _, err := Train(context.Background(), folder, d, o); !errors.Is(err, ErrExists) {
		t.Errorf("not resumed: %v", err)
	}
	o.Mode = Resume
	trained(t, folder, d, o)
	if !bytes.Equal(read(t, folder, ModelFile), read(t, want, ModelFile)) {
		t.Error("a resumed run gives another model")
	}
	if _, err := Train(context.Background(), folder, d, o); !errors.Is(err, ErrEnded) {
		t.Errorf("resumed though ended: %v", err)
	}
	o.Mode = Overwrite
	o.Fit.Seed = 2
	trained(t, folder, d, o)
	if bytes.Equal(read(t, folder, ModelFile), read(t, want, ModelFile)) {
		t.Error("a run that was replaced is still there")
	}

	// Stopped before the first epoch, nothing is left.
	empty := Folder(filepath.Join(t.TempDir(), "empty"))
	o.Mode = New
	if got, err := Train(ctx, empty, d, o); !errors.Is(err, train.ErrStopped) || got != nil {
		t.Errorf("stopped at once: result %v, error %v", got, err)
	}
	if _, err := os.Stat(string(empty)); !empty.Unfinished() && err == nil {
		t.Error("a run that never began leaves its folder")
	}
}

// TestErrors: each problem of a folder has its own error.
func TestErrors(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := Folder(file).Check(New); err == nil || err.Error() != file+": expected a folder: not a directory" {
		t.Errorf("a file: %v", err)
	}
	if err := Folder(filepath.Join(dir, "new")).Check(Resume); !errors.Is(err, ErrNoRun) {
		t.Errorf("nothing to resume: %v", err)
	}
	if err := Folder(dir).Check(Overwrite); err != nil {
		t.Errorf("to be replaced: %v", err)
	}
	if _, err := Load(dir); !errors.Is(err, ErrNoModel) || errors.Is(err, ErrUnfinished) {
		t.Errorf("no model: %v", err)
	}
	if _, err := Load(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
	if _, err := Folder(dir).Split(plane(3), TestSplit); !errors.Is(err, ErrNoSplit) {
		t.Errorf("no split: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, splitFile), []byte("item,part\n1,exam\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Folder(dir).Split(plane(3), TestSplit); err == nil || !strings.Contains(err.Error(), `item "1": expected a part of [train validation test], found "exam"`) {
		t.Errorf("a broken split: %v", err)
	}
	if got := FolderOf(file); got != Folder(dir) {
		t.Errorf("folder of a file: %s", got)
	}
}

// TestVerify: a run repeats to the bit, and other data or seeds are found out.
func TestVerify(t *testing.T) {
	o := Options{Fit: quick()}
	folder := trainedFolder(t, o)
	d := &Partition{Items: plane(80), Learn: plane(80)}
	v, err := Verify(context.Background(), folder, d, o)
	if err != nil || v.Difference != nil || v.Recorded != v.Repeated || len(v.Recorded) != 64 {
		t.Errorf("%+v, error %v", v, err)
	}
	other := o
	other.Fit.Seed = 2
	if v, err := Verify(context.Background(), folder, d, other); err != nil || v.Recorded == v.Repeated || !strings.Contains(v.Difference.Error(), "configuration") {
		t.Errorf("another seed: %+v, error %v", v, err)
	}
	short := &Partition{Items: plane(79), Learn: plane(79)}
	var found *DifferenceError
	if _, err := Verify(context.Background(), folder, short, o); !errors.As(err, &found) || found.What != "data" {
		t.Errorf("other data: %v", err)
	}
	stopped, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Verify(stopped, folder, d, o); !errors.Is(err, train.ErrStopped) {
		t.Errorf("stopped: %v", err)
	}
}

// TestCard: a card describes the model, and its JSON contains no weights.
func TestCard(t *testing.T) {
	got := trained(t, Folder(filepath.Join(t.TempDir(), "run")), &Partition{Items: plane(80), Learn: plane(80)}, Options{Fit: quick()})
	card, err := NewCard(got.Model)
	if err != nil {
		t.Fatal(err)
	}
	if card.Networks != 2 || card.Inputs != 4 || card.Options.Epochs != 3 || card.References.Columns != 2 || card.Seed != 1 {
		t.Errorf("card %+v", card)
	}
	text, err := json.Marshal(card)
	if err != nil || bytes.Contains(text, []byte(`"weights"`)) || !bytes.Contains(text, []byte(`"logistic_columns":2`)) {
		t.Errorf("%s, error %v", text, err)
	}
}
