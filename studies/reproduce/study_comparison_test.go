//go:build studies

package main

import (
	"strings"
	"testing"

	"credence/studies/study"
)

// TestStudyComparison runs the quick study as a user would and asks for what it
// shows on any machine. Instruction sets round differently, which moves numbers as
// another seed does; between five seeds the accuracy lost had a standard deviation
// of 0.05 points, the correlations of 0.02 and 0.01, and the coverage gap of 1.5
// points. The limits are four of them or more from what was seen.
//
//	go test -tags studies -run StudyComparison -timeout 30m ./studies/reproduce
func TestStudyComparison(t *testing.T) {
	var numbers struct {
		Bars []study.Bar `json:"bars"`
	}
	runStudy(t, "comparison", &numbers)
	limits := []struct {
		name        string
		least, most float64
	}{
		{"accuracy lost to Bayes", -0.5, 0.5},
		{"paper design: correlation", 0.88, 1},
		{"paper design: error of the standard deviation", 0, 0.011},
		{"spread design: correlation", 0.92, 1},
		{"spread design: mean |coverage", 0, 8},
	}
	for _, b := range numbers.Bars {
		found := false
		for _, l := range limits {
			if strings.Contains(b.Name, l.name) {
				found = true
				if v := float64(b.Value); !(v >= l.least && v <= l.most) {
					t.Errorf("%s: %v, want %v to %v", b.Name, v, l.least, l.most)
				}
			}
		}
		if !found {
			t.Errorf("%s has no limits", b.Name)
		}
		if strings.HasPrefix(b.Wanted, "above every rival's") && !b.Pass {
			t.Errorf("%s: %v, wanted %s", b.Name, b.Value, b.Wanted)
		}
	}
	if len(numbers.Bars) != 18 {
		t.Errorf("%d bars, want 18", len(numbers.Bars))
	}
}
