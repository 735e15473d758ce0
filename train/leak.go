package train

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"credence/dataset"
)

// leakCandidates is the largest number of columns that are left out in turn to find a leak.
const leakCandidates = 5

// leakAdvice names the column without which a fit shows no leak: the first of those most correlated with the votes.
// Images, texts and vectors are not candidates.
func (f *fitting) leakAdvice(ctx context.Context) string {
	if f.o.leakSearch || f.o.From != nil {
		return ""
	}
	for _, k := range f.leakCandidates() {
		name := f.ds.Features[k].Name
		f.report(Event{Note: fmt.Sprintf("looking for a leak: without column %q", name)})
		o := f.o
		o.leakSearch, o.NoReferences, o.Raters = true, true, "off"
		o.Checkpoint, o.Resume, o.Members, o.AfterEpoch, o.Progress, o.Widths = "", false, nil, nil, nil, nil
		res, err := Fit(ctx, withoutFeature(f.ds, k), o)
		if err != nil { // such as no feature left, or a cancellation: the advice is then a general one
			break
		}
		if c := res.Model.Calibration; c.Items > 0 && c.Network+leakGone*c.NetworkSE >= 0 {
			return fmt.Sprintf("without column %q they are not: exclude it unless it is known before anybody votes", name)
		}
	}
	return "exclude features that are computed from the votes or known only after them"
}

// leakGone is the number of standard errors within which a negative ratio counts as no leak.
const leakGone = 1.65

// leakCandidates returns the features of one value with the largest correlation between its value, or being its most
// frequent level, and the share of votes for a class.
func (f *fitting) leakCandidates() []int {
	width, d := f.ds.Rows.Width(), len(f.ds.Classes)
	type sums struct{ n, x, xx, y, yy, xy float64 }
	all := make([][]sums, width)
	for i := range all {
		all[i] = make([]sums, d)
	}
	row := make([]float32, width)
	for _, j := range f.voted {
		if f.ds.Rows.ReadRow(j, row) != nil {
			return nil
		}
		counts, m := f.ds.CountsOf(j), f.ds.VotesOf(j)
		for i, v := range row {
			if v-v != 0 {
				continue
			}
			for c := range d {
				s, x, y := &all[i][c], float64(v), float64(counts[c])/m
				s.n++
				s.x, s.xx, s.y, s.yy, s.xy = s.x+x, s.xx+x*x, s.y+y, s.yy+y*y, s.xy+x*y
			}
		}
	}
	strength := make([]float64, len(f.ds.Features))
	var list []int
	at := 0
	for k, p := range f.ds.Features {
		if (p.Kind == dataset.Numeric || p.Kind == dataset.Categorical) && p.Width() == 1 {
			list = append(list, k)
			for _, s := range all[at] {
				if v := (s.xx - s.x*s.x/s.n) * (s.yy - s.y*s.y/s.n); v > 0 {
					strength[k] = max(strength[k], math.Abs(s.xy-s.x*s.y/s.n)/math.Sqrt(v))
				}
			}
		}
		at += p.Width()
	}
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(strength[b], strength[a]) })
	return list[:min(len(list), leakCandidates)]
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
