package report

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"credence/calibrate"
	"credence/dataset"
	"credence/evaluate"
	"credence/internal/golden"
)

const testCard = `question: Can the model replace a second reader?
intended_use:
  - Second reading of nodules.
  - |
    Not urgent ones.

    Not those of children.
limits: One clinic. <b>Simulated.</b>
outcome: A vote is the opinion of one radiologist.
tripod:
  20b: Table 1 of the paper.
`

// madeStudy returns the input of a study on invented nodules, by site.
func madeStudy(t testing.TB, n int, classes []string) Input {
	t.Helper()
	in := made(t, n, classes, false)
	e := evaluate.Input{Predictions: in.Predictions, Votes: in.Votes, Classes: classes}
	site := evaluate.Column{Name: "Site"}
	for j := range n {
		site.Values = append(site.Values, []string{"north", "south", "west"}[j%3])
	}
	e.Columns = []evaluate.Column{site}
	var err error
	if in.Result, err = evaluate.Evaluate(e, evaluate.Options{Bootstrap: evaluate.Bootstrap{Replicates: 100}}); err != nil {
		t.Fatal(err)
	}
	card, err := ParseCard("card.yaml", []byte(testCard))
	if err != nil {
		t.Fatal(err)
	}
	p := *in.Provenance
	p.Config = json.RawMessage(`{"network":"mlp","widths":[64,64],"optimizer":"adamw","rate":0.001,"batch":64,"weight_decay":0.01,"epochs":500,"patience":30,"seed":42}`)
	in.Provenance, in.Network = &p, "mlp"
	in.Study = &Study{Card: card, Model: strings.Repeat("ab", 32), Data: strings.Repeat("cd", 32), Read: n + 40, Part: "test", Group: "Patient",
		Features:    []dataset.Feature{{Name: "diameter"}, {Name: "age"}, {Name: "Sex", Kind: dataset.Categorical}},
		Calibration: &calibrate.Calibration{Items: 300, Scale: 1.07}}
	return in
}

// TestStudy compares the page of a study with one that was looked at in a browser and in print.
func TestStudy(t *testing.T) {
	for name, classes := range map[string][]string{"study": {"benign", "malignant"}, "study-three": {"benign", "unclear", "malignant"}} {
		t.Run(name, func(t *testing.T) {
			got := written(t, madeStudy(t, 120, classes))
			checkPage(t, got)
			golden.Compare(t, filepath.Join("testdata", name+".html"), got)
			if bytes.Contains(got, []byte("<b>Simulated")) {
				t.Error("the card is not escaped")
			}
		})
	}
}
