package study

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"credence/dataset"
	"credence/evaluate"
)

// pageOfVotes renders the page of one set with the given estimates of coverage of the raw method and widths of all.
func pageOfVotes(t *testing.T, raw []float64, width float64) (page string, r *votesResult, f *Folder) {
	t.Helper()
	v := &Votes{Seed: 1, Splits: 5, Done: 5, Train: 60, Votes: []int{3}, RivalVotes: []int{3}}
	ds := &dataset.Dataset{Items: []string{"a", "b"}, Classes: []string{"no", "yes"}}
	set := &setResult{voteSet: &voteSet{ds: ds, cluster: []int{0, 1}, clusters: 2}, Name: defendants, Title: "defendants", Items: 2, Classes: ds.Classes}
	for k, name := range []string{votesReported, votesRaw, featureless} {
		x := &votesMethod{Name: name, Votes: 3, Trained: 8, Scale: 1, Score: summary{evaluate.Number(5 + k), 0.1}, Behind: summary{evaluate.Number(k), 0.01}}
		for l, level := range paperLevels {
			c := level + 0.01
			if name == votesRaw {
				c = raw[l]
			}
			at := summary{evaluate.Number(c), 0.004}
			x.Corrected, x.Naive, x.All = append(x.Corrected, at), append(x.Naive, at), append(x.All, at)
			x.Width = append(x.Width, summary{evaluate.Number(width * level / 0.95), 0.001})
			x.Informativeness = append(x.Informativeness, summary{0.5, 0.01})
		}
		for j := range 2 {
			h := heldBack{Item: j, Votes: 20, For: 10, PIT: 0.5}
			for range paperLevels {
				h.Lo, h.Hi = append(h.Lo, 0), append(h.Hi, width-0.02+0.04*float64(j))
			}
			x.Items = append(x.Items, h)
		}
		set.Methods = append(set.Methods, x)
	}
	r = &votesResult{Study: v, Sets: []*setResult{set}}
	f, err := OpenFolder(t.TempDir(), v, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.WriteTables(f); err != nil {
		t.Fatal(err)
	}
	numbers, err := r.Page(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.writePage("votes.md", numbers); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(f.Path("README.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text), r, f
}

// TestVotesPageCoverage: an estimate above 100% is printed nowhere as coverage, neither in a table nor in a figure, and the page says
// why; the log score comes first, and the width next to coverage.
func TestVotesPageCoverage(t *testing.T) {
	page, r, _ := pageOfVotes(t, []float64{0.885, 0.933, 0.977, 1.016, 1.051}, 0.97)
	for _, want := range []string{
		"| | log score | less the first | Ĉ at 75%, % | width at 75% | Ĉ at 95%, % | width at 95% |",
		"| defaults, raw, 3 votes | 6.000 ± 0.100 | 1.000 ± 0.010 | 88.5 ± 0.4 | 0.766 ± 0.001 | none | 0.970 ± 0.001 |",
		"| defaults, raw, 3 votes | 88.5 ± 0.4 | 93.3 ± 0.4 | 97.7 ± 0.4 | none | none |",
		"*None*: the estimate Ĉ exceeds 100%, which no coverage can.",
		"**A width of 0.97 is no knowledge**", "100.0% of them at least 0.9", "2.00 ± 0.01 nats per item less than without features"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	// Every number of a row of the table by level, without the gaps, is a possible coverage.
	rows := 0
	for line := range strings.Lines(page) {
		cells := strings.Split(line, " | ")
		if !strings.Contains(line, ", 3 votes |") || len(cells) != 9 {
			continue
		}
		rows++
		for _, cell := range cells[1:6] {
			found := regexp.MustCompile(`^[0-9.]+`).FindString(cell)
			if x, err := strconv.ParseFloat(found, 64); cell != noCoverage && (err != nil || x > 100) {
				t.Errorf("coverage %q in %s", cell, line)
			}
		}
	}
	if rows != 3 {
		t.Errorf("%d rows by level, want 3", rows)
	}
	if s := coverageSeries("raw", r.Sets[0].method(votesRaw, 3).Corrected); len(s.Y) != 3 {
		t.Errorf("a curve of %v, want the three estimates up to 100%%", s.Y)
	}
	page, _, _ = pageOfVotes(t, []float64{0.7, 0.75, 0.8, 0.85, 0.9}, 0.6)
	for _, bad := range []string{"is no knowledge**", "*None*", "none |"} {
		if strings.Contains(page, bad) {
			t.Errorf("narrow intervals without an estimate above 100%%: the page has %q", bad)
		}
	}
	if want := "Intervals at 95% are 0.60 wide on average with 3 votes as reported, and 0.0% of them at least 0.9"; !strings.Contains(page, want) {
		t.Errorf("the page lacks %q", want)
	}
}
