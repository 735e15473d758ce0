package study

import (
	"context"
	"fmt"
)

// Raters is the study of raters who differ: pools of raters who are biased, guess or are alike. Networks with and
// without a rater model learn from their votes, compared with Dawid and Skene's model and the majority.
type Raters struct {
	Quick bool   `json:"quick"`
	Seed  uint64 `json:"seed"`
	// Crowds are the simulated designs, each repeated Seeds times with new raters and items.
	Crowds []poolDesign `json:"crowds"`
	// Fresh is the number of new items that a fit is evaluated on.
	Fresh int `json:"fresh"`
	// Ensemble is the number of networks of a fit.
	Ensemble int `json:"ensemble"`
}

// poolDesign is the design of a pool of raters: Raters of one Kind with Votes each, three per item.
type poolDesign struct {
	Kind   string `json:"kind"`
	Raters int    `json:"raters"`
	Votes  int    `json:"votes"`
	Seeds  int    `json:"seeds"`
}

// Items returns the number of items that the votes of the pool are for.
func (c poolDesign) Items() int { return c.Raters * c.Votes / votesEach }

// votesEach is the number of votes per item, by different raters.
const votesEach = 3

// The kinds of raters.
const (
	biased   = "leaners"
	guessers = "guessers"
	alike    = "exchangeable"
)

var poolKinds = []string{biased, guessers, alike}

// leastItems is the size below which a pool is left out: networks learn next to nothing from fewer items.
const leastItems = 100

// NewRaters returns the study, or a small version of it.
func NewRaters(quick bool, seed uint64) *Raters {
	s := &Raters{Quick: quick, Seed: seed, Fresh: 2000, Ensemble: 5}
	if quick {
		s.Fresh, s.Ensemble = 500, 2
	}
	for _, kind := range poolKinds {
		for _, size := range []struct {
			raters, votes, seeds int
			quick                bool
		}{
			{3, 100, 8, false}, {3, 300, 8, true}, {3, 1000, 4, false},
			{30, 10, 8, false}, {30, 30, 8, true}, {30, 100, 4, false},
			{300, 3, 8, false}, {300, 10, 4, false}, {300, 30, 2, false}, {300, 100, 2, false},
		} {
			if kind == biased && size.raters == 3 && size.votes == 300 {
				size.seeds = 40 // so that the coverage of biases is over 120 intervals
			}
			if quick {
				size.seeds = 1
			}
			if size.quick || !quick {
				s.Crowds = append(s.Crowds, poolDesign{kind, size.raters, size.votes, size.seeds})
			}
		}
	}
	return s
}

// Name implements [Study].
func (s *Raters) Name() string { return "raters" }

// Prepare implements [Study].
func (s *Raters) Prepare(context.Context, *Folder) (pieces int, err error) {
	for _, c := range s.Crowds {
		pieces += c.Seeds * len(poolMethods(c.Kind))
	}
	return pieces, nil
}

// Measure implements [Study].
func (s *Raters) Measure(ctx context.Context, f *Folder) (Results, error) {
	r := &ratersResult{Study: s}
	for _, c := range s.Crowds {
		of := &poolResult{poolDesign: c}
		for _, method := range poolMethods(c.Kind) {
			m := &methodResult{Name: method}
			for i := range c.Seeds {
				seed := s.Seed + uint64(i)
				key := fmt.Sprintf("%d %s, %d votes each, seed %d: %s", c.Raters, c.Kind, c.Votes, seed, method)
				got, err := piece(ctx, f, key, func(ctx context.Context) (*poolOutcome, error) {
					return s.judge(ctx, c, method, seed)
				})
				if err != nil {
					return nil, err
				}
				m.Outcomes = append(m.Outcomes, got)
			}
			of.Methods = append(of.Methods, m)
		}
		r.Crowds = append(r.Crowds, of)
	}
	return r, nil
}
