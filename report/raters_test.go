package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"credence/evaluate"
	"credence/head"
)

// raterReport returns a report on n raters; every fifth is biased and every seventh guesses.
func raterReport(n, classes int) *evaluate.RaterReport {
	c := &head.RaterModel{Classes: classes, BiasSD: 0.7}
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("Dr. <%d>", i+1))
		b, u := 0.1*float64(i%3-1), -6.0
		if i%5 == 0 {
			b = 1.5
		}
		if i%7 == 3 {
			u = 0.5
		}
		c.Votes = append(c.Votes, float64(20+i))
		c.Bias, c.BiasSE = append(c.Bias, b), append(c.BiasSE, 0.3)
		c.GuessLogit, c.GuessLogitSE = append(c.GuessLogit, u), append(c.GuessLogitSE, 0.6)
		c.Guess = append(c.Guess, map[bool]float64{true: 0.62, false: 0.0025}[u > 0])
	}
	if classes > 2 {
		c.Bias, c.BiasSE = nil, nil
	}
	r := evaluate.DescribeRaters(nil, c, names)
	r.Class = "malignant"
	return r
}

// Raters have a section of the page with a figure and a table, under the names they are given, and
// no section if they are not modelled.
func TestRaters(t *testing.T) {
	in := made(t, 60, []string{"benign", "malignant"}, false)
	in.Raters = raterReport(12, 2)
	page := written(t, in)
	checkPage(t, page)
	for _, want := range []string{`<h2 id="raters">`, "Dr. &lt;11&gt;", "1.50 (0.91 to 2.09)", "bias towards malignant (logit)", "not from the truth"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("%q is not in the page", want)
		}
	}
	in.Raters.UsePseudonyms(3)
	page = written(t, in)
	if strings.Contains(string(page), "Dr.") || !strings.Contains(string(page), "Names are pseudonyms.") {
		t.Error("a page with pseudonyms has names")
	}
	in.Raters = nil
	in.Suspects = &evaluate.SuspectReport{Votes: 60, Suspects: []evaluate.Suspect{{Item: "7", Rater: "Dr. Who", Vote: "benign", Likely: "malignant"}}}
	if page = written(t, in); !strings.Contains(string(page), "<td>Dr. Who</td>") || strings.Contains(string(page), "pseudonyms") {
		t.Error("suspect votes are not under the names given, or these are called pseudonyms")
	}
	in.Suspects.UsePseudonyms(3)
	if page = written(t, in); strings.Contains(string(page), "Dr. Who") || !strings.Contains(string(page), "lists more. Names are pseudonyms.") {
		t.Error("suspect votes under pseudonyms have names, or no note")
	}
	in.Suspects = nil
	in.Raters = raterReport(300, 3)
	page = written(t, in)
	checkPage(t, page)
	for _, want := range []string{"who differ most", "260 more are not shown", "the other 260"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("%q is not in the page of many raters", want)
		}
	}
	if strings.Contains(string(page), "bias towards") {
		t.Error("a page of three classes has biases")
	}
	in.Raters.Modelled = false
	if page = written(t, in); strings.Contains(string(page), `<h2 id="raters">`) {
		t.Error("raters who are not modelled have a section of the page")
	}
	var b bytes.Buffer
	if err := WriteRaters(&b, in.Raters); err == nil {
		t.Error("a figure of raters who are not modelled: no error")
	}
	if err := WriteRaters(&b, raterReport(3, 2)); err != nil || !strings.HasPrefix(b.String(), "<svg") {
		t.Errorf("a figure of three raters: %v", err)
	}
}
