package evaluate

import (
	"math"
	"slices"
	"strconv"

	"credence/dataset"
)

// EffectCurve is how predictions depend on one feature: each point sets the feature to a value for all of a
// sample of items and leaves their other features as they are.
type EffectCurve struct {
	// Values are the values of a numeric feature, Levels those of a categorical one; the other is nil.
	Values []Number `json:"values,omitempty"`
	Levels []string `json:"levels,omitempty"`
	Items  int      `json:"items"` // in the sample
	// Mean, [points][classes], is the mean over the items: the partial dependence. Spread, [points], is the
	// log concentration of all items together, ln(ΣΣμ(1−μ)/ΣΣVar − 1).
	Mean   [][]Number `json:"mean"`
	Spread []Number   `json:"spread"`
	// ItemMean and ItemSpread, [items][points], are the curves of a few single items: the mean of the last class,
	// and the log concentration (individual conditional expectations).
	ItemMean   [][]Number `json:"item_mean"`
	ItemSpread [][]Number `json:"item_spread"`
}

const (
	effectPoints = 21  // at most, of a numeric feature
	effectLevels = 20  // at most, of a categorical feature: the most frequent
	effectItems  = 500 // at most, in the sample
	effectSingle = 20  // curves of single items
)

// curve returns the effect curve of a feature, nil if it has none: a text, an array, or a single value.
func (p *permuter) curve(f span) (*EffectCurve, error) {
	if f.to-f.from != 1 || f.Kind != dataset.Numeric && f.Kind != dataset.Categorical {
		return nil, nil
	}
	s := p.s
	values, row := make([]float64, s.n), make([]float32, s.Rows.Width())
	for j := range values {
		if err := s.Rows.ReadRow(j, row); err != nil {
			return nil, err
		}
		values[j] = float64(row[f.from])
	}
	e := &EffectCurve{}
	var grid []float64
	if f.Kind == dataset.Categorical {
		grid = commonLevels(values, len(f.Levels))
		for _, v := range grid {
			e.Levels = append(e.Levels, f.Levels[int(v)])
		}
	} else {
		grid = quantileGrid(values)
		for _, v := range grid {
			e.Values = append(e.Values, Number(v))
		}
	}
	if len(grid) < 2 {
		return nil, nil
	}
	items := evenly(s.n, effectItems)
	single := evenly(len(items), effectSingle)
	e.Items = len(items)
	e.ItemMean, e.ItemSpread = make([][]Number, len(single)), make([][]Number, len(single))
	for _, v := range grid {
		predictions, err := p.predict(s.ctx, items, &setRows{s.Rows, items, f.from, float32(v)})
		if err != nil {
			return nil, err
		}
		mean, bernoulli, variance := make([]Number, s.d), 0.0, 0.0
		for j := range predictions {
			a := &predictions[j]
			if a.Err != nil {
				return nil, a.Err
			}
			for i, m := range a.Mean {
				mean[i] += Number(m / float64(len(items)))
				bernoulli += m * (1 - m)
			}
			variance += sum(a.Variance)
		}
		e.Mean = append(e.Mean, mean)
		e.Spread = append(e.Spread, Number(boundedLogConcentration(bernoulli, variance)))
		for k, j := range single {
			a := &predictions[j]
			e.ItemMean[k] = append(e.ItemMean[k], Number(a.Mean[s.d-1]))
			e.ItemSpread[k] = append(e.ItemSpread[k], Number(logConcentration(a)))
		}
	}
	return e, nil
}

// Point returns the label of point i.
func (e *EffectCurve) Point(i int) string {
	if e.Levels != nil {
		return e.Levels[i]
	}
	return strconv.FormatFloat(float64(e.Values[i]), 'g', 4, 64)
}

// quantileGrid returns distinct quantiles of the known values, from 2% to 98%.
func quantileGrid(values []float64) []float64 {
	known := slices.DeleteFunc(slices.Clone(values), func(v float64) bool { return math.IsNaN(v) })
	if len(known) == 0 {
		return nil
	}
	slices.Sort(known)
	if levels := slices.Compact(slices.Clone(known)); len(levels) <= effectPoints {
		return levels
	}
	var grid []float64
	for k := range effectPoints {
		grid = append(grid, sortedQuantile(known, 0.02+0.96*float64(k)/(effectPoints-1)))
	}
	return slices.Compact(grid)
}

// commonLevels returns the most frequent of n levels that values have, in order of their numbers.
func commonLevels(values []float64, n int) []float64 {
	count := make([]int, n)
	for _, v := range values {
		if v >= 0 && int(v) < n { // neither missing nor unknown
			count[int(v)]++
		}
	}
	var grid []float64
	for k := range count {
		if count[k] > 0 {
			grid = append(grid, float64(k))
		}
	}
	slices.SortStableFunc(grid, func(a, b float64) int { return count[int(b)] - count[int(a)] })
	grid = grid[:min(len(grid), effectLevels)]
	slices.Sort(grid)
	return grid
}

// evenly returns at most most of n indexes, at equal distances.
func evenly(n, most int) []int {
	k := min(n, most)
	list := make([]int, k)
	for i := range list {
		list[i] = i * n / k
	}
	return list
}

// setRows are the rows of some items with one raw value set.
type setRows struct {
	dataset.Rows
	items []int
	at    int
	value float32
}

// Len implements [dataset.Rows].
func (r *setRows) Len() int { return len(r.items) }

// ReadRow implements [dataset.Rows].
func (r *setRows) ReadRow(i int, dst []float32) error {
	err := r.Rows.ReadRow(r.items[i], dst)
	dst[r.at] = r.value
	return err
}
