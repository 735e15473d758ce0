package simulation

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// TestReviews: reviews differ, each has different raters, votes follow the probabilities, and a sample is repeatable.
func TestReviews(t *testing.T) {
	s, err := SimulateReviews(2000, 3, 7)
	if err != nil {
		t.Fatal(err)
	}
	again, _ := SimulateReviews(10, 3, 7)
	if !slices.Equal(s.Texts[:10], again.Texts) || !slices.Equal(s.P[:10], again.P) {
		t.Error("equal seeds give different reviews")
	}
	ds := s.Dataset()
	var difference, variance float64
	distinct := map[string]bool{}
	for i, text := range s.Texts {
		distinct[text] = true
		if n := strings.Count(text, "."); n < 2 || n > 3 {
			t.Errorf("%q", text)
		}
		seen := map[string]bool{}
		for _, v := range s.Votes[i] {
			seen[v.rater] = true
		}
		if len(seen) != 3 || ds.VotesOf(i) != 3 {
			t.Errorf("review %d has the raters %v", i, seen)
		}
		difference += float64(ds.CountsOf(i)[1]) - 3*s.P[i]
		variance += 3 * s.P[i] * (1 - s.P[i])
	}
	// A false alarm once in 30,000 seeds.
	if math.Abs(difference) > 4*math.Sqrt(variance) {
		t.Errorf("positive votes are off by %v, sd %v", difference, math.Sqrt(variance))
	}
	if len(distinct) < 1000 {
		t.Errorf("%d different reviews", len(distinct))
	}
	if len(ds.Ratings) != 6000 || len(s.Truth()) != 4000 {
		t.Errorf("%d ratings, %d probabilities", len(ds.Ratings), len(s.Truth()))
	}
	if _, err := SimulateReviews(1, 6, 1); err == nil {
		t.Error("six different raters of five")
	}
}
