package evaluate

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"credence/dataset"
	"credence/mixture"
)

// DispersionStratum is the dispersion within a stratum of the items: a third of them by predicted
// mean or by predicted spread, or those on one side of the median of a numeric feature. The error over
// groups is found by linearization instead of the bootstrap.
type DispersionStratum struct {
	// Column is [PredictedMean], [PredictedSpread] or the name of a feature; an element of a vector has
	// its index in brackets.
	Column     string `json:"column"`
	Dispersion        // its Name is that of the part of the column, such as "lowest third"
	// From and To are the smallest and the largest value of the column in the stratum.
	From Number `json:"from"`
	To   Number `json:"to"`
	// Adjusted is the p-value for a ratio of one with Holm's correction for the number of strata. It
	// is unknown if votes are too few: fewer than 30 items or groups with two votes, or a standard
	// error of the ratio above 0.5.
	Adjusted Number `json:"adjusted"`
}

// The columns of strata that are not features.
const (
	// PredictedMean is the predicted mean of the first of two classes, or the largest of more.
	PredictedMean = "predicted mean"
	// PredictedSpread is Σ_i Var p_i.
	PredictedSpread = "predicted spread"
)

const (
	minStratumUnits = 30  // items, or groups if items come in groups
	maxStratumSE    = 0.5 // of the ratio, if distributions are right
	// maxStratumFeatures is the number of numeric features that are examined, the first ones.
	maxStratumFeatures = 50
)

var (
	thirds = []string{"lowest third", "middle third", "highest third"}
	// halves are the sides of the median. Items with the same value are on the same side.
	halves = []string{"below its median", "above its median"}
)

// TooFew reports whether the votes are too few to judge the stratum.
func (x *DispersionStratum) TooFew() bool { return !x.Adjusted.Known() }

// Off reports whether the ratio differs from one by more than chance, at a level of 5% for all strata together.
func (x *DispersionStratum) Off() bool { return x.Adjusted < 0.05 }

// margin returns how far the ratio is from one at least, by its interval and on the log scale; it is negative if
// the interval contains one.
func (x *DispersionStratum) margin() float64 {
	return max(math.Log(float64(x.Ratio.Lo)), -math.Log(float64(x.Ratio.Hi)))
}

// String returns the name of the stratum with the range of its values.
func (x *DispersionStratum) String() string {
	return fmt.Sprintf("%s, %s (%s)", x.Column, x.Name, rangeText(float64(x.From), float64(x.To)))
}

// Describe returns a sentence on the ratio.
func (x *DispersionStratum) Describe() string {
	return fmt.Sprintf("In the stratum %s, the observed spread is %.2f (95%% CI %.2f to %.2f) of the predicted spread.",
		x, x.Ratio.Inside(), x.Ratio.Lo, x.Ratio.Hi)
}

// WorstStrata returns the strata that have enough votes, the worst first: those that are off before the
// others, each in order of the distance from one that their intervals leave.
func (r *Result) WorstStrata() []DispersionStratum {
	var off, others []DispersionStratum
	for _, x := range r.DispersionStrata {
		switch {
		case x.Off():
			off = append(off, x)
		case !x.TooFew():
			others = append(others, x)
		}
	}
	for _, list := range [][]DispersionStratum{off, others} {
		slices.SortStableFunc(list, func(a, b DispersionStratum) int { return cmp.Compare(b.margin(), a.margin()) })
	}
	return append(off, others...)
}

// StrataNote returns sentences on the correction of the p-values and on what is not examined.
func (r *Result) StrataNote() string {
	judged := len(r.WorstStrata())
	if judged == 0 {
		return "No stratum has enough votes."
	}
	text := fmt.Sprintf("P-values are corrected for the number of strata, %d (Holm).", judged)
	if few := len(r.DispersionStrata) - judged; few > 0 {
		text = fmt.Sprintf("P-values are corrected for the number of strata, %d (Holm); %d more have too few votes.", judged, few)
	}
	if r.StrataLeftOut > 0 {
		text += fmt.Sprintf(" Only the first %d numeric features are examined, %d are not.", maxStratumFeatures, r.StrataLeftOut)
	}
	return text
}

// strata sets the dispersion by stratum; all is that of all items with two votes or more.
func (p *pairDists) strata(r *Result, all *mixture.Dispersion, paired []int) error {
	means := make([]float64, p.s.n)
	for j := range means {
		if means[j] = p.s.means(j)[0]; p.s.d > 2 {
			means[j] = slices.Max(p.s.means(j))
		}
	}
	p.split(r, all, paired, PredictedMean, means, thirds)
	p.split(r, all, paired, PredictedSpread, p.s.spreads(), thirds)
	names, features, left, err := p.s.numericFeatures()
	if err != nil {
		return err
	}
	r.StrataLeftOut = left
	values := make([]float64, p.s.n)
	for k, name := range names {
		for j := range values {
			values[j] = float64(features[j*len(names)+k])
		}
		known := slices.DeleteFunc(slices.Clone(paired), func(j int) bool { return math.IsNaN(values[j]) })
		p.split(r, all, known, name, values, halves)
	}
	ps := make([]float64, len(r.DispersionStrata))
	for i, x := range r.DispersionStrata {
		ps[i] = float64(x.Adjusted)
	}
	for i, adjusted := range holm(ps) {
		r.DispersionStrata[i].Adjusted = Number(adjusted)
	}
	return nil
}

// split adds the strata of a column with parts of about equal size, named parts. Their p-values are not
// yet adjusted. A column with a single value is not divided, and one with few values into fewer parts.
func (p *pairDists) split(r *Result, all *mixture.Dispersion, items []int, column string, values []float64, parts []string) {
	of := make([]float64, len(items))
	for i, j := range items {
		of[i] = values[j]
	}
	part, n := equalMass(of, slices.Repeat([]float64{1}, len(items)), len(parts))
	if n < len(parts) {
		parts = halves
	}
	for b := 0; n > 1 && b < n; b++ {
		var in []int
		x := DispersionStratum{Column: column, Dispersion: Dispersion{Name: parts[b]}, From: Number(math.Inf(1)), To: Number(math.Inf(-1))}
		for i, j := range items {
			if part[i] == b {
				in = append(in, j)
				x.From, x.To = min(x.From, Number(of[i])), max(x.To, Number(of[i]))
			}
		}
		units := p.stratum(&x.Dispersion, all, in)
		if x.Adjusted = x.PValue; units < minStratumUnits || !(x.Ratio.SE <= maxStratumSE) {
			x.Adjusted = unknown
		}
		r.DispersionStrata = append(r.DispersionStrata, x)
	}
}

// stratum sets x to the dispersion over items, and returns the number of units that they come from. How the
// error of the ratio depends on the ratio is taken from all items, since there may be many strata.
// The error over groups is that of a ratio by linearization, with D and V summed over each group g:
//
//	se² = n/(n−1) Σ_g (D_g − R V_g)² / (ΣV)².
func (p *pairDists) stratum(x *Dispersion, all *mixture.Dispersion, items []int) (units int) {
	model := p.like(all, items)
	_, variance, _ := p.sums(items)
	x.Items, x.Variance = len(items), Number(variance/float64(len(items)))
	x.Observed = x.Variance * Number(model.Ratio)
	residual, present := make([]float64, p.s.units), make([]bool, p.s.units)
	for _, j := range items {
		u := p.s.unit[j]
		residual[u] += p.trace*p.shown[j] - model.Ratio*p.variance(j)
		if !present[u] {
			present[u] = true
			units++
		}
	}
	se := math.NaN()
	if units < len(items) && units > 1 {
		squares := 0.0
		for _, e := range residual {
			squares += e * e
		}
		se = math.Sqrt(squares*float64(units)/float64(units-1)) / variance
	}
	x.infer(model, se)
	return units
}

// numericFeatures returns the names and the values, [N × names], of the first numeric features, elements of
// vectors included, and the number of the others. It returns none if items have images or volumes, which
// take long to read.
func (s *sample) numericFeatures() (names []string, values []float32, left int, err error) {
	var at []int // positions in a row
	width := 0
	for _, f := range s.Features {
		if len(f.Shape) > 1 {
			return nil, nil, 0, nil
		}
		for i := range f.Width() {
			switch {
			case f.Kind != dataset.Numeric && f.Kind != dataset.Tensor:
			case len(at) == maxStratumFeatures:
				left++
			case f.Width() > 1:
				names, at = append(names, fmt.Sprintf("%s[%d]", f.Name, i)), append(at, width+i)
			default:
				names, at = append(names, f.Name), append(at, width+i)
			}
		}
		width += f.Width()
	}
	if at == nil || s.Rows == nil {
		return nil, nil, 0, nil
	}
	if n, w := s.Rows.Len(), s.Rows.Width(); n != s.n || w != width {
		return nil, nil, 0, fmt.Errorf("expected %d features of %d items, found %d of %d", width, s.n, w, n)
	}
	values = make([]float32, s.n*len(at))
	err = tryItems(s.ctx, s.n, func(j int) error {
		row := make([]float32, width)
		if err := s.Rows.ReadRow(j, row); err != nil {
			return err
		}
		for k, i := range at {
			values[j*len(at)+k] = row[i]
		}
		return nil
	})
	return names, values, left, err
}
