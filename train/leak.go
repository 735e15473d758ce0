package train

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"credence/dataset"
)

const (
	// leakCandidates is the largest number of columns that are left out in turn to find a leak.
	leakCandidates = 5
	// leakItems is the largest number of items that these fits use.
	leakItems = 4000
)

// leakAdvice names the column without which a fit shows no leak: the first of those most correlated with the votes.
// Images, texts and vectors are not candidates.
func (f *fitting) leakAdvice(ctx context.Context) string {
	if f.o.leakSearch || f.o.From != nil {
		return ""
	}
	some := f.ds
	if len(f.voted) > leakItems {
		every := (len(f.voted) + leakItems - 1) / leakItems
		var items []int
		for k := 0; k < len(f.voted); k += every {
			items = append(items, f.voted[k])
		}
		some = f.ds.Select(items)
	}
	for _, k := range f.leakCandidates() {
		name := f.ds.Features[k].Name
		f.report(Event{Note: fmt.Sprintf("looking for a leak: without column %q", name)})
		o := f.o
		o.leakSearch, o.NoReferences, o.Raters = true, true, "off"
		o.Checkpoint, o.Resume, o.Members, o.AfterEpoch, o.Progress, o.Widths = "", false, nil, nil, nil, nil
		res, err := Fit(ctx, withoutFeature(some, k), o)
		if ctx.Err() != nil {
			break
		}
		if err != nil { // such as no feature left: other columns may do
			continue
		}
		if c := res.Model.Calibration; c.Items > 0 && c.Network+leakGone*c.NetworkSE >= 0 {
			return fmt.Sprintf("without column %q they are not: exclude it unless it is known before anybody votes", name)
		}
	}
	return "exclude features that are computed from the votes or known only after them"
}

// leakGone is the number of standard errors within which a negative ratio counts as no leak.
const leakGone = 1.65

// leakCandidates returns the features of one value with the largest correlation between it and the share of votes for a
// class; of a category, the correlation ratio.
func (f *fitting) leakCandidates() []int {
	width, d := f.ds.Rows.Width(), len(f.ds.Classes)
	offsets := make([]int, len(f.ds.Features))
	columns := make([]correlation, len(f.ds.Features))
	var list []int
	at := 0
	for k, p := range f.ds.Features {
		offsets[k] = at
		at += p.Width()
		if (p.Kind == dataset.Numeric || p.Kind == dataset.Categorical) && p.Width() == 1 {
			list = append(list, k)
			columns[k] = newCorrelation(d, p.Kind == dataset.Categorical)
		}
	}
	row := make([]float32, width)
	for _, j := range f.voted {
		if f.ds.Rows.ReadRow(j, row) != nil {
			return nil
		}
		for _, k := range list {
			columns[k].add(float64(row[offsets[k]]), f.ds.CountsOf(j), f.ds.VotesOf(j))
		}
	}
	strength := make([]float64, len(f.ds.Features))
	for _, k := range list {
		strength[k] = columns[k].strength()
	}
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(strength[b], strength[a]) })
	return list[:min(len(list), leakCandidates)]
}

// correlation computes the correlation of a column with the share of votes for each class, or the correlation ratio of a
// categorical column, which is that with the mean share of its level.
type correlation struct {
	classes []moments
	levels  map[float64][]moments // by code; nil if the column is numeric
}

// moments are sums over items of a column x and a share y.
type moments struct{ n, x, xx, y, yy, xy float64 }

func newCorrelation(d int, categorical bool) correlation {
	c := correlation{classes: make([]moments, d)}
	if categorical {
		c.levels = map[float64][]moments{}
	}
	return c
}

// add adds an item with the given votes; missing values are skipped.
func (c *correlation) add(x float64, counts []float32, votes float64) {
	if x-x != 0 {
		return
	}
	if c.levels != nil && c.levels[x] == nil {
		c.levels[x] = make([]moments, len(c.classes))
	}
	for i, n := range counts {
		y := float64(n) / votes
		s := &c.classes[i]
		s.n, s.x, s.xx, s.y, s.yy, s.xy = s.n+1, s.x+x, s.xx+x*x, s.y+y, s.yy+y*y, s.xy+x*y
		if c.levels != nil {
			l := &c.levels[x][i]
			l.n, l.y = l.n+1, l.y+y
		}
	}
}

// strength returns the largest correlation with a class.
func (c *correlation) strength() float64 {
	best := 0.0
	for i, s := range c.classes {
		yy := s.yy - s.y*s.y/s.n
		explained := 0.0
		if c.levels == nil {
			if xx := s.xx - s.x*s.x/s.n; xx > 0 {
				xy := s.xy - s.x*s.y/s.n
				explained = xy * xy / xx
			}
		} else {
			for _, code := range slices.Sorted(maps.Keys(c.levels)) {
				l := c.levels[code][i]
				e := l.y/l.n - s.y/s.n
				explained += l.n * e * e
			}
			explained -= float64(len(c.levels)-1) * (yy - explained) / max(s.n-float64(len(c.levels)), 1) // by chance
		}
		if yy > 0 {
			best = max(best, math.Sqrt(max(explained, 0)/yy))
		}
	}
	return best
}

// withoutFeature returns ds without a feature.
func withoutFeature(ds *dataset.Dataset, k int) *dataset.Dataset {
	c := *ds
	c.Features = slices.Delete(slices.Clone(ds.Features), k, k+1)
	at := 0
	for _, p := range ds.Features[:k] {
		at += p.Width()
	}
	c.Rows = &fewerColumns{ds.Rows, at, at + ds.Features[k].Width()}
	return &c
}

// fewerColumns are rows without the columns from … to−1.
type fewerColumns struct {
	dataset.Rows
	from, to int
}

func (r *fewerColumns) Width() int { return r.Rows.Width() - (r.to - r.from) }

func (r *fewerColumns) ReadRow(i int, dst []float32) error {
	row := make([]float32, r.Rows.Width())
	if err := r.Rows.ReadRow(i, row); err != nil {
		return err
	}
	copy(dst[copy(dst, row[:r.from]):], row[r.to:])
	return nil
}
