//go:build studies

// Tests that run the quick versions of the studies, as a user would:
//
//	go test -tags studies -run Study -timeout 30m ./studies/reproduce
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"credence/studies/study"
)

// runStudy runs a quick study and reads its numbers.json.
func runStudy(t *testing.T, name string, numbers any, flags ...string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	var stdout, stderr bytes.Buffer
	args := append([]string{name, "--quick", "--out", dir}, flags...)
	if code := reproduce(t.Context(), args, &stdout, &stderr); code != 0 {
		t.Fatalf("exit code %d\n%s", code, &stderr)
	}
	text, err := os.ReadFile(filepath.Join(dir, "numbers.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, numbers); err != nil {
		t.Fatal(err)
	}
}

// TestStudyCoverage asks for what the quick study shows on any machine.
// Instruction sets round differently, which moves a coverage as another seed
// does: by several points at 75%, up to four at 95%. The ranges are wider than
// that around what was seen, and still exclude intervals that are too narrow or
// hold everything.
func TestStudyCoverage(t *testing.T) {
	var n study.CoverageNumbers
	runStudy(t, "coverage", &n)
	want := map[string][2][2]float64{ // at 75% and at 95%
		"defaults":    {{0.65, 0.97}, {0.86, 1}},
		"one network": {{0.5, 0.93}, {0.84, 0.99}},
	}
	seen := 0
	classes := map[string][]float64{} // coverage at 95% of the defaults, by fit
	for _, e := range n.Numbers {
		if e.Teacher != 1 {
			continue
		}
		seen++
		if e.Network == "defaults" {
			fit := fmt.Sprintf("%d classes, %d votes, %s", e.Classes, e.Votes, e.Intervals)
			classes[fit] = append(classes[fit], e.Coverage[4].Mean)
		}
		for i, l := range []int{0, 4} {
			c := e.Coverage[l]
			if w := want[e.Network][i]; !(c.Mean >= w[0] && c.Mean <= w[1]) {
				t.Errorf("%d classes, %d votes, class %s, %s, %s, level %v: coverage %.3f (seeds %v), want %v to %v",
					e.Classes, e.Votes, e.Class, e.Network, e.Intervals, e.Levels[l], c.Mean, c.PerSeed, w[0], w[1])
			}
		}
		if w := e.Width[4].Mean; !(w > 0.005 && w < 0.5) {
			t.Errorf("%d classes, %d votes, class %s, %s: mean width %.3f at 95%%", e.Classes, e.Votes, e.Class, e.Network, w)
		}
	}
	// The mean over classes moves less than each of them.
	for fit, list := range classes {
		mean := 0.0
		for _, c := range list {
			mean += c / float64(len(list))
		}
		if !(mean >= 0.9) {
			t.Errorf("%s: defaults hold %.3f at 95%% over all classes, want 0.9", fit, mean)
		}
	}
	if seen != 4*(1+1+3+3) {
		t.Errorf("%d entries for the teacher of one epoch", seen)
	}
}
