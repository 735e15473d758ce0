//go:build studies

package main

import (
	"os"
	"testing"

	"credence/studies/study"
)

// TestStudyVotes runs the quick study of people's votes on the folder that CREDENCE_VOTES_DATA names.
// One split judges 300 photographs and four panels of defendants: errors of Ĉ are about two and three
// points, those of a panel's raters come on top, and 300 photographs are few to learn from. The limit
// is twice what was seen, and excludes intervals that hold everything or a third less than they say.
//
//	CREDENCE_VOTES_DATA=data go test -tags studies -run StudyVotes -timeout 30m ./studies/reproduce
func TestStudyVotes(t *testing.T) {
	folder := os.Getenv("CREDENCE_VOTES_DATA")
	if folder == "" {
		t.Skip("CREDENCE_VOTES_DATA names no folder with the sets cifar10h and recidivism")
	}
	var numbers struct {
		Bars []study.Bar `json:"bars"`
	}
	runStudy(t, "votes", &numbers, "--data", folder)
	if len(numbers.Bars) != 6 {
		t.Errorf("%d bars, want 6", len(numbers.Bars))
	}
	for _, b := range numbers.Bars {
		if v := float64(b.Value); !(v >= 0 && v <= 20) {
			t.Errorf("%s: %v, want at most 20", b.Name, v)
		}
	}
}
