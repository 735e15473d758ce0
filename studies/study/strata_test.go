package study

import (
	"math"
	"os"
	"strings"
	"testing"
)

// TestStrataPage runs two small designs and checks the page.
func TestStrataPage(t *testing.T) {
	s, err := NewStrata(true, 1, 1, []string{"few", "flipped"})
	if err != nil {
		t.Fatal(err)
	}
	f, err := OpenFolder(t.TempDir(), s, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := Reproduce(t.Context(), s, f); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(f.Path("README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| spread, 60 items |", "| mean .05 to .95 |", "| x2 high |", "one of five raters flipped"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page has no %q:\n%s", want, page)
		}
	}
	if _, err := NewStrata(true, 1, 1, []string{"none"}); err == nil {
		t.Error("an unknown design is accepted")
	}
}

// TestStrataDesigns: every design draws valid probabilities and as many votes as it says, and equal seeds draw equal items.
func TestStrataDesigns(t *testing.T) {
	for _, c := range strataCases {
		s, again := c.drawSample(60, 3, ""), c.drawSample(60, 3, "")
		for i, one := range s.items {
			sum, votes := 0.0, 0
			for k, p := range one.p {
				sum += p
				votes += s.counts[i][k]
				if p != again.items[i].p[k] || s.counts[i][k] != again.counts[i][k] {
					t.Fatalf("%s: item %d differs between equal seeds", c.name, i)
				}
			}
			if math.Abs(sum-1) > 1e-9 || votes != c.votes || len(one.p) != c.classes {
				t.Fatalf("%s: item %d has probabilities %v and %d votes", c.name, i, one.p, votes)
			}
		}
		if err := s.dataset(c.classes).Check(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestMeanCoverage: seeds in which a stratum has no items do not count.
func TestMeanCoverage(t *testing.T) {
	seed := func(items int, at75 float64) strataOutcome {
		return strataOutcome{Strata: []stratumCoverage{{Name: "width, lowest third", Items: items, At75: at75}}}
	}
	if m := meanCoverage([]strataOutcome{seed(100, 0.7), seed(0, 0), seed(80, 0.8)}, 0); m.At75 != 0.75 || m.Items != 60 {
		t.Errorf("expected 0.75 on 60 items, found %v on %d", m.At75, m.Items)
	}
}
