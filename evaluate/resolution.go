package evaluate

import (
	"fmt"
	"math"
	"slices"

	"credence/mixture"
)

// Resolution is how small a probability the votes that a model was fitted to
// could tell from zero, and from one, class by class.
//
// Among items with predicted means μ ≤ t, the votes expected for a class are
// Σ m μ. As long as that is at most three, no vote at all would be seen with
// probability e⁻³ or more (the rule of three), so the votes cannot contradict any
// claim that μ is still smaller. Hence, for class i,
//
//	ρ_i = sup{ t : Σ_{j: μ_ij ≤ t} m_j μ_ij ≤ 3 },
//
// and ρ̄_i is the same with 1 − μ_ij.
type Resolution struct {
	Low  []float64 `json:"low"`  // ρ_i
	High []float64 `json:"high"` // ρ̄_i
	// LowVotes are the votes for class i among the items with μ_ij < ρ_i, and
	// HighVotes the votes for other classes among those with 1 − μ_ij < ρ̄_i. At
	// most three are expected of each.
	LowVotes  []float64 `json:"low_votes"`
	HighVotes []float64 `json:"high_votes"`
}

const (
	// resolutionVotes is the rule of three's three.
	resolutionVotes = 3
	// tailVotes is how many votes below the resolution give an overconfident
	// tail away: a Poisson(3) variable reaches it with probability 0.012.
	tailVotes = 8
)

// NewResolution finds the resolution from predicted means ([N × d], row-major,
// each from a model that was not fitted to that item, where there is one) and
// the votes on these items.
func NewResolution(means []float64, votes Votes) (*Resolution, error) {
	if err := votes.check(); err != nil {
		return nil, err
	}
	n, d := votes.Len(), votes.Classes
	if len(means) != n*d {
		return nil, fmt.Errorf("%d means for %d items of %d classes", len(means), n, d)
	}
	for k, mu := range means {
		if !(mu >= 0 && mu <= 1) {
			return nil, fmt.Errorf("mean of item %d, class %d is %v: it lies between 0 and 1", k/d, k%d, mu)
		}
	}
	r := &Resolution{}
	mu, total, hits := make([]float64, n), make([]float64, n), make([]float64, n)
	for j := range total {
		total[j] = votes.Total(j)
	}
	for i := range d {
		for j := range mu {
			mu[j], hits[j] = means[j*d+i], votes.Item(j)[i]
		}
		t, v := resolve(mu, total, hits)
		r.Low, r.LowVotes = append(r.Low, t), append(r.LowVotes, v)
		for j := range mu {
			// The sum of the others keeps the digits that 1 − μ loses.
			mu[j] = sum(means[j*d:j*d+i]) + sum(means[j*d+i+1:(j+1)*d])
			hits[j] = total[j] - hits[j]
		}
		t, v = resolve(mu, total, hits)
		r.High, r.HighVotes = append(r.High, t), append(r.HighVotes, v)
	}
	return r, nil
}

// resolve returns sup{ t : Σ_{mu ≤ t} votes·mu ≤ 3 }, at most 1, and the sum of
// hits of the items below it.
func resolve(mu, votes, hits []float64) (t, seen float64) {
	order := ascending(mu)
	t = 1
	expected := 0.0
	for _, j := range order {
		if expected += votes[j] * mu[j]; expected > resolutionVotes {
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
// resolve, and reports whether that touched it:
//
//	lo < ρ → 0;  hi < ρ → hi = ρ;  1−hi < ρ̄ → 1;  1−lo < ρ̄ → lo = 1 − ρ̄,
//
// each asked of the interval given. The fixed end of a one-sided interval stays.
// The level of a touched interval reads "at least". A nil Resolution changes
// nothing.
func (r *Resolution) Apply(class int, side mixture.Side, in mixture.Interval) (out mixture.Interval, touched bool) {
	if r == nil {
		return in, false
	}
	low, high := r.Low[class], r.High[class]
	out = in
	if side != mixture.Upper {
		if 1-in.Lo < high {
			out.Lo, touched = 1-high, true
		}
		if in.Lo < low {
			out.Lo, touched = 0, true
		}
	}
	if side != mixture.Lower {
		if in.Hi < low {
			out.Hi, touched = low, true
		}
		if 1-in.Hi < high {
			out.Hi, touched = 1, true
		}
	}
	return out, touched
}

// Warnings tells, in words, of tails in which more votes were seen than the
// predictions allow. Names are those of the classes.
func (r *Resolution) Warnings(names []string) []string {
	var w []string
	for i := range r.Low {
		if r.LowVotes[i] >= tailVotes {
			w = append(w, fmt.Sprintf("the tail of class %s is overconfident: items predicted below %.2g received %s votes for it, at most %d were expected",
				names[i], r.Low[i], count(r.LowVotes[i]), resolutionVotes))
		}
		if r.HighVotes[i] >= tailVotes {
			w = append(w, fmt.Sprintf("the tail of class %s is overconfident: items predicted above 1 − %.2g received %s votes for other classes, at most %d were expected",
				names[i], r.High[i], count(r.HighVotes[i]), resolutionVotes))
		}
	}
	return w
}

// count writes a number of votes.
func count(v float64) string {
	if v == math.Floor(v) {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.1f", v)
}

// Check reports what is wrong with a resolution of the given number of classes
// that was read from a file.
func (r *Resolution) Check(classes int) error {
	for _, s := range [][]float64{r.Low, r.High, r.LowVotes, r.HighVotes} {
		if len(s) != classes {
			return fmt.Errorf("a resolution of %d classes, but there are %d", len(s), classes)
		}
	}
	for _, x := range slices.Concat(r.Low, r.High) {
		if !(x >= 0 && x <= 1) {
			return fmt.Errorf("limit of resolution %v: it lies between 0 and 1", x)
		}
	}
	return nil
}
