package evaluate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"credence/internal/rng"
)

// decisionDesign is a population of groups of items with votes.
type decisionDesign struct {
	name      string
	groups    int
	most      int     // items per group are uniform on 1 … most
	between   float64 // variance of the items' logits that groups share
	base      float64 // mean logit
	votes     func(r *rand.Rand) int
	threshold float64
}

var decisionDesigns = []decisionDesign{
	{"clustered", 80, 7, 0.5, -0.5, func(*rand.Rand) int { return 3 }, 0.5},
	{"few votes", 200, 1, 0, 0, func(r *rand.Rand) int { return 1 + int(r.Uint64()%2) }, 0.4},
	{"rare class", 600, 1, 0, -3.6, func(*rand.Rand) int { return 3 }, 0.1},
}

// draw returns the items of a number of groups, as a model and a rival see them. The reference is the share of votes or, for the truth, the
// probability of a vote.
func (d decisionDesign) draw(r *rand.Rand, groups int, truth bool) paired {
	model, rival := &decided{units: groups}, &decided{units: groups}
	logistic := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	for g := range groups {
		shared, sharedNoise := r.NormFloat64(), r.NormFloat64()
		for range 1 + int(r.Uint64()%uint64(d.most)) {
			mix := func(shared float64) float64 {
				return math.Sqrt(d.between)*shared + math.Sqrt(1-d.between)*r.NormFloat64()
			}
			x, noise := mix(shared), mix(sharedNoise)
			// The part of the logit that features do not show is between raters and items.
			p := logistic(d.base + 1.2*x + 0.7*noise)
			y := p
			if !truth {
				n, m := 0, d.votes(r)
				for range m {
					if r.Float64() < p {
						n++
					}
				}
				y = float64(n) / float64(m)
			}
			model.score = append(model.score, logistic(d.base+0.2+1.4*x))
			rival.score = append(rival.score, logistic(d.base+0.8*x+0.6*r.NormFloat64()))
			model.ref, rival.ref = append(model.ref, y), append(rival.ref, y)
			model.unit, rival.unit = append(model.unit, g), append(rival.unit, g)
		}
	}
	return paired{model, rival}
}

// intervals returns all intervals by name.
func (p paired) intervals(threshold float64) map[string]IntervalEstimate {
	s := p.model.summary([]float64{threshold})
	t, all := s.Thresholds[0], *p.model
	all.score = slices.Repeat([]float64{1}, len(all.ref))
	list := map[string]IntervalEstimate{"prevalence": s.Prevalence, "AUC": s.AUC, "sensitivity": t.Sensitivity, "specificity": t.Specificity,
		"PPV": t.PPV, "NPV": t.NPV, "LR+": t.LRPositive, "LR−": t.LRNegative, "net benefit": t.NetBenefit, "treat all": all.plain(all.netBenefit(threshold)),
		"intercept": s.Intercept, "slope": s.Slope, "joint intercept": s.JointIntercept, "O:E": s.OE}
	for _, d := range p.compare(Rival{Means: [][]float64{}}, DecisionOptions{Thresholds: []float64{threshold}}).Differences {
		list["difference in "+d.Score] = d.IntervalEstimate
	}
	return list
}

// Against votes, 95% intervals cover the value for a further vote in 93 to 97% of 1,000 simulations (with CREDENCE_COVERAGE=1000).
// With the 200 of this test, a coverage of 95% is outside of 90.5 to 99% about once in 250 intervals; the seed is fixed.
func TestDecisionCoverage(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	runs, _ := strconv.Atoi(os.Getenv("CREDENCE_COVERAGE"))
	low, high := 0.93, 0.97
	if runs == 0 {
		runs, low, high = 200, 0.905, 0.99
	}
	seed, _ := strconv.ParseUint(os.Getenv("CREDENCE_COVERAGE_SEED"), 10, 64)
	population := 60 * runs // groups
	for _, d := range decisionDesigns {
		truth := map[string]float64{}
		for name, e := range d.draw(rand.New(rng.New(seed, d.name, 0)), population, true).intervals(d.threshold) {
			truth[name] = float64(e.Value)
		}
		covered, bias := map[string]int{}, map[string]float64{}
		for r := range runs {
			for name, e := range d.draw(rand.New(rng.New(seed, d.name, uint64(1+r))), d.groups, false).intervals(d.threshold) {
				if float64(e.Lo) <= truth[name] && truth[name] <= float64(e.Hi) {
					covered[name]++
				}
				bias[name] += float64(e.Value) / float64(runs)
			}
		}
		names := []string{}
		for name := range truth {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			share := float64(covered[name]) / float64(runs)
			text := fmt.Sprintf("%s: %s %.3f (mean %.3f) is covered in %.1f%%", d.name, name, truth[name], bias[name], 100*share)
			if share < low || share > high {
				t.Error(text)
			} else {
				t.Log(text)
			}
		}
	}
}
