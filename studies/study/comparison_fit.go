package study

import (
	"context"
	"math"
	"slices"

	"credence/evaluate"
	"credence/head"
	"credence/internal/par"
	"credence/internal/simulation"
	"credence/mixture"
	"credence/model"
	"credence/train"
)

// levels are those at which coverage is measured. The bars are about the five
// from 75% to 95%.
var levels = []float64{0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.99}

// judgedLevels are those that the bars are about.
var judgedLevels = slices.DeleteFunc(slices.Clone(levels), func(level float64) bool { return !judged(level) })

func judged(level float64) bool { return level >= 0.75 && level <= 0.95 }

// strata of the true mean: bounds, of which the upper one belongs to the next.
var strata = []struct {
	name   string
	lo, hi float64
}{
	{"below 0.1", 0, 0.1}, {"0.1 to 0.3", 0.1, 0.3}, {"0.3 to 0.7", 0.3, 0.7},
	{"0.7 to 0.9", 0.7, 0.9}, {"above 0.9", 0.9, math.Inf(1)},
}

// outcome is the result of a contender for a seed.
type outcome struct {
	Accuracy float64   `json:"accuracy"` // share of fresh labels guessed
	Items    closeness `json:"items"`    // on fresh items
	Grid     closeness `json:"grid"`     // on the grid over [−4, 4]²
	// Coverage is of fresh draws of p, for methods that give its distribution.
	Coverage []coverageAt `json:"coverage,omitempty"`
	// Criterion is the method's own held-out measure, mean over its networks.
	Criterion evaluate.Number `json:"criterion"`
	Epochs    []int           `json:"epochs"` // kept, by network
	// Field are the variances on the grid, or the method's own measure of spread, and
	// Densities the predicted distributions at the places of the density figures;
	// both of the first seed alone.
	Field     []float64    `json:"field,omitempty"`
	Densities []components `json:"densities,omitempty"`
}

// closeness compares predicted with true spread.
type closeness struct {
	Correlation evaluate.Number `json:"correlation"` // of the variances
	SDError     evaluate.Number `json:"sd_error"`    // mean absolute error of the standard deviation
}

// coverageAt is the share of items whose p lies in its interval.
type coverageAt struct {
	Level    float64 `json:"level"`
	Stratum  string  `json:"stratum,omitempty"` // of the true mean; empty for all
	Items    int     `json:"items"`
	Raw      float64 `json:"raw"`
	Reported float64 `json:"reported"`
}

// components are a Beta mixture as numbers.
type components struct{ Weights, A, B []float64 }

func (c components) mixture() (*mixture.Beta, error) { return mixture.NewBeta(c.Weights, c.A, c.B) }

// densityPlaces are those of the paper's density figures.
var densityPlaces = [][2]float64{{0, 0}, {1, 1}}

// sample has the fresh items of a seed and the truth about them, and about the grid.
type sample struct {
	design   simulation.Design
	seed     uint64
	covered  int // how many items coverage is judged on
	fresh    *simulation.Simulation
	mean     []float64 // of p at each item
	variance []float64
	grid     [][2]float64 // row by row, from the least x₂
	gridVar  []float64
}

func (c Comparison) sample(d simulation.Design, seed uint64) (*sample, error) {
	fresh, err := simulation.Simulate(d, c.Fresh, 1, freshSeed(seed))
	if err != nil {
		return nil, err
	}
	s := &sample{design: d, seed: seed, covered: c.Covered, fresh: fresh, grid: gridPlaces(c.Grid)}
	if s.mean, s.variance, err = moments(d, fresh.X); err != nil {
		return nil, err
	}
	_, s.gridVar, err = moments(d, s.grid)
	return s, err
}

// gridPlaces are n × n places over [−4, 4]².
func gridPlaces(n int) [][2]float64 {
	var places [][2]float64
	for i := range n {
		for j := range n {
			places = append(places, [2]float64{8*float64(j)/float64(n-1) - 4, 8*float64(i)/float64(n-1) - 4})
		}
	}
	return places
}

// moments returns the true mean and variance of p at places.
func moments(d simulation.Design, places [][2]float64) (mean, variance []float64, err error) {
	mean, variance = make([]float64, len(places)), make([]float64, len(places))
	for i, x := range places {
		dist, err := d.Dist(x)
		if err != nil {
			return nil, nil, err
		}
		mean[i], variance[i] = dist.Moments()
	}
	return mean, variance, nil
}

// sampleTruth has the true values of a sample, from the simulation.
type sampleTruth struct {
	Bayes         float64 `json:"bayes"`          // share of labels that the best guess predicts
	ConstantItems float64 `json:"constant_items"` // error of the best constant standard deviation
	ConstantGrid  float64 `json:"constant_grid"`
}

func (s *sample) truth() sampleTruth {
	return sampleTruth{Bayes: s.accuracy(s.mean), ConstantItems: constantError(s.variance),
		ConstantGrid: constantError(s.gridVar)}
}

// accuracy is the share of fresh labels that are the class of larger mean; a
// tie is half right.
func (s *sample) accuracy(mean []float64) float64 {
	right := 0.0
	for i, m := range mean {
		label := s.fresh.Votes[i][0] // 1 if it is class 0
		switch {
		case m == 0.5:
			right += 0.5
		case (m > 0.5) == (label == 1):
			right++
		}
	}
	return right / float64(len(mean))
}

// fit trains a contender on the items of a seed and judges it on fresh ones.
func (c Comparison) fit(ctx context.Context, s *sample, who contender, settings train.Options,
	keep bool) (outcome, error) {
	items, err := simulation.Simulate(s.design, c.Items[s.design], c.Votes, s.seed)
	if err != nil {
		return outcome{}, err
	}
	res, err := train.Fit(ctx, items.Dataset(), c.combine(who.method, settings, who.networks, s.seed))
	if err != nil {
		return outcome{}, err
	}
	return s.judge(ctx, res.Model, who.method.key == asShipped, keep)
}

// judge compares the predictions of a model with the truth: the reported ones, or the raw ones of the
// networks. Coverage is of both.
func (s *sample) judge(ctx context.Context, m *model.Model, reported, keep bool) (outcome, error) {
	out := outcome{Criterion: evaluate.Number(criterion(m)), Epochs: keptEpochs(m)}
	calibration := m.Calibration
	m.Calibration = nil
	raw, err := predict(ctx, m, s.fresh.X[:s.covered], s.covered)
	if err != nil {
		return out, err
	}
	if raw.dists != nil {
		m.Calibration = calibration
		calibrated, err := predict(ctx, m, s.fresh.X[:s.covered], s.covered)
		if err != nil {
			return out, err
		}
		resolution := 0.0
		if calibration != nil {
			resolution = calibration.Resolution
		}
		out.Coverage = s.coverage(raw.dists, calibrated.dists, resolution)
		m.Calibration = nil
	}
	if reported {
		m.Calibration = calibration
	}
	got, err := predict(ctx, m, s.fresh.X, 0)
	if err != nil {
		return out, err
	}
	out.Accuracy = s.accuracy(got.mean)
	out.Items = got.closeness(s.variance)
	grid, err := predict(ctx, m, s.grid, 0)
	if err != nil {
		return out, err
	}
	out.Grid = grid.closeness(s.gridVar)
	if !keep {
		return out, nil
	}
	for _, v := range grid.spread {
		out.Field = append(out.Field, fourDigits(v))
	}
	if m.Traits().Joint {
		at, err := predict(ctx, m, densityPlaces, len(densityPlaces))
		if err != nil {
			return out, err
		}
		for _, d := range at.dists {
			dist := d.Marginal(0)
			var c components
			for k := range dist.K() {
				w, a, b := dist.Component(k)
				c.Weights, c.A, c.B = append(c.Weights, w), append(c.A, a), append(c.B, b)
			}
			out.Densities = append(out.Densities, c)
		}
	}
	return out, nil
}

// fourDigits rounds to four significant digits.
func fourDigits(v float64) float64 {
	if v == 0 {
		return 0
	}
	unit := math.Pow(10, 3-math.Floor(math.Log10(math.Abs(v))))
	return math.Round(v*unit) / unit
}

// prediction is the prediction of a model for class 0 at some places.
type prediction struct {
	mean   []float64
	spread []float64            // the variance, or the method's own measure of spread
	scaled bool                 // spread is a variance
	dists  []*mixture.Dirichlet // distributions of p; nil if there are none
}

func (p *prediction) closeness(truth []float64) closeness {
	c := closeness{Correlation: evaluate.Number(correlation(p.spread, truth)), SDError: evaluate.Number(math.NaN())}
	if p.scaled {
		c.SDError = evaluate.Number(sdError(p.spread, truth))
	}
	return c
}

// predict runs a model on places, and keeps the whole distributions of the
// first of them.
func predict(ctx context.Context, m *model.Model, places [][2]float64, distsKept int) (*prediction, error) {
	p := &prediction{mean: make([]float64, len(places)), spread: make([]float64, len(places)), scaled: true}
	const block = 8192 // so that not all mixtures are in memory at a time
	dists := make([]*mixture.Dirichlet, min(len(places), distsKept))
	for lo := 0; lo < len(places); lo += block {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		part := places[lo:min(lo+block, len(places))]
		data := (&simulation.Simulation{X: part, Votes: make([][2]int, len(part))}).Dataset()
		got, err := m.Predict(context.Background(), data, model.PredictOptions{})
		if err != nil {
			return nil, err
		}
		p.scaled = got[0].Variance != nil
		if got[0].Dist != nil || got[0].Opinion != nil {
			p.dists = dists
		}
		par.For(len(got), func(i int) { p.take(lo+i, &got[i]) })
	}
	return p, nil
}

// take stores the prediction for place i.
func (p *prediction) take(i int, a *head.Decoded) {
	p.mean[i] = a.Mean[0]
	switch {
	case a.Dist != nil:
		p.mean[i], p.spread[i] = a.Dist.Marginal(0).Moments()
		if i < len(p.dists) {
			p.dists[i] = a.Dist
		}
	case a.Variance == nil:
		p.spread[i] = a.Uncertainty
	default:
		p.spread[i] = a.Variance[0]
	}
	if a.Opinion != nil && i < len(p.dists) {
		p.dists[i] = a.Opinion
	}
}

// coverage measures the intervals of the first items, at each level, for all and
// by stratum of the true mean.
func (s *sample) coverage(dists, calibrated []*mixture.Dirichlet, resolution float64) []coverageAt {
	n := min(len(dists), s.covered)
	inside := make([][2]float64, n*len(levels)) // 1 where the interval contains the truth: raw, reported
	par.For(n, func(i int) {
		raw := evaluate.NewCovered(mixture.Reported{Dist: dists[i]}, 0, s.fresh.P[i], s.fresh.Q[i])
		reported := evaluate.NewCovered(mixture.Reported{Dist: calibrated[i], Resolution: resolution}, 0, s.fresh.P[i], s.fresh.Q[i])
		for l, level := range levels {
			for k, c := range []*evaluate.Covered{raw, reported} {
				if in, _ := c.At(level); in {
					inside[i*len(levels)+l][k] = 1
				}
			}
		}
	})
	var out []coverageAt
	for _, stratum := range append([]string{""}, strataNames()...) {
		for l, level := range levels {
			c := coverageAt{Level: level, Stratum: stratum}
			for i := range n {
				if stratum != "" && stratumOf(s.mean[i]) != stratum {
					continue
				}
				c.Items++
				c.Raw += inside[i*len(levels)+l][0]
				c.Reported += inside[i*len(levels)+l][1]
			}
			if c.Items > 0 {
				c.Raw, c.Reported = c.Raw/float64(c.Items), c.Reported/float64(c.Items)
			}
			out = append(out, c)
		}
	}
	return out
}

func strataNames() []string {
	var names []string
	for _, s := range strata {
		names = append(names, s.name)
	}
	return names
}

// stratumOf returns the stratum of a true mean.
func stratumOf(mean float64) string {
	i := slices.IndexFunc(strata, func(s struct {
		name   string
		lo, hi float64
	}) bool {
		return mean < s.hi
	})
	return strata[i].name
}
