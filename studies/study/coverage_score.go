package study

import (
	"math"

	"credence/calibrate"
	"credence/evaluate"
	"credence/head"
	"credence/internal/par"
	"credence/mixture"
	"credence/train"
)

// Names of what is compared.
const (
	defaults = "defaults" // five networks
	single   = "one network"
)

// chosen is the entry that the bars apply to: the defaults.
const chosen = defaults

// paperLevels are the levels that the paper reports.
var paperLevels = []float64{0.75, 0.8, 0.85, 0.9, 0.95}

// curveLevels are those of the curves: 50 to 99%.
var curveLevels = func() (levels []float64) {
	for i := 50; i < 100; i++ {
		levels = append(levels, float64(i)/100)
	}
	return levels
}()

// cellResult has the results of one repetition.
type cellResult struct {
	Cell            cell
	Images          int           // evaluated
	Options         train.Options // of the student, complete
	TeacherAccuracy float64       // on the test images
	Uncertain       float64       // share of test images with a largest probability below 0.99
	Best            []int         // epoch that each member was stopped at
	HeldOut         float64       // nats per vote, of the images that a member held out
	Constant        float64       // the same of one Dirichlet for all images
	Members         []network     // each by itself, without strata
	Networks        []network     // all members together, and one network: the mean of the members
	Epochs          []epochResult
}

// network has the results of one network, or of an ensemble, on the test images.
type network struct {
	Name     string
	Accuracy float64 // by the digit
	Classes  []classResult
}

// classResult has the results for the intervals of one class, raw (off) and as
// reported (reported).
type classResult struct {
	Class             int
	Scale, Resolution float64 // of what is reported
	Raw, Reported     coverageOf
}

// coverageOf is the coverage of one class's intervals.
type coverageOf struct {
	Coverage []float64 // [curveLevels]
	Width    []float64 // mean, [paperLevels]
	AtLeast  []float64 // share that lies within the resolution, [paperLevels]
	Strata   []stratum
}

// stratum is the coverage among some images.
type stratum struct {
	Name     string
	Images   int
	Coverage []float64 // [paperLevels]
	Width    []float64 // mean, [paperLevels]
}

// epochResult is the coverage after some epochs, at paperLevels.
type epochResult struct {
	Network       string
	Epoch         int
	HeldOut       float64
	Raw, Reported []float64
}

// covered is, for each image, whether its interval contains the truth, at each
// level, and whether the interval lies within the resolution.
type covered struct{ inside, atLeast [][]bool }

// cover checks the intervals of a class against the truth.
func cover(p []*mixture.Dirichlet, truth []float64, class int, levels []float64, how *calibrate.Calibration) covered {
	c := covered{make([][]bool, len(p)), make([][]bool, len(p))}
	d := len(truth) / len(p)
	par.For(len(p), func(j int) {
		rest := 0.0
		for i, v := range truth[j*d : (j+1)*d] {
			if i != class {
				rest += v
			}
		}
		a := head.NewDecoded(p[j])
		how.Apply(&a, calibrate.Item{Level: -1})
		m := evaluate.NewCovered(a.Reported(), class, truth[j*d+class], rest)
		inside, atLeast := make([]bool, len(levels)), make([]bool, len(levels))
		for l, level := range levels {
			var in mixture.ReportedInterval
			inside[l], in = m.At(level)
			atLeast[l] = in.AtLeast
		}
		c.inside[j], c.atLeast[j] = inside, atLeast
	})
	return c
}

// shares returns the coverage at each level.
func shares(c covered) []float64 { return share(c.inside, nil) }

// share returns, for each column, the share of the rows in which it is true, among the
// rows that among selects if it is not nil.
func share(rows [][]bool, among func(j int) bool) []float64 {
	var s []float64
	n := 0
	for j, row := range rows {
		if among != nil && !among(j) {
			continue
		}
		if s == nil {
			s = make([]float64, len(row))
		}
		n++
		for l, in := range row {
			if in {
				s[l]++
			}
		}
	}
	for l := range s {
		s[l] /= float64(n)
	}
	return s
}

// score computes all measures of the intervals of a class.
func score(p []*mixture.Dirichlet, truth []float64, class int, how *calibrate.Calibration) classResult {
	return classResult{
		Class: class, Scale: how.Scale, Resolution: how.Resolution,
		Raw: scoreAs(p, truth, class, nil), Reported: scoreAs(p, truth, class, how),
	}
}

func scoreAs(p []*mixture.Dirichlet, truth []float64, class int, how *calibrate.Calibration) coverageOf {
	r := coverageOf{Coverage: shares(cover(p, truth, class, curveLevels, how))}
	widths := make([][]float64, len(p)) // [N][paperLevels]
	means := make([]float64, len(p))
	par.For(len(p), func(j int) {
		a := head.NewDecoded(p[j])
		how.Apply(&a, calibrate.Item{Level: -1})
		m := a.Reported().Class(class)
		means[j] = m.Dist.Mean()
		for _, level := range paperLevels {
			in := m.Interval(mixture.TwoSided, level)
			widths[j] = append(widths[j], in.Length())
		}
	})
	c := cover(p, truth, class, paperLevels, how)
	r.AtLeast = share(c.atLeast, nil)
	d := len(truth) / len(p)
	narrow, wide := thirds(widths)
	for _, s := range []struct {
		name string
		in   func(j int) bool
	}{
		{"", func(int) bool { return true }},
		{"mean below 0.05", func(j int) bool { return means[j] < 0.05 }},
		{"mean 0.05 to 0.2", func(j int) bool { return means[j] >= 0.05 && means[j] < 0.2 }},
		{"mean 0.2 to 0.8", func(j int) bool { return means[j] >= 0.2 && means[j] < 0.8 }},
		{"mean 0.8 to 0.95", func(j int) bool { return means[j] >= 0.8 && means[j] < 0.95 }},
		{"mean from 0.95", func(j int) bool { return means[j] >= 0.95 }},
		{"narrowest third", func(j int) bool { return width95(widths[j]) < narrow }},
		{"middle third", func(j int) bool { return width95(widths[j]) >= narrow && width95(widths[j]) < wide }},
		{"widest third", func(j int) bool { return width95(widths[j]) >= wide }},
		{uncertainName, func(j int) bool { return largest(truth[j*d:(j+1)*d]) < certain }},
	} {
		t := stratum{Name: s.name, Coverage: share(c.inside, s.in), Width: make([]float64, len(paperLevels))}
		for j, w := range widths {
			if s.in(j) {
				t.Images++
				for l := range w {
					t.Width[l] += w[l]
				}
			}
		}
		if t.Images == 0 {
			continue
		}
		for l := range t.Width {
			t.Width[l] /= float64(t.Images)
		}
		if s.name == "" {
			r.Width = t.Width
			continue
		}
		r.Strata = append(r.Strata, t)
	}
	return r
}

// Images with a largest true probability below certain are set apart as a
// description: that conditions on what is to be covered.
const (
	certain       = 0.99
	uncertainName = "largest true probability below 0.99"
)

func largest(p []float64) float64 {
	top := 0.0
	for _, v := range p {
		top = max(top, v)
	}
	return top
}

// uncertain is the share of rows of truth [N × d] with a largest probability
// below certain.
func uncertain(truth []float64, d int) float64 {
	n := 0
	for lo := 0; lo < len(truth); lo += d {
		if largest(truth[lo:lo+d]) < certain {
			n++
		}
	}
	return float64(n) / float64(len(truth)/d)
}

func width95(w []float64) float64 { return w[len(w)-1] }

// thirds are the widths at the last level that divide images into thirds.
func thirds(widths [][]float64) (narrow, wide float64) {
	var all []float64
	for _, w := range widths {
		all = append(all, width95(w))
	}
	return quantile(all, 1./3), quantile(all, 2./3)
}

// meansOf are the mean probabilities [N × d].
func meansOf(p []*mixture.Dirichlet) (means []float64) {
	for _, m := range p {
		means = m.Mean(means)
	}
	return means
}

// itemSE is the standard error of a share of n images, all drawn alike.
func itemSE(share float64, n int) float64 { return math.Sqrt(share * (1 - share) / float64(n)) }
