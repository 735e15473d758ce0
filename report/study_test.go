package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"credence/calibrate"
	"credence/dataset"
	"credence/evaluate"
	"credence/internal/golden"
	"credence/internal/plot"
	"credence/internal/yamltext"
	"credence/model"
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
	positive := evaluate.DecisionOptions{Positive: classes[len(classes)-1], Thresholds: []float64{0.3}}
	var err error
	if in.Result, err = evaluate.Evaluate(e, evaluate.Options{Bootstrap: evaluate.Bootstrap{Replicates: 100}, Decisions: positive}); err != nil {
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
	got := written(t, madeStudy(t, 120, []string{"benign", "malignant"}))
	checkPage(t, got)
	golden.Compare(t, filepath.Join("testdata", "study.html"), got)
	if bytes.Contains(got, []byte("<b>Simulated")) {
		t.Error("the card is not escaped")
	}
	checkPage(t, written(t, madeStudy(t, 60, []string{"benign", "unclear", "malignant"})))
	checkPage(t, written(t, Input{Classes: []string{"a", "b"}, Study: &Study{}}))
}

// TestChecklist: texts of the card stand before what the run knows, and what nobody knows is to be written.
func TestChecklist(t *testing.T) {
	in := madeStudy(t, 60, []string{"benign", "malignant"})
	p, err := newPage(&in)
	if err != nil {
		t.Fatal(err)
	}
	p.Section("front", "")
	p.Section("methods", "")
	rows := map[string]checkRow{}
	for _, r := range p.Checklist() {
		rows[r.Number] = r
	}
	for number, want := range map[string]string{
		"4":   `[Can the model replace a second reader?]||`,
		"5b":  `[]||`,
		"8a":  `[A vote is the opinion of one radiologist. The outcome was the class that a rater chose for an item: benign or malignant.]||`,
		"11":  `[A missing number was replaced by the mean, with an indicator where numbers were missing in training; a missing or unknown category was a level of its own.]||Section 2`,
		"12a": `[A test part was set aside before training. Items were divided at random into 5 folds, and each network held one of them out, on which its training was stopped. Items of one Patient were kept together.]||Section 2, Figure 1`,
		"13":  `[No method for class imbalance was used.]||Section 2`,
		"14":  `[Results are also given by Site. Heterogeneity was assessed by random-effects models [4].]|approaches to fairness, and their rationale|Section 1`,
		"20b": `[Table 1 of the paper.]||`,
		"24":  `[The model was not updated after its evaluation.]||Section 2`,
	} {
		r := rows[number]
		if got := strings.Join([]string{"[" + strings.Join(r.Answer, " ") + "]", r.Missing, r.Where}, "|"); got != want {
			t.Errorf("%s: %s\nwant %s", number, got, want)
		}
	}
	in.Study.Card = nil
	if p, err = newPage(&in); err != nil || p.Checklist() != nil {
		t.Errorf("a checklist without a card, error %v", err)
	}
}

// TestItemTable: every order is a permutation, sorted by its value.
func TestItemTable(t *testing.T) {
	in := made(t, 90, []string{"a", "b"}, false)
	items := itemsOf(&in, 0.95)
	table := newItemTable(&in, items, 0.95)
	if len(table.Orders) != len(itemOrders)+1 {
		t.Fatalf("orders %q", table.Orders)
	}
	for k := range table.Orders {
		at := make([]int, len(items))
		for j := range at {
			at[j] = -1
		}
		for j, r := range table.Rows {
			at[r.Ranks[k]-1] = j
		}
		for i, j := range at {
			if j < 0 {
				t.Fatalf("%s: no item at place %d", table.Orders[k], i+1)
			}
			if k == 0 || i == 0 {
				continue
			}
			before, here := itemOrders[k-1].value(&items[at[i-1]]), itemOrders[k-1].value(&items[j])
			if before > here || before != before && here == here {
				t.Errorf("%s: %v before %v", table.Orders[k], before, here)
			}
		}
	}
	many := make([]item, listedItems+1)
	for j := range many {
		many[j] = items[j%len(items)]
	}
	if table = newItemTable(&in, many, 0.95); len(table.Rows) != listedItems || table.Note == "" || table.Print == "" {
		t.Errorf("%d rows, notes %q and %q", len(table.Rows), table.Note, table.Print)
	}
	if newItemTable(&in, nil, 0.95) != nil {
		t.Error("a table of no items")
	}
	if want := fmt.Sprintf("tr:nth-child(n+%d)", printedItems+1); !strings.Contains(pageCSS, want) {
		t.Errorf("the style sheet does not print %d items", printedItems)
	}
	if want := fmt.Sprintf("var(--r%d)", len(itemOrders)); !strings.Contains(pageCSS, want) || strings.Contains(pageCSS, fmt.Sprintf("var(--r%d)", len(itemOrders)+1)) {
		t.Errorf("the style sheet does not have %d orders", len(itemOrders))
	}
}

// TestPrintedText: the smallest text of a figure has 8 points on A4, the narrower of the usual sizes of paper.
func TestPrintedText(t *testing.T) {
	var side, tick float64
	for what, x := range map[string]*float64{`@page\{margin:[\d.]+mm ([\d.]+)mm`: &side, `svg\.credence \.tick\{font-size:([\d.]+)px\}`: &tick} {
		found := regexp.MustCompile(what).FindStringSubmatch(pageCSS)
		if found == nil {
			t.Fatalf("no %s in the style sheet", what)
		}
		*x, _ = strconv.ParseFloat(found[1], 64)
	}
	points := (210 - 2*side) / 25.4 * 72 / plot.FigureWidth
	if least := points * min(tick, plot.TextSize); least < 8 {
		t.Errorf("%.2f points", least)
	}
}

// TestModelCard compares the card with the accepted one, and reads its front matter.
func TestModelCard(t *testing.T) {
	in := madeStudy(t, 60, []string{"benign", "malignant"})
	in.Result, in.Predictions, in.Items, in.Votes = nil, nil, nil, evaluate.Votes{}
	in.Provenance.Scores = model.Scores{Items: 477, Votes: 960, NLLPerVote: 0.5, ConstantPerVote: 0.6, Accuracy: 0.75, MarginalPerVote: 0.55}
	c, err := NewModelCard(in)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := c.WriteMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, filepath.Join("testdata", "card.md"), b.Bytes())
	parts := strings.SplitN(b.String(), "---\n", 3)
	if len(parts) != 3 || parts[0] != "" {
		t.Fatalf("no front matter in %.40q", b.String())
	}
	bodies, err := yamltext.Parse([]byte(parts[1]), false)
	if err != nil || len(bodies) != 1 {
		t.Fatalf("front matter: %d documents, error %v", len(bodies), err)
	}
	if strings.Contains(b.String(), "<b>") {
		t.Error("the card contains HTML")
	}
	text, err := json.Marshal(c)
	var again ModelCard
	if err == nil {
		err = json.Unmarshal(text, &again)
	}
	if err != nil || !reflect.DeepEqual(*c, again) {
		t.Errorf("JSON changes the card: error %v", err)
	}
}
