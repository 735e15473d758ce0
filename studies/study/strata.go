package study

import (
	"context"
	"fmt"
	"slices"

	"credence/calibrate"
	"credence/evaluate"
	"credence/head"
	"credence/internal/par"
	"credence/mixture"
	"credence/model"
	"credence/train"
)

// Strata judges the intervals of a fit with the defaults within strata: by predicted mean, by predicted width, and on
// both sides of every feature, in designs where the average hides errors.
type Strata struct {
	Cases []string `json:"cases"`
	Seeds []uint64 `json:"seeds"`
	Fresh int      `json:"fresh"` // items that are judged
}

// NewStrata returns the study for the named cases, or all if there are none.
func NewStrata(quick bool, seed uint64, seeds int, cases []string) (*Strata, error) {
	s := &Strata{Fresh: 4000, Cases: cases}
	for _, name := range cases {
		if caseNamed(name) == nil {
			return nil, fmt.Errorf("strata: unknown case %q", name)
		}
	}
	for _, c := range strataCases {
		if len(cases) == 0 {
			s.Cases = append(s.Cases, c.name)
		}
	}
	if quick {
		seeds, s.Fresh = 1, 1000
	}
	for i := range seeds {
		s.Seeds = append(s.Seeds, seed+uint64(i))
	}
	return s, nil
}

func caseNamed(name string) *strataCase {
	if i := slices.IndexFunc(strataCases, func(c strataCase) bool { return c.name == name }); i >= 0 {
		return &strataCases[i]
	}
	return nil
}

// stratumCoverage is the coverage in a stratum.
type stratumCoverage struct {
	Name  string  `json:"name"`
	Items int     `json:"items"`
	At75  float64 `json:"at_75"`
	At95  float64 `json:"at_95"`
	Raw75 float64 `json:"raw_75"`
	Raw95 float64 `json:"raw_95"`
	// Width is the mean width at 95%, Oracle that of the true distributions, 0 if there are none.
	Width  float64 `json:"width"`
	Oracle float64 `json:"oracle"`
}

// strataOutcome is the result of a fit.
type strataOutcome struct {
	Strata      []stratumCoverage     `json:"strata"` // the first is that of all items
	Calibration calibrate.Calibration `json:"calibration"`
	Warnings    []string              `json:"warnings"`
}

// Name implements [Study].
func (s *Strata) Name() string { return "strata" }

// Prepare implements [Study].
func (s *Strata) Prepare(context.Context, *Folder) (int, error) {
	return len(s.Cases) * len(s.Seeds), nil
}

// measure fits all pieces, as many at a time as there are cores.
func (s *Strata) measure(ctx context.Context, f *Folder) ([][]strataOutcome, error) {
	out := make([][]strataOutcome, len(s.Cases))
	for c := range out {
		out[c] = make([]strataOutcome, len(s.Seeds))
	}
	err := each(len(s.Cases)*len(s.Seeds), par.Threads(), func(i int) (err error) {
		c, k := i/len(s.Seeds), i%len(s.Seeds)
		out[c][k], err = piece(ctx, f, fmt.Sprintf("%s, seed %d", s.Cases[c], s.Seeds[k]),
			func(ctx context.Context) (strataOutcome, error) { return s.fit(ctx, caseNamed(s.Cases[c]), s.Seeds[k]) })
		return err
	})
	return out, err
}

// fit trains on the items of a seed and judges the model on fresh ones.
func (s *Strata) fit(ctx context.Context, c *strataCase, seed uint64) (strataOutcome, error) {
	learn := c.drawSample(c.items, seed, "").dataset(c.classes)
	learn.Ordered = c.ordered
	res, err := train.Fit(ctx, learn, c.options(seed))
	if err != nil {
		return strataOutcome{}, err
	}
	m := res.Model
	out := strataOutcome{Calibration: *m.Calibration}
	for _, w := range m.Provenance.Warnings {
		out.Warnings = append(out.Warnings, fmt.Sprint(w))
	}
	fresh := c.drawSample(s.Fresh, freshSeed(seed), " fresh")
	items := fresh.dataset(c.classes)
	reported, err := m.Predict(ctx, items, model.PredictOptions{})
	if err != nil {
		return out, err
	}
	m.Calibration = nil
	raw, err := m.Predict(ctx, items, model.PredictOptions{})
	if err != nil {
		return out, err
	}
	out.Strata = c.judge(fresh, reported, raw)
	return out, nil
}

// judgedItem is an item and class with its intervals.
type judgedItem struct {
	x                        []float64
	class                    int
	mean, width, oracle      float64
	truth                    float64 // mean of the true distribution
	in75, in95, raw75, raw95 bool
}

// judge measures coverage by stratum.
func (c *strataCase) judge(fresh *strataSample, reported, raw []head.Decoded) []stratumCoverage {
	classes := 1 // with two, the intervals of the second mirror those of the first
	if c.classes > 2 {
		classes = c.classes
	}
	judged := make([]judgedItem, len(reported)*classes)
	par.For(len(reported), func(j int) {
		for i := range classes {
			one := fresh.items[j]
			x, y := one.p[i], 0.0 // 1 − x would have lost the digits of y
			for k, p := range one.p {
				if k != i {
					y += p
				}
			}
			q := &judged[j*classes+i]
			q.x, q.class, q.mean = one.x, i, reported[j].Mean[i]
			r := evaluate.NewCovered(reported[j].Reported(), i, x, y)
			q.in75, _ = r.At(0.75)
			in95, at := r.At(0.95)
			q.in95, q.width = in95, at.Hi-at.Lo
			r = evaluate.NewCovered(raw[j].Reported(), i, x, y)
			q.raw75, _ = r.At(0.75)
			q.raw95, _ = r.At(0.95)
			if one.dist != nil {
				truth := mixture.Reported{Dist: one.dist, Resolution: reported[j].Resolution}
				in := truth.Class(i).Interval(mixture.TwoSided, 0.95)
				q.oracle, q.truth = in.Hi-in.Lo, one.dist.Mean(nil)[i]
			}
		}
	})
	out := []stratumCoverage{coverageIn("all", judged, func(*judgedItem) bool { return true })}
	add := func(name string, in func(q *judgedItem) bool) { out = append(out, coverageIn(name, judged, in)) }
	add("mean .05 to .95", func(q *judgedItem) bool { return q.mean >= 0.05 && q.mean <= 0.95 })
	if fresh.items[0].dist != nil {
		add("true mean .3 to .7", func(q *judgedItem) bool { return q.truth >= 0.3 && q.truth <= 0.7 })
	}
	terciles := func(name string, value func(q *judgedItem) float64) {
		var list []float64
		for k := range judged {
			list = append(list, value(&judged[k]))
		}
		slices.Sort(list)
		lo, hi := list[len(list)/3], list[2*len(list)/3]
		add(name+", lowest third", func(q *judgedItem) bool { return value(q) < lo })
		add(name+", middle third", func(q *judgedItem) bool { return value(q) >= lo && value(q) < hi })
		add(name+", highest third", func(q *judgedItem) bool { return value(q) >= hi })
	}
	terciles("mean", func(q *judgedItem) float64 { return q.mean })
	terciles("width", func(q *judgedItem) float64 { return q.width })
	for k := range fresh.items[0].x {
		var list []float64
		for _, one := range fresh.items {
			list = append(list, one.x[k])
		}
		slices.Sort(list)
		median := list[len(list)/2]
		add(fmt.Sprintf("x%d low", k+1), func(q *judgedItem) bool { return q.x[k] < median })
		add(fmt.Sprintf("x%d high", k+1), func(q *judgedItem) bool { return q.x[k] >= median })
	}
	for i := range classes {
		if classes > 1 {
			add(fmt.Sprintf("class %d", i), func(q *judgedItem) bool { return q.class == i })
		}
	}
	return out
}

// coverageIn returns the coverage of the items of a stratum.
func coverageIn(name string, judged []judgedItem, in func(q *judgedItem) bool) stratumCoverage {
	s := stratumCoverage{Name: name}
	for k := range judged {
		q := &judged[k]
		if !in(q) {
			continue
		}
		s.Items++
		for _, v := range []struct {
			to *float64
			in bool
		}{{&s.At75, q.in75}, {&s.At95, q.in95}, {&s.Raw75, q.raw75}, {&s.Raw95, q.raw95}} {
			if v.in {
				*v.to++
			}
		}
		s.Width += q.width
		s.Oracle += q.oracle
	}
	n := float64(max(s.Items, 1))
	for _, v := range []*float64{&s.At75, &s.At95, &s.Raw75, &s.Raw95, &s.Width, &s.Oracle} {
		*v /= n
	}
	return s
}
