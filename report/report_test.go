package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"credence/dataset"
	"credence/evaluate"
	"credence/head"
	"credence/internal/golden"
	"credence/internal/plot"
	"credence/internal/rng"
	"credence/mixture"
	"credence/model"
)

// made returns n items of some classes with correct predictions, 0 to 4 votes
// each, and an invented training run.
func made(t testing.TB, n int, classes []string, truth bool) Input {
	t.Helper()
	r := rand.New(rng.New(7, "report.test"))
	d := len(classes)
	in := Input{Title: "Lung nodules", Subject: "the nodules of a made-up clinic", Classes: classes, Network: "mlp 64-64", Members: 5,
		Method: head.Mixture{Components: 2}, Parameters: 12345, Evaluated: "items held out", Votes: evaluate.Votes{Classes: d}}
	var probabilities []float64
	for j := range n {
		weights := []float64{0.7, 0.3}
		alpha := make([][]float64, 2)
		for k := range alpha {
			strength := math.Exp(1 + 2*r.Float64())
			for range d {
				alpha[k] = append(alpha[k], 0.05+strength*math.Pow(r.Float64(), 3))
			}
		}
		m, err := mixture.NewDirichlet(weights, alpha)
		if err != nil {
			t.Fatal(err)
		}
		p := m.Sample(nil, r)
		votes := make([]float64, d)
		for range r.IntN(5) {
			u, c := r.Float64(), 0
			for c < d-1 && u > p[c] {
				u -= p[c]
				c++
			}
			votes[c]++
		}
		in.Predictions = append(in.Predictions, head.NewDecoded(m))
		in.Items = append(in.Items, fmt.Sprintf("nodule %d", j))
		in.Votes.Counts = append(in.Votes.Counts, votes...)
		probabilities = append(probabilities, p...)
	}
	e := evaluate.Input{Predictions: in.Predictions, Votes: in.Votes, Classes: classes}
	ds := &dataset.Dataset{Items: in.Items, Classes: classes}
	for _, c := range in.Votes.Counts {
		ds.Counts = append(ds.Counts, float32(c))
	}
	refs, err := evaluate.FitReferences(t.Context(), ds, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	if e.References, err = refs.Score(ds, nil); err != nil {
		t.Fatal(err)
	}
	for j := range in.Predictions {
		in.Predictions[j].Resolution = 0.02
	}
	if truth {
		e.Truth = probabilities
	}
	if in.Result, err = evaluate.Evaluate(e, evaluate.Options{Bootstrap: evaluate.Bootstrap{Replicates: 100}, Accuracy: 0.7}); err != nil {
		t.Fatal(err)
	}
	in.Provenance = &model.Provenance{Data: strings.Repeat("0123456789abcdef", 4), Votes: "long form, one row per vote", Seed: 42, Version: "0.3.0",
		Kernel: "avx2", Config: json.RawMessage(`{"network":"mlp","widths":[64,64],"seed":42}`),
		Split:    model.Split{Items: 4 * n, Unvoted: 3, Votes: float64(8 * n), Folds: 5},
		Warnings: []evaluate.Message{{Kind: "%d items have no features", Args: []any{3}}}}
	for i := range 5 {
		run := model.Run{Name: fmt.Sprintf("member %d", i), Items: 3 * n, Held: n, Epoch: 8 + i, Reason: "smallest held-out loss"}
		for k := 1; k <= 20; k++ {
			x := float64(k)
			held := 0.5 + 0.3*math.Exp(-x/3) + 0.002*math.Abs(x-float64(8+i))
			run.History = append(run.History, model.Epoch{Epoch: k, Loss: 0.45 + 0.4*math.Exp(-x/4) + 0.01*float64(i), HeldOut: &held})
		}
		in.Provenance.Runs = append(in.Provenance.Runs, run)
	}
	in.Commands = []string{"credence train --data items.csv --votes votes.csv --out runs/first", "credence evaluate runs/first test.csv --votes test-votes.csv"}
	in.Files = []File{{"votes.csv", strings.Repeat("fe", 32)}}
	in.Warnings = []string{"made up"}
	return in
}

func written(t testing.TB, in Input) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, in); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

var (
	loads  = regexp.MustCompile(`(?i)(\ssrc\s*=|\shref\s*=|url\(|@import|<link|<script|<iframe|<img|https?:)`)
	odd    = regexp.MustCompile(`NaN|[+-]Inf\b|ZgotmplZ|%!|<nil>`)
	spaces = regexp.MustCompile(`\s+`)
)

// checkPage checks that a page is well-formed, loads nothing, and shows nothing
// that is not for people.
func checkPage(t *testing.T, page []byte) {
	t.Helper()
	if m := loads.Find(page); m != nil {
		t.Errorf("the page refers to something outside: %q", m)
	}
	if m := odd.Find(page); m != nil {
		t.Errorf("the page contains %q", m)
	}
	if !bytes.HasPrefix(page, []byte("<!DOCTYPE html>\n")) {
		t.Errorf("the page begins %q", page[:40])
	}
	dec := xml.NewDecoder(bytes.NewReader(page)) // the page is XML as well
	dec.Entity = xml.HTMLEntity
	depth := 0
	for {
		token, err := dec.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		switch token.(type) {
		case xml.StartElement:
			depth++
		case xml.EndElement:
			depth--
		}
	}
	if depth != 0 {
		t.Errorf("%d elements are open at the end", depth)
	}
	if n := bytes.Count(page, []byte("<style>")); n != 1 {
		t.Errorf("%d style sheets", n)
	}
}

// TestGolden compares with the pages in testdata, which were looked at in a
// browser, light and dark. UPDATE_GOLDEN=1 rewrites them.
func TestGolden(t *testing.T) {
	for name, in := range map[string]Input{
		"two":   made(t, 200, []string{"benign", "malignant"}, true),
		"three": made(t, 150, []string{"benign", "unclear", "malignant"}, false),
	} {
		t.Run(name, func(t *testing.T) {
			got := written(t, in)
			checkPage(t, got)
			if !bytes.Equal(got, written(t, in)) {
				t.Error("two pages of one input differ")
			}
			golden.Compare(t, filepath.Join("testdata", name+".html"), got)
		})
	}
}

// TestParts leaves out one input after another.
func TestParts(t *testing.T) {
	full := made(t, 120, []string{"no", "yes"}, true)
	for name, change := range map[string]func(in *Input){
		"nothing":       func(in *Input) { *in = Input{Classes: in.Classes} },
		"no result":     func(in *Input) { in.Result = nil },
		"no provenance": func(in *Input) { in.Provenance = nil },
		"no ids":        func(in *Input) { in.Items = nil },
		"no votes":      func(in *Input) { in.Votes = evaluate.Votes{}; in.Result = nil },
		"no items":      func(in *Input) { in.Items, in.Predictions, in.Votes = nil, nil, evaluate.Votes{} },
		"one epoch": func(in *Input) {
			p := *in.Provenance
			p.Runs = []model.Run{{Name: "a", History: []model.Epoch{{Epoch: 1, Loss: 1}}}}
			in.Provenance = &p
		},
		"diverged at once": func(in *Input) {
			p := *in.Provenance
			p.Runs = []model.Run{{Name: "a", History: []model.Epoch{{Epoch: 1, Loss: math.NaN()}}}}
			in.Provenance = &p
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := full
			change(&in)
			checkPage(t, written(t, in))
		})
	}
}

// TestNothingKnown: an evaluation of one item without votes leaves almost every
// number unknown.
func TestNothingKnown(t *testing.T) {
	m, err := mixture.NewDirichlet([]float64{1}, [][]float64{{2, 3}})
	if err != nil {
		t.Fatal(err)
	}
	for _, votes := range [][]float64{{0, 0}, {1, 0}, {3, 1}} {
		in := Input{Classes: []string{"a", "b"}, Predictions: []head.Decoded{head.NewDecoded(m)}, Votes: evaluate.Votes{Classes: 2, Counts: votes}}
		if in.Result, err = evaluate.Evaluate(evaluate.Input{Predictions: in.Predictions, Votes: in.Votes}, evaluate.Options{}); err != nil {
			t.Fatal(err)
		}
		checkPage(t, written(t, in))
	}
}

func TestHostileNames(t *testing.T) {
	in := made(t, 60, []string{"</style><script>alert(1)</script>", "{{.}} & \"b\""}, false)
	in.Title = `<img src=x onerror=alert(1)>`
	in.Subject, in.Evaluated = "<b>bold", strings.Repeat("long ", 100)
	in.Items[0] = strings.Repeat("W", 500)
	page := written(t, in)
	for _, bad := range []string{"<script", "<img", "<b>bold"} {
		if bytes.Contains(page, []byte(bad)) {
			t.Errorf("the page contains %s", bad)
		}
	}
}

func TestWords(t *testing.T) {
	text := spaces.ReplaceAllString(string(written(t, made(t, 200, []string{"benign", "malignant"}, true))), " ")
	for _, want := range []string{
		"An ensemble of 5 networks was trained on the nodules of a made-up clinic: 797 items with 1,600 votes.",
		"“benign” and “malignant”", "Made up.", "3 items have no features.", "Wu, Qingyang", "Figure 1.", "5 folds in turn",
		"--votes votes.csv", "version = {0.3.0}", "prefers-color-scheme:dark", "avx2",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the page", want)
		}
	}
}

// Fewer networks than folds leave items that none of them held out.
func TestFewerNetworksThanParts(t *testing.T) {
	in := made(t, 60, []string{"a", "b"}, false)
	p := *in.Provenance
	p.Split.Folds, p.Runs = 5, []model.Run{{Name: "member 0", Held: 20}, {Name: "member 1", Held: 20}, {Name: "refit"}}
	in.Provenance = &p
	text := spaces.ReplaceAllString(string(written(t, in)), " ")
	if want := "2 of 5 folds, one per network: items of the other folds were never held out"; !strings.Contains(text, want) || strings.Contains(text, "in turn") {
		t.Errorf("no %q in the page", want)
	}
}

func TestErrors(t *testing.T) {
	good := made(t, 60, []string{"a", "b"}, false)
	for want, change := range map[string]func(in *Input){
		"report: expected at least two classes, found 0":                   func(in *Input) { in.Classes = nil },
		"report: expected names of 60 items, found 1":                      func(in *Input) { in.Items = in.Items[:1] },
		"report: prediction 0: expected a distribution of 3 classes":       func(in *Input) { in.Classes, in.Votes = []string{"a", "b", "c"}, evaluate.Votes{} },
		"report: expected votes on 60 items and 2 classes, found 30 and 4": func(in *Input) { in.Votes.Classes = 4 },
		"report: training configuration: invalid character 'n' looking for beginning of object key string": func(in *Input) {
			p := *in.Provenance
			p.Config = json.RawMessage("{nonsense")
			in.Provenance = &p
		},
	} {
		in := good
		change(&in)
		var b bytes.Buffer
		if err := Write(&b, in); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		} else if b.Len() > 0 {
			t.Errorf("wrote %d bytes in spite of the error", b.Len())
		}
	}
}

// TestOneDot: a comparison of a single point is left out, one of two is drawn.
func TestOneDot(t *testing.T) {
	point := plot.IntervalPoint{X: 0.3, Y: 0.4, Lo: 0.2, Hi: 0.5}
	other := plot.IntervalPoint{X: 0.6, Y: 0.5, Lo: 0.4, Hi: 0.7}
	unknown := plot.IntervalPoint{X: math.NaN(), Y: 0.5}
	c := plot.Comparison{Title: "t", XLabel: "x", YLabel: "y", Unit: true}
	if (&gallery{}).compare(c, []plot.IntervalPoint{point, unknown}, "") != nil {
		t.Error("a figure with one dot is drawn")
	}
	if (&gallery{}).compare(c, []plot.IntervalPoint{point, other}, "") == nil {
		t.Error("a figure with two dots is left out")
	}
}
