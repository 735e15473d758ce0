package study

import (
	"fmt"
	"math"
	"strconv"
)

// judgesResult has all numbers of the page.
type judgesResult struct {
	Study *Judges      `json:"study"`
	Cases []judgesCase `json:"cases"`
	Sets  []judgesSet  `json:"sets"`

	simulated []judgesOutcome // [cases × seeds]
	losses    []judgedLoss    // [sets × sizes × splits]
}

// judgesCase has the means over seeds of a design, and the range of coverage.
type judgesCase struct {
	Items  int     `json:"items"`
	Tau    float64 `json:"tau"`
	Lowest float64 `json:"lowest_at_95"`
	SE     float64 `json:"at_95_se"`
	judgesOutcome
}

// Ratio returns the mean width relative to that of the model that knows how judges err.
func (c judgesCase) Ratio() float64 { return c.Width / c.KWidth }

// Gain returns how much less the loss is with judges.
func (l judgedLoss) Gain() float64 { return l.People - l.Loss }

// judgesSet has the losses of a set, means over splits, by number of items, with the standard error of the gain over splits.
type judgesSet struct {
	Name   string       `json:"name"`
	Sizes  []judgedLoss `json:"sizes"`
	GainSE []float64    `json:"gain_se"`
}

// means computes the means over seeds and splits.
func (r *judgesResult) means() {
	r.Cases, r.Sets = nil, nil
	seeds := len(r.Study.Seeds)
	for c, design := range judgesCases {
		x := judgesCase{Items: design.items, Tau: design.tau, Lowest: 1}
		square := 0.0
		for _, o := range r.simulated[c*seeds : (c+1)*seeds] {
			n := float64(seeds)
			x.At95 += o.At95 / n
			square += o.At95 * o.At95 / n
			x.Width += o.Width / n
			x.Known += o.Known / n
			x.KWidth += o.KWidth / n
			x.Lowest = min(x.Lowest, o.At95)
		}
		x.SE = math.Sqrt(max(0, square-x.At95*x.At95) / max(1, float64(seeds-1)))
		r.Cases = append(r.Cases, x)
	}
	splits := len(r.Study.SetSeeds)
	for k, name := range r.Study.Sets {
		x := judgesSet{Name: name}
		for s := range judgesSizes {
			var mean judgedLoss
			gain, square := 0.0, 0.0
			at := (k*len(judgesSizes) + s) * splits
			for _, l := range r.losses[at : at+splits] {
				n := float64(splits)
				mean.Loss += l.Loss / n
				mean.People += l.People / n
				gain += l.Gain() / n
				square += l.Gain() * l.Gain() / n
			}
			x.Sizes, x.GainSE = append(x.Sizes, mean), append(x.GainSE, math.Sqrt(max(0, square-gain*gain)/max(1, float64(splits-1))))
		}
		r.Sets = append(r.Sets, x)
	}
}

// Mean returns the mean over sets for each number of items.
func (r *judgesResult) Mean() []judgedLoss {
	means := make([]judgedLoss, len(judgesSizes))
	for _, x := range r.Sets {
		for s, l := range x.Sizes {
			means[s].Loss += l.Loss / float64(len(r.Sets))
			means[s].People += l.People / float64(len(r.Sets))
		}
	}
	return means
}

// SeedRange describes the seeds of the simulation.
func (s *Judges) SeedRange() string {
	return fmt.Sprintf("%d to %d", s.Seeds[0], s.Seeds[len(s.Seeds)-1])
}

// SplitRange describes the seeds of the splits.
func (s *Judges) SplitRange() string {
	return fmt.Sprintf("%d to %d", s.SetSeeds[0], s.SetSeeds[len(s.SetSeeds)-1])
}

// WriteTables implements [Results].
func (r *judgesResult) WriteTables(f *Folder) error {
	r.means()
	number := func(x float64) string { return strconv.FormatFloat(x, 'f', 4, 64) }
	rows := [][]string{{"design", "items", "seed", "at_95", "width", "shared_at_95", "shared_width"}}
	for i, o := range r.simulated {
		c := judgesCases[i/len(r.Study.Seeds)]
		rows = append(rows, []string{fmt.Sprintf("tau %v", c.tau), strconv.Itoa(c.items), strconv.FormatUint(r.Study.Seeds[i%len(r.Study.Seeds)], 10),
			number(o.At95), number(o.Width), number(o.Known), number(o.KWidth)})
	}
	if err := f.writeCSV("simulation.csv", rows); err != nil || len(r.losses) == 0 {
		return err
	}
	rows = [][]string{{"set", "items", "split", "nll_per_vote", "people_nll_per_vote"}}
	for i, l := range r.losses {
		k := len(r.Study.SetSeeds)
		rows = append(rows, []string{r.Study.Sets[i/k/len(judgesSizes)], strconv.Itoa(judgesSizes[i/k%len(judgesSizes)]), strconv.FormatUint(r.Study.SetSeeds[i%k], 10),
			number(l.Loss), number(l.People)})
	}
	return f.writeCSV("losses.csv", rows)
}

// WriteFigures implements [Results]; the study has none.
func (r *judgesResult) WriteFigures(*Folder) error { return nil }

// Numbers implements [Results].
func (r *judgesResult) Numbers() any { return r }

// Page implements [Results].
func (r *judgesResult) Page(*Folder) (any, error) { return r, nil }
