//go:build studies

package main

import (
	"strings"
	"testing"

	"credence/studies/study"
)

// TestStudyRaters runs the quick study of raters, one seed of 300 items each. The limits are wider than
// what other seeds give, and exclude intervals that hold everything or a fifth less than they say.
//
//	go test -tags studies -run StudyRaters -timeout 30m ./studies/reproduce
func TestStudyRaters(t *testing.T) {
	var numbers struct {
		Bars []study.Bar `json:"bars"`
	}
	runStudy(t, "raters", &numbers)
	if len(numbers.Bars) != 4 {
		t.Errorf("%d bars, want 4", len(numbers.Bars))
	}
	for _, b := range numbers.Bars {
		v, most := float64(b.Value), 0.05
		switch {
		case strings.HasSuffix(b.Name, "leans held by 95% intervals, %"):
			most = 100
		case strings.HasSuffix(b.Name, "squared error over predicted variance"):
			most = 2
		case strings.HasSuffix(b.Name, "nominal|, points"):
			most = 12
		}
		if !(v >= -0.05 && v <= most) {
			t.Errorf("%s: %v, want at most %v", b.Name, v, most)
		}
	}
}
