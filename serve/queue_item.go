package serve

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/png"
	"math"
	"slices"

	"credence/dataset"
	"credence/internal/special"
	"credence/predict"
)

// itemView is the response about one item.
type itemView struct {
	Item     string       `json:"item"`
	Rank     int          `json:"rank,omitempty" doc:"rank among all items by the value of a vote, from 1"`
	Gain     float64      `json:"gain" doc:"expected reduction in variance by one more vote, as in credence next"`
	Features []itemValue  `json:"features"`
	Groups   []groupValue `json:"groups,omitempty" doc:"columns to filter by"`
	Error    string       `json:"error,omitempty" doc:"why there is no prediction"`
	Now      *itemDist    `json:"now,omitempty" doc:"the distribution given the votes that the rater may see"`
	Before   *itemDist    `json:"before,omitempty" doc:"the distribution without the rater's own vote, after she has cast it"`
	Votes    *itemVotes   `json:"votes,omitempty" doc:"votes so far, unless they are hidden"`
	Hidden   bool         `json:"hidden" doc:"others have voted; their votes are hidden until the rater has voted"`
	Own      *ownVote     `json:"own,omitempty" doc:"vote of the rater"`
}

// itemValue is a feature in readable form.
type itemValue struct {
	Name    string   `json:"name"`
	Kind    string   `json:"kind" enum:"numeric,categorical,text,vector,image,volume"`
	Value   *float64 `json:"value,omitempty" doc:"a number"`
	Text    string   `json:"text,omitempty" doc:"a category or a document"`
	Feature int      `json:"part" doc:"index of the feature, for item-image"`
	Shape   []int    `json:"shape,omitempty" doc:"for arrays: channels, then depth, height and width, as applicable"`
}

// groupValue is the value of an item in a column to filter by.
type groupValue struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// itemDist is a distribution as the page draws it.
type itemDist struct {
	Level     float64     `json:"level"`
	Predicted string      `json:"predicted"`
	Gain      float64     `json:"gain"`
	Variance  float64     `json:"variance"`
	Classes   []itemClass `json:"classes"`
	Of        string      `json:"of" doc:"class of the density"`
	Density   []float64   `json:"density" doc:"mean density in bins of equal width from 0 to 1"`
}

// itemClass is the summary of the probability of a class.
type itemClass struct {
	Class   string  `json:"class"`
	Mean    float64 `json:"mean"`
	SD      float64 `json:"sd"`
	Median  float64 `json:"median"`
	Lower   float64 `json:"lower"`
	Upper   float64 `json:"upper"`
	Top     float64 `json:"p_top" doc:"probability that the class is the top class"`
	AtLeast bool    `json:"at_least" doc:"the interval contains more than the level, since the resolution extends it to 0 or 1"`
}

// itemVotes are the votes on an item.
type itemVotes struct {
	Counts     []float64 `json:"counts" doc:"by class, in the order of the model's classes"`
	CannotTell int       `json:"cannot_tell" doc:"number of undecided raters"`
}

type ownVote struct {
	Label      string `json:"label"`
	CannotTell bool   `json:"cannot_tell,omitempty"`
	Earlier    bool   `json:"earlier,omitempty" doc:"the vote is in a file of earlier votes, and can be replaced but not withdrawn here"`
}

// densityPieces is the number of pieces of a density.
const densityPieces = 160

// distOf returns the distribution of a prediction, with the density of a class.
func (p *rankedItems) distOf(ctx context.Context, a *predict.Prediction, level float64, class int) (*itemDist, error) {
	r, err := summaryOf(ctx, a, level)
	if err != nil {
		return nil, err
	}
	names := p.of.model.Classes
	l := &itemDist{Level: level, Predicted: names[r.Predicted], Of: names[class], Gain: r.NextGain, Variance: special.Sum(a.Variance)}
	for i, c := range r.Classes {
		in := c.Intervals[0].TwoSided
		l.Classes = append(l.Classes, itemClass{names[i], c.Mean, c.SD, c.Median, in.Lo, in.Hi, c.Top, in.AtLeast})
	}
	dist := a.ReportedDist().Marginal(class)
	before := 0.0
	for k := range densityPieces {
		at := dist.CDF(float64(k+1) / densityPieces)
		l.Density = append(l.Density, rounded(densityPieces*max(0, at-before), 1e4))
		before = at
	}
	return l, nil
}

// rounded rounds x to a multiple of 1/unit, which keeps the JSON for figures short.
func rounded(x, unit float64) float64 { return math.Round(x*unit) / unit }

// focus returns the class to show: the named one; if name is "", the second of two classes, otherwise the
// predicted class.
func (p *rankedItems) focus(name string, predicted int) (int, error) {
	switch {
	case name != "":
		return p.class(name)
	case len(p.of.model.Classes) == 2:
		return 1, nil
	}
	return predicted, nil
}

// see returns what a rater may see of an item. Without a rater everything is visible.
func (p *rankedItems) see(ctx context.Context, in *itemInput) (*itemView, error) {
	i, level, err := p.findAt(in.ID, in.Level)
	if err != nil {
		return nil, err
	}
	rater := in.Rater
	v := &itemView{Item: p.ids[i], Rank: p.rank[i] + 1, Error: p.bad[i]}
	ds, err := p.rows.dataset(i, p.ids[i])
	if err != nil {
		return nil, err
	}
	v.Features = featuresOf(ds)
	for _, f := range p.facets {
		if c := f.Codes[i]; c >= 0 && !slices.ContainsFunc(v.Features, func(x itemValue) bool { return x.Name == f.Name }) {
			v.Groups = append(v.Groups, groupValue{f.Name, f.Levels[c]})
		}
	}
	own, voted := p.ballots.own(i, rater)
	v.Hidden = p.hides(i, rater)
	if !v.Hidden {
		v.Votes = p.ballots.count(i)
	}
	if voted {
		_, here := p.ballots.cast(i, rater)
		v.Own = &ownVote{CannotTell: own.class < 0, Earlier: !here}
		if own.class >= 0 {
			v.Own.Label = p.of.model.Classes[own.class]
		}
	}
	if p.now[i] == nil {
		return v, nil
	}
	v.Gain = p.now[i].gain
	a, now, at, err := p.predictFor(ctx, i, rater, in.Class)
	if err != nil {
		return nil, err
	}
	if v.Now, err = p.distOf(ctx, &now, level, at); err == nil && voted && own.class >= 0 {
		if a, err = after(p.of.model, a, p.ballots.of(i, p.ids[i], rater)); err == nil {
			v.Before, err = p.distOf(ctx, &a, level, at)
		}
	}
	return v, err
}

// hides reports whether the votes on item i are hidden from a rater: others have voted, the rater has not.
func (p *rankedItems) hides(i int, rater string) bool {
	if rater == "" {
		return false
	}
	_, voted := p.ballots.own(i, rater)
	return !voted && p.ballots.of(i, "", rater) != nil
}

// seen returns the numbers of item i that a rater may see.
func (p *rankedItems) seen(i int, rater string) *numbers {
	if p.hides(i, rater) {
		return p.prior[i]
	}
	return p.now[i]
}

// focused returns the numbers of item i that a rater may see, and the class to show.
func (p *rankedItems) focused(i int, rater, class string) (*numbers, int) {
	n := p.seen(i, rater)
	c, _ := p.focus(class, n.predicted)
	return n, c
}

// predictFor returns the prediction for item i without votes, the one given the votes that a rater may see, and the
// class to show.
func (p *rankedItems) predictFor(ctx context.Context, i int, rater, class string) (before, now predict.Prediction, at int, err error) {
	if before, err = p.predict(ctx, i); err != nil {
		return before, now, 0, err
	}
	if now = before; !p.hides(i, rater) {
		if now, err = after(p.of.model, before, p.ballots.of(i, p.ids[i], "")); err != nil {
			return before, now, 0, err
		}
	}
	at, err = p.focus(class, p.seen(i, rater).predicted)
	return before, now, at, err
}

// count returns the number of votes on item i per class.
func (b *ballots) count(i int) *itemVotes {
	v := &itemVotes{Counts: make([]float64, len(b.classes))}
	if ds := b.of(i, "", ""); ds != nil {
		for k, n := range ds.Counts {
			v.Counts[k] = float64(n)
		}
	}
	for _, m := range b.marks[i] {
		if m.class < 0 {
			v.CannotTell++
		}
	}
	return v
}

// featuresOf returns the features of a data set of one item.
func featuresOf(ds *dataset.Dataset) []itemValue {
	row := ds.Rows.(*dataset.Memory).Values
	list, at := []itemValue{}, 0
	for k, p := range ds.Features {
		f := itemValue{Name: p.Name, Kind: p.Kind.String(), Feature: k, Shape: p.Shape}
		x := row[at]
		switch p.Kind {
		case dataset.Numeric:
			if y := float64(x); !math.IsNaN(y) && !math.IsInf(y, 0) {
				f.Value = &y
			}
		case dataset.Categorical:
			if f.Text = "(not in training)"; math.IsNaN(float64(x)) {
				f.Text = ""
			} else if x >= 0 && int(x) < len(p.Levels) {
				f.Text = p.Levels[int(x)]
			}
		case dataset.Text:
			f.Text = textOf(p, x)
		case dataset.Tensor:
			f.Kind = pictureKind(p.Shape)
		}
		list = append(list, f)
		at += p.Width()
	}
	return list
}

// pictureKind returns how an array of the given shape is shown: as an image, a volume or a vector.
func pictureKind(shape []int) string {
	switch {
	case len(shape) == 3 && shape[1] > 1 && shape[2] > 1:
		return "image"
	case len(shape) == 4:
		return "volume"
	}
	return "vector"
}

// image draws a feature of an item as PNG: an image, or a slice of a volume across an axis. Volumes
// keep their orientation, with the last axis upwards, as is customary in radiology.
func (p *rankedItems) image(_ context.Context, in *imageInput) (*fileResponse, error) {
	i, err := p.find(in.ID)
	if err != nil {
		return nil, err
	}
	ds, err := p.rows.dataset(i, p.ids[i])
	if err != nil {
		return nil, err
	}
	k := in.Feature
	if k < 0 || k >= len(ds.Features) || ds.Features[k].Kind != dataset.Tensor || pictureKind(ds.Features[k].Shape) == "vector" {
		return nil, failf(404, "item %q has no image %d", p.ids[i], k)
	}
	at := 0
	for _, f := range ds.Features[:k] {
		at += f.Width()
	}
	shape := ds.Features[k].Shape
	values := ds.Rows.(*dataset.Memory).Values[at : at+ds.Features[k].Width()]
	tone := tones(values)
	var m image.Image
	if len(shape) == 3 {
		m = drawImage(values, shape, tone)
	} else if in.Axis < 0 || in.Axis > 2 || in.Slice < 0 || in.Slice >= shape[1+in.Axis] {
		return nil, badRequest("axis %d, slice %d: expected a slice of the volume %v", in.Axis, in.Slice, shape[1:])
	} else {
		m = drawSlice(values, shape, in.Axis, in.Slice, tone)
	}
	var b bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&b, m)
	return &fileResponse{ContentType: "image/png", CacheControl: "private, max-age=60", Body: b.Bytes()}, err
}

// tones returns the mapping of values to gray levels. Images with values in 0 … 255 or 0 … 1 are not
// rescaled; otherwise the range is from the first to the last percentile of the item's values.
func tones(values []float32) func(x float32) uint8 {
	lo, hi := float32(math.Inf(1)), float32(math.Inf(-1))
	for _, x := range values {
		if x == x {
			lo, hi = min(lo, x), max(hi, x)
		}
	}
	switch {
	case lo >= 0 && hi <= 1:
		lo, hi = 0, 1
	case lo >= 0 && hi <= 255 && hi > 1:
		lo, hi = 0, 255
	default:
		lo, hi = percentiles(values)
	}
	return func(x float32) uint8 {
		if !(x > lo) || hi <= lo {
			return 0
		}
		return uint8(min(255, 255*(x-lo)/(hi-lo)+0.5))
	}
}

// percentiles returns the first and the 99th percentile, of a sample if there are many values.
func percentiles(values []float32) (lo, hi float32) {
	var sample []float32
	for i, step := 0, max(1, len(values)/20000); i < len(values); i += step {
		if x := values[i]; x == x {
			sample = append(sample, x)
		}
	}
	if len(sample) == 0 {
		return 0, 0
	}
	slices.Sort(sample)
	return sample[len(sample)/100], sample[len(sample)-1-len(sample)/100]
}

// drawImage draws an image [C,H,W]: three channels are RGB, otherwise the first channel is shown.
func drawImage(values []float32, shape []int, tone func(float32) uint8) image.Image {
	h, w := shape[1], shape[2]
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	at := func(c, y, x int) uint8 {
		if shape[0] != 3 {
			c = 0
		}
		return tone(values[(c*h+y)*w+x])
	}
	for y := range h {
		for x := range w {
			m.SetNRGBA(x, y, color.NRGBA{at(0, y, x), at(1, y, x), at(2, y, x), 255})
		}
	}
	return m
}

// drawSlice draws a slice of the first channel of a volume [C,X,Y,Z]. Of the two remaining axes, the
// first goes to the right and the second upwards.
func drawSlice(values []float32, shape []int, axis, slice int, tone func(float32) uint8) image.Image {
	n := shape[1:]
	across, up := [3]int{1, 0, 0}[axis], [3]int{2, 2, 1}[axis]
	m := image.NewGray(image.Rect(0, 0, n[across], n[up]))
	var p [3]int
	p[axis] = slice
	for y := range n[up] {
		for x := range n[across] {
			p[across], p[up] = x, y
			m.SetGray(x, n[up]-1-y, color.Gray{Y: tone(values[(p[0]*n[1]+p[1])*n[2]+p[2]])})
		}
	}
	return m
}
