package study

import (
	"context"
	"fmt"

	"credence/dataset"
	"credence/internal/simulation"
	"credence/train"
)

// Comparison is the paper's comparison with other methods, in its own design and
// in one where mean and spread vary independently: items in the plane with two votes
// each, on which the mixture head and its rivals are trained, and fresh items,
// whose true distributions the simulation knows.
type Comparison struct {
	Seeds []uint64                  `json:"seeds"` // of data and training
	Items map[simulation.Design]int `json:"items"` // trained on
	Votes int                       `json:"votes"` // on each
	Fresh int                       `json:"fresh"` // items that accuracy and spread are judged on
	// Covered is the number of fresh items that coverage is measured on.
	Covered  int `json:"covered"`
	Grid     int `json:"grid"`     // places along each side of [−4, 4]²
	Ensemble int `json:"ensemble"` // networks in an ensemble
	// Common are the options of every method; those of a method itself are added.
	Common train.Options `json:"common"`
	// TuneSeeds are those of the samples on which rivals choose their settings;
	// without any the defaults are taken.
	TuneSeeds []uint64 `json:"tune_seeds"`
	// RemedySeeds are those of the samples on which configurations of the mixture
	// are compared.
	RemedySeeds []uint64 `json:"remedy_seeds"`

	// Sizes are the further numbers of items that some contenders are trained on.
	Sizes []int `json:"sizes"`

	// Remedies includes both of these in the study.
	Remedies bool `json:"-"`
}

// NewComparison returns the full study, or a small version of it that
// shows how it works.
func NewComparison(quick bool, seed uint64) *Comparison {
	c := &Comparison{
		Items:    map[simulation.Design]int{simulation.Paper: 4000, simulation.Spread: 4000},
		Votes:    2,
		Fresh:    100000,
		Covered:  20000,
		Grid:     81,
		Ensemble: 5,
		Common: train.Options{Widths: []int{128, 128, 128}, Dropout: -1, WeightDecay: -1,
			Trees: "off", Transform: dataset.TransformOptions{Scores: "off"}},
	}
	for i := range uint64(5) {
		c.Seeds = append(c.Seeds, seed+i)
	}
	// Samples for choosing settings and samples for evaluation are disjoint.
	c.TuneSeeds = []uint64{seed + 100}
	c.RemedySeeds = []uint64{seed + 100, seed + 101, seed + 102}
	c.Sizes = []int{500, 1000, 2000, 8000}
	if quick {
		c.Seeds, c.TuneSeeds = c.Seeds[:1], nil
		c.Fresh, c.Covered, c.Grid = 20000, 10000, 41
		c.Ensemble = 3
	}
	return c
}

// freshSeed is the seed of the fresh items of a seed: far from those of the
// items trained on.
func freshSeed(seed uint64) uint64 { return seed + 1<<32 }

// Name implements [Study].
func (c Comparison) Name() string { return "comparison" }

// Prepare implements [Study].
func (c Comparison) Prepare(context.Context, *Folder) (int, error) {
	if len(c.Seeds) == 0 || c.Fresh < c.Covered || c.Covered < 1 || c.Grid < 2 || c.Ensemble < 2 {
		return 0, fmt.Errorf("comparison: %d seeds, %d fresh items, %d of them for coverage, a grid of %d, ensembles of %d: too few",
			len(c.Seeds), c.Fresh, c.Covered, c.Grid, c.Ensemble)
	}
	return c.pieces(), nil
}

// Measure implements [Study].
func (c Comparison) Measure(ctx context.Context, f *Folder) (Results, error) {
	res := &comparisonResult{Study: c}
	for _, d := range simulation.Designs {
		chosen, trials, err := c.tune(ctx, f, d)
		if err != nil {
			return nil, err
		}
		res.Trials = append(res.Trials, trials...)
		r, err := c.design(ctx, f, d, chosen)
		if err != nil {
			return nil, err
		}
		res.Designs = append(res.Designs, r)
		if c.Remedies {
			sizes, err := c.sizes(ctx, f, r, chosen)
			if err != nil {
				return nil, err
			}
			res.Sizes = append(res.Sizes, sizes...)
		}
	}
	if c.Remedies {
		var err error
		if res.Remedies, err = c.remedies(ctx, f); err != nil {
			return nil, err
		}
	}
	res.judge()
	return res, nil
}

// pieces returns the number of pieces of work.
func (c Comparison) pieces() int {
	n := 0
	for range simulation.Designs {
		n += len(c.Seeds) * (1 + len(contenders(c.Ensemble)))
		for _, m := range methods {
			if len(m.grid) > 1 {
				n += len(c.TuneSeeds) * len(m.grid)
			}
		}
	}
	if c.Remedies {
		n += len(simulation.Designs) * (len(remedies)*len(c.RemedySeeds) + len(c.sized())*len(c.Sizes)*len(c.Seeds))
	}
	return n
}

// design runs all contenders of a design, seed by seed.
func (c Comparison) design(ctx context.Context, f *Folder, d simulation.Design,
	chosen map[string]train.Options) (*designResult, error) {
	r := &designResult{Design: d}
	for _, who := range contenders(c.Ensemble) {
		r.Contenders = append(r.Contenders, contenderResult{Method: who.method.key,
			Label: who.label, Networks: who.networks,
			Settings: settingsText(chosen[who.method.key]), Meaning: who.method.meaning()})
	}
	for i, seed := range c.Seeds {
		var fresh *sample // drawn when a piece needs it
		draw := func() (*sample, error) {
			var err error
			if fresh == nil {
				fresh, err = c.sample(d, seed)
			}
			return fresh, err
		}
		truth, err := piece(ctx, f, fmt.Sprintf("%s, seed %d: truth", d, seed),
			func(context.Context) (sampleTruth, error) {
				s, err := draw()
				if err != nil {
					return sampleTruth{}, err
				}
				return s.truth(), nil
			})
		if err != nil {
			return nil, err
		}
		r.Truth = append(r.Truth, truth)
		for k, who := range contenders(c.Ensemble) {
			key := fmt.Sprintf("%s, seed %d: %s [%s] × %d", d, seed, who.method.key,
				settingsText(chosen[who.method.key]), who.networks)
			got, err := piece(ctx, f, key, func(ctx context.Context) (outcome, error) {
				s, err := draw()
				if err != nil {
					return outcome{}, err
				}
				return c.fit(ctx, s, who, chosen[who.method.key], i == 0)
			})
			if err != nil {
				return nil, err
			}
			r.Contenders[k].Seeds = append(r.Contenders[k].Seeds, got)
		}
	}
	return r, nil
}
