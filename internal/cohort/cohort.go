// Package cohort simulates a cohort of MRI scans with clinical scores,
// after the real-data study of Wu et al. (ICML 2019), whose data are under
// license. Nothing in it comes from a person.
//
// Every subject has a latent severity s, and several visits with a scan each,
// between which it drifts. A scan shows s + τε as atrophy in a head that is
// drawn from analytic shapes ([Picture]). Three instruments (diagnosis, CDR,
// MMSE) read s with independent errors; their readings are ranked over the
// cohort and cut so that each gives NC, MCI and AD exactly as often as in the
// paper's table. Because the distribution is known, so is, for every scan, the
// probability that an instrument gives AD ([Scan.Pi]).
//
// [New] draws the cohort, [Picture.Render] a volume, [Write] the folder of NIfTI
// files and tables that a study reads.
package cohort

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"credence/internal/rng"
)

const (
	// ImageError is τ: what a scan shows is s + τε.
	ImageError = 0.4

	// Drift of the severity: mean and standard deviation a year.
	driftMean, driftSD = 0.10, 0.06
)

// Options configures the size of a cohort.
type Options struct {
	Scans int // 0 means 1660
	// Fresh are further scans, of further subjects: their instruments are cut
	// at the thresholds of the cohort, not by their own ranks.
	Fresh int
	Seed  uint64
}

// PaperScans is the number of scans in the paper's study.
const PaperScans = 1660

// Part is the purpose of a scan.
type Part string

const (
	// Study scans are those of the paper's table.
	Study Part = "study"
	// Fresh scans are for measuring coverage.
	Fresh Part = "fresh"
)

// Cohort is a sample of scans, those of the study first.
type Cohort struct {
	Options
	Scans []Scan
	// Thresholds are t_l: above it, instrument l gives AD.
	Thresholds [3]float64
}

// Scan is one visit of a subject: what is observed, and the truth behind it.
type Scan struct {
	Part    Part
	Subject int // from 0
	Visit   int // 0, 1, 2
	Years   float64

	Level [3]Level // by instrument
	DX    string   // CN, MCI or Dementia
	CDR   float64
	MMSE  int
	Votes [3]bool // exchangeable votes: AD with probability Mean

	Reading  [3]float64 // s + σ_l ε_l, which the instruments cut
	Severity float64    // s
	Shown    float64    // s + τε, which the image shows
	Pi       [3]float64 // π_l: the probability that instrument l gives AD
	Mean     float64    // p̄, the mean of Pi
}

// visits are the months of the visits and the share of subjects that have
// come to no more.
var visits = []struct {
	months int
	last   float64
}{{0, 0.1}, {6, 0.3}, {12, 1}}

// New draws a cohort. Equal options give equal cohorts, and a scan of the study
// does not depend on the number of fresh ones.
func New(o Options) (*Cohort, error) {
	if o.Scans == 0 {
		o.Scans = PaperScans
	}
	if o.Scans < 0 || o.Fresh < 0 {
		return nil, fmt.Errorf("a cohort of %d scans and %d fresh ones: numbers are not negative", o.Scans, o.Fresh)
	}
	if o.Scans > maxScans || o.Fresh > maxScans {
		return nil, errors.New("a cohort of more than a million scans")
	}
	c := &Cohort{Options: o}
	c.draw(Study, o.Scans)
	c.draw(Fresh, o.Fresh)
	c.instruments()
	for i := range c.Scans {
		s := &c.Scans[i]
		s.Pi, s.Mean = c.Probability(s.Severity)
		r := rng.New(o.Seed, "cohort.votes."+string(s.Part), uint64(c.place(i)))
		for v := range s.Votes {
			s.Votes[v] = r.Float64() < s.Mean
		}
	}
	return c, nil
}

// Probability returns the probability that each instrument gives AD at a severity, and
// their mean: the probability that one picked at random does.
//
//	π_l = Φ((s − t_l)/σ_l)
func (c *Cohort) Probability(severity float64) (pi [3]float64, mean float64) {
	for l, in := range Instruments {
		pi[l] = normal((severity - c.Thresholds[l]) / in.Error)
		mean += pi[l] / float64(len(Instruments))
	}
	return pi, mean
}

const maxScans = 1_000_000

// place is the number of scan i in its part.
func (c *Cohort) place(i int) int {
	if c.Scans[i].Part == Fresh {
		return i - c.Options.Scans
	}
	return i
}

// draw appends n scans, subject by subject; the last may miss visits.
func (c *Cohort) draw(part Part, n int) {
	first := 0
	if len(c.Scans) > 0 {
		first = c.Scans[len(c.Scans)-1].Subject + 1
	}
	end := len(c.Scans) + n
	for subject := 0; len(c.Scans) < end; subject++ {
		r := rand.New(rng.New(c.Seed, "cohort.subject."+string(part), uint64(subject)))
		s, drift := r.NormFloat64(), driftMean+driftSD*r.NormFloat64()
		last := r.Float64()
		for v, visit := range visits {
			years := float64(visit.months) / 12
			x := s + drift*years
			c.Scans = append(c.Scans, Scan{
				Part: part, Subject: first + subject, Visit: v, Years: years,
				Severity: x, Shown: x + ImageError*r.NormFloat64(),
			})
			if last < visit.last || len(c.Scans) == end {
				break
			}
		}
	}
}

// Picture returns the description of the image of scan i.
func (c *Cohort) Picture(i int) Picture {
	s := &c.Scans[i]
	return Picture{Seed: c.Seed, Part: s.Part, Subject: s.Subject, Scan: c.place(i), Severity: s.Shown}
}

// normal is the standard normal distribution function.
func normal(x float64) float64 { return 0.5 * math.Erfc(-x/math.Sqrt2) }
