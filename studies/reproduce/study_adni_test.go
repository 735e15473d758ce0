//go:build studies

package main

import (
	"strings"
	"testing"

	"credence/studies/study"
)

// TestStudyADNI runs the quick MRI study, whose 400 fresh scans and one seed
// leave a standard error of about two points of accuracy and coverage. The
// limits ask for half of what the study asks for at full size.
//
//	go test -tags studies -run StudyADNI -timeout 30m ./studies/reproduce
func TestStudyADNI(t *testing.T) {
	var numbers struct {
		Synthetic bool        `json:"synthetic"`
		Bars      []study.Bar `json:"bars"`
	}
	runStudy(t, "adni", &numbers)
	if !numbers.Synthetic || len(numbers.Bars) != 12 {
		t.Fatalf("synthetic %v, %d bars, want true and 12", numbers.Synthetic, len(numbers.Bars))
	}
	for _, b := range numbers.Bars {
		v := float64(b.Value)
		switch {
		case strings.HasPrefix(b.Name, "share of the oracle's gain"):
			if !(v >= 0.25 && v <= 1.5) {
				t.Errorf("%s: %v, want at least 0.25", b.Name, v)
			}
		case strings.HasPrefix(b.Name, "width of MIX beyond"):
			if !(v >= -0.1 && v <= 0.1) {
				t.Errorf("%s: %v, want −0.1 to 0.1", b.Name, v)
			}
		case strings.HasPrefix(b.Name, "mean gap of coverage"):
			if !(v <= 0.15) {
				t.Errorf("%s: %v, want at most 0.15", b.Name, v)
			}
		case strings.HasPrefix(b.Name, "predicted variance over squared error"):
			if !(v >= 0.4 && v <= 2) {
				t.Errorf("%s: %v, want 0.4 to 2", b.Name, v)
			}
		default:
			t.Errorf("%s has no limits", b.Name)
		}
	}
}
