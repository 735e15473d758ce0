package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"credence/mixture"
)

// Resolution holds, for each class, how close to 0 and to 1 a probability can
// be told by the votes a model was trained on (the rule of three). For class i
// with predicted means μ_ij of items with m_j votes,
//
//	Low_i = sup{ t : Σ_{j: μ_ij ≤ t} m_j μ_ij ≤ 3 },
//
// below which the votes would show nothing at all with probability e⁻³ or more;
// High_i is the same for 1 − μ_ij. An empty Resolution changes nothing.
type Resolution struct {
	Low  []float64 `json:"low,omitempty"`  // [d] ρ
	High []float64 `json:"high,omitempty"` // [d] ρ̄, as a distance from 1
}

// overconfident is the number of votes below ρ that are too many: at most 3 are
// expected there, and Poisson(3) reaches 8 with probability 0.012.
const overconfident = 8

// NewResolution computes the limits from predicted means [N×d], out-of-fold
// where possible, and the votes [N×d] of the same items. The warnings name
// classes whose tails received far more votes than predicted.
func NewResolution(means []float64, counts []float32, classes []string) (r Resolution, warnings []string) {
	d := len(classes)
	n := len(counts) / d
	mu, votes, hits := make([]float64, n), make([]float64, n), make([]float64, n)
	for k, s := range counts {
		votes[k/d] += float64(s)
	}
	warn := func(class, where string, t, seen float64, what string) {
		if seen >= overconfident {
			warnings = append(warnings, fmt.Sprintf("the tail of class %q is overconfident: items predicted %s %.2g received %g votes for %s, at most 3 were expected",
				class, where, t, seen, what))
		}
	}
	for i, class := range classes {
		for j := range mu {
			mu[j], hits[j] = means[j*d+i], float64(counts[j*d+i])
		}
		t, seen := resolve(mu, votes, hits)
		r.Low = append(r.Low, t)
		warn(class, "below", t, seen, "it")
		for j := range mu {
			// The sum of the others keeps the digits that 1 − μ loses.
			mu[j] = 0
			for k, x := range means[j*d : (j+1)*d] {
				if k != i {
					mu[j] += x
				}
			}
			hits[j] = votes[j] - hits[j]
		}
		t, seen = resolve(mu, votes, hits)
		r.High = append(r.High, t)
		warn(class, "above 1 −", t, seen, "other classes")
	}
	return r, warnings
}

// resolve returns sup{ t : Σ_{mu ≤ t} votes·mu ≤ 3 }, at most 1, and the hits of
// the items below it.
func resolve(mu, votes, hits []float64) (t, seen float64) {
	order := make([]int, len(mu))
	for j := range order {
		order[j] = j
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(mu[a], mu[b]) })
	t = 1
	expected := 0.0
	for _, j := range order {
		if expected += votes[j] * mu[j]; expected > 3 {
			t = min(1, mu[j])
			break
		}
	}
	for j := range mu {
		if mu[j] < t {
			seen += hits[j]
		}
	}
	return t, seen
}

// Apply widens an interval of the probability of a class to what the votes could
// resolve, and tells whether that touched it, in which case its level is a lower
// bound:
//
//	lo < ρ → 0;  hi < ρ → hi = ρ;  1−hi < ρ̄ → 1;  1−lo < ρ̄ → lo = 1 − ρ̄,
//
// each asked of the interval given. The fixed end of a one-sided interval stays.
func (r Resolution) Apply(class int, side mixture.Side, in mixture.Interval) (out mixture.Interval, below bool) {
	if r.Low == nil {
		return in, false
	}
	low, high := r.Low[class], r.High[class]
	out = in
	if side != mixture.Upper {
		if 1-in.Lo < high {
			out.Lo, below = 1-high, true
		}
		if in.Lo < low {
			out.Lo, below = 0, true
		}
	}
	if side != mixture.Lower {
		if in.Hi < low {
			out.Hi, below = low, true
		}
		if 1-in.Hi < high {
			out.Hi, below = 1, true
		}
	}
	return out, below
}

// check refuses limits that NewResolution cannot have returned.
func (r Resolution) check(d int) error {
	if len(r.Low) != len(r.High) || len(r.Low) != 0 && len(r.Low) != d {
		return fmt.Errorf("%d lower and %d upper limits of resolution for %d classes", len(r.Low), len(r.High), d)
	}
	for _, x := range slices.Concat(r.Low, r.High) {
		if !(x >= 0 && x <= 1) || math.IsNaN(x) {
			return fmt.Errorf("limit of resolution %v, want between 0 and 1", x)
		}
	}
	return nil
}
