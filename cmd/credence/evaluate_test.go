package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"credence/dataset"
	"credence/evaluate"
	"credence/head"
	"credence/internal/printout"
	"credence/mixture"
	"credence/train"
)

// simulatedFiles holds items and their votes as CSV text. The probability of "ill"
// depends on a size and a ward. Each patient has two items.
type simulatedFiles struct{ items, votes, truth string }

func simulateFiles(n, votes int, seed uint64) simulatedFiles {
	r := rand.New(rand.NewPCG(seed, 1))
	var items, labels, truth strings.Builder
	items.WriteString("item,patient,size,ward\n")
	labels.WriteString("item,rater,label\n")
	truth.WriteString("item,ill,well\n")
	for i := range n {
		size, ward := r.NormFloat64(), r.IntN(3)
		p := 1 / (1 + math.Exp(-1.5*size-float64(ward)+1))
		fmt.Fprintf(&items, "i%d,p%d,%.4f,%c\n", i, i/2, size, 'A'+rune(ward))
		fmt.Fprintf(&truth, "i%d,%.6f,%.6f\n", i, p, 1-p)
		for rater := range votes {
			label := "well"
			if r.Float64() < p {
				label = "ill"
			}
			fmt.Fprintf(&labels, "i%d,r%d,%s\n", i, rater, label)
		}
	}
	return simulatedFiles{items.String(), labels.String(), truth.String()}
}

// write writes the files into a folder, their names beginning with prefix.
func (s simulatedFiles) write(dir, prefix string) error {
	for name, text := range map[string]string{"items": s.items, "votes": s.votes, "truth": s.truth} {
		if err := os.WriteFile(filepath.Join(dir, prefix+name+".csv"), []byte(text), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// smallModel is a model file, trained once on simulated items.
var smallModel = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "credence")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := simulateFiles(120, 4, 1).write(dir, ""); err != nil {
		return nil, err
	}
	ds, err := dataset.Load(context.Background(), dataset.LoadOptions{
		Data: []string{filepath.Join(dir, "items.csv")}, Votes: []string{filepath.Join(dir, "votes.csv")},
		FeatureOptions: dataset.FeatureOptions{Ignore: []string{"patient"}},
	})
	if err != nil {
		return nil, err
	}
	defer ds.Close()
	res, err := train.Fit(context.Background(), ds, train.Options{
		Epochs: 60, Rate: 0.01, Ensemble: 2, Widths: []int{16}, Head: head.Mixture{Components: 1}, Seed: 1,
		Transform: dataset.TransformOptions{Embed: []string{"ward"}},
	})
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = res.Model.Encode(&b)
	return b.Bytes(), err
})

// trainedModel writes a model into a run folder, and next to it the items, votes
// and true probabilities of test and training items:
//
//	trained-model RUN
func trainedModel(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: trained-model RUN")
	}
	run := ts.MkAbs(args[0])
	file, err := smallModel()
	ts.Check(err)
	ts.Check(os.MkdirAll(run, 0o777))
	ts.Check(os.WriteFile(filepath.Join(run, "model.credence"), file, 0o666))
	ts.Check(simulateFiles(150, 5, 2).write(filepath.Dir(run), "test-"))
	ts.Check(simulateFiles(120, 4, 1).write(filepath.Dir(run), "train-"))
}

// The keys that scripts of users rely on.
func TestEvaluateKeys(t *testing.T) {
	dir := t.TempDir()
	file, err := smallModel()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "model.credence"), file, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := simulateFiles(150, 5, 2).write(dir, ""); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	code := program([]string{"evaluate", dir, filepath.Join(dir, "items.csv"), "--votes", filepath.Join(dir, "votes.csv"),
		"--truth", filepath.Join(dir, "truth.csv"), "--level", "0.9,0.5", "--json"}, nil, &stdout, &stderr)
	if code != exitOK || stderr.Len() > 0 || strings.Count(stdout.String(), "\n") != 1 {
		t.Fatalf("exit code %d, stderr %q, stdout %q", code, &stderr, &stdout)
	}
	var got map[string]any
	if err := json.Unmarshal(stdout.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	keys := []string{"items", "votes", "dispersion_ratio", "pit_p_value"}
	for _, key := range []string{"nll_per_vote", "marginal_nll_per_vote", "constant_nll_per_vote", "constant_dm_nll_per_vote",
		"logistic_nll_per_vote", "logistic_dm_nll_per_vote", "floor_nll_per_vote", "accuracy", "brier", "ece"} {
		keys = append(keys, key, key+"_se")
	}
	for _, key := range keys {
		if _, ok := got[key].(float64); !ok {
			t.Errorf("%s is %v, want a number", key, got[key])
		}
	}
	if got["items"] != 150.0 || got["votes"] != 750.0 || got["level"] != 0.9 {
		t.Errorf("%v items, %v votes, level %v", got["items"], got["votes"], got["level"])
	}
	var c struct {
		Coverage []struct {
			Class                string
			Level, Empirical, SE float64
		}
	}
	if err := json.Unmarshal(stdout.Bytes(), &c); err != nil {
		t.Fatal(err)
	}
	if len(c.Coverage) != 4 || c.Coverage[0].Level != 0.5 || c.Coverage[0].Class != "ill" {
		t.Errorf("coverage %+v, want two classes at two levels", c.Coverage)
	}
}

// A report of a result with nothing in it has no NaN and does not panic.
func TestEvaluateReportEmpty(t *testing.T) {
	m, _ := mixture.NewDirichlet([]float64{1}, [][]float64{{2, 3}})
	r, err := evaluate.Evaluate(evaluate.Input{
		Predictions: []head.Decoded{head.NewDecoded(m)}, Votes: evaluate.Votes{Classes: 2, Counts: make([]float64, 2)},
	}, evaluate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	file, err := smallModel()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "m")
	if err := os.WriteFile(path, file, 0o666); err != nil {
		t.Fatal(err)
	}
	loaded, err := loadModel(io.Discard, path)
	if err != nil {
		t.Fatal(err)
	}
	w := &printout.Page{Width: 80}
	(&evaluateReport{model: loaded, data: &dataset.Dataset{}, result: r}).print(w)
	if strings.Contains(w.String(), "NaN") || !strings.Contains(w.String(), "no item has votes") {
		t.Errorf("report\n%s", w)
	}
}

func TestShareBar(t *testing.T) {
	for _, c := range []struct {
		share float64
		want  string
	}{{0, ""}, {math.NaN(), ""}, {1, "████"}, {2, "████"}, {0.5, "██"}, {1. / 32, "▏"}, {31. / 32, "███▉"}} {
		if got := shareBar(c.share, 4); got != c.want {
			t.Errorf("%v: %q, want %q", c.share, got, c.want)
		}
	}
}
