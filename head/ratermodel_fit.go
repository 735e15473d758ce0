package head

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"credence/internal/special"
	"credence/mixture"
	"credence/nn"
)

// maxFitSteps is the maximum number of Fisher scoring steps.
const maxFitSteps = 30

// RaterModelOf returns the raters' parameters averaged over networks, without standard errors; own are the
// values of the head's tensors in each network, as in [Output]. Guess rates are averaged as probabilities:
// where networks disagree about a rater, the mean logit would be close to no guessing at all.
func RaterModelOf(t Task, own ...[][]float32) (*RaterModel, error) {
	if len(own) == 0 || t.Raters < 1 {
		return nil, errors.New("expected networks with raters, found none")
	}
	c := newRaterModel(t)
	guess := make([]float64, t.Raters)
	n := float64(len(own))
	for _, values := range own {
		want := 4
		if c.Ordered {
			want = 6
		}
		if len(values) != want || len(values[0]) != t.Raters {
			return nil, fmt.Errorf("tensors of raters: expected %d for %d raters, found %d", want, t.Raters, len(values))
		}
		for r, u := range values[0] {
			guess[r] += special.Sigmoid(float64(u)) / n
		}
		c.BiasSD += math.Sqrt(float64(values[2][1])) / n
		to := c.Bias
		if t.Classes > 2 {
			to = c.Taste
		}
		for r, x := range values[3] {
			to[r] += float64(x) / n
		}
		if c.Ordered {
			for r := range c.LogScale {
				c.Bias[r] += float64(values[4][r]) / n
				c.LogScale[r] += float64(values[5][r]) / n
			}
		}
	}
	for r, g := range guess {
		c.GuessLogit[r] = math.Log(g / (1 - g))
	}
	return c, c.Finalize()
}

func newRaterModel(t Task) *RaterModel {
	c := &RaterModel{Classes: t.Classes, Ordered: t.Ordered && t.Classes > 2, Votes: make([]float64, t.Raters)}
	if c.Ordered {
		c.LogScale, c.LogScaleSE = make([]float64, t.Raters), make([]float64, t.Raters)
	}
	copy(c.Votes, t.RaterVotes)
	if t.RaterVotes == nil {
		for r := range c.Votes {
			c.Votes[r] = 1
		}
	}
	biases, tastes := c.sizes()
	c.Bias, c.BiasSE = make([]float64, biases), make([]float64, biases)
	c.GuessLogit, c.GuessLogitSE = make([]float64, t.Raters), make([]float64, t.Raters)
	c.Taste = make([]float64, tastes)
	return c
}

// Finalize rounds the parameters to the float32 precision of model files and computes the derived fields.
func (c *RaterModel) Finalize() error {
	for _, list := range [][]float64{c.Votes, c.Bias, c.BiasSE, c.LogScale, c.LogScaleSE, c.GuessLogit, c.GuessLogitSE, c.Taste} {
		for i, x := range list {
			list[i] = float64(float32(x))
		}
	}
	c.Guess = make([]float64, len(c.GuessLogit))
	for r, u := range c.GuessLogit {
		c.Guess[r] = special.Sigmoid(u)
	}
	if c.Classes == 2 {
		c.unknown = make([]chanceTable, len(special.LogitGrids()))
	}
	var err error
	c.average, err = c.newAverage()
	return err
}

// FitRaterModel returns the raters' parameters that maximize the likelihood of votes on items, given the
// distributions of the items, which should not have been fitted to the same votes. b holds the votes on these items,
// with ratings in the order of items. Standard errors are not filled in, see [RaterModel.AddVotes].
func FitRaterModel(t Task, dists []*mixture.Dirichlet, b Batch) (*RaterModel, error) {
	h, own, out, err := raterWork(t, dists)
	if err != nil {
		return nil, err
	}
	grad := make([]float32, len(out))
	fitSteps(h, own, func() { h.compute(grad, out, b) })
	return RaterModelOf(t, own)
}

// fitSteps makes steps of Fisher scoring until the raters' parameters settle. compute computes the scores of the votes.
func fitSteps(h *raterHead, own [][]float32, compute func()) {
	for range maxFitSteps {
		before := make([][]float32, len(own))
		for k, values := range own {
			before[k] = slices.Clone(values)
		}
		compute()
		h.add()
		h.update()
		clear(h.sums)
		if settled(before[0], own[0], 0.1) && slices.EqualFunc(before[3:], own[3:], func(a, b []float32) bool { return settled(a, b, 0.005) }) {
			break
		}
	}
}

// AddVotes fills in the standard errors of the raters' parameters from the votes on items with the given
// distributions: by the information in the scores of the votes and the prior. share is the fraction that
// these are of the votes that the parameters were estimated from.
func (c *RaterModel) AddVotes(t Task, dists []*mixture.Dirichlet, b Batch, share float64) error {
	h, own, out, err := raterWork(t, dists)
	if err != nil {
		return err
	}
	for r, u := range c.GuessLogit {
		own[0][r] = float32(u)
	}
	lists := [][]float64{c.Taste, c.Bias, c.LogScale}
	if t.Classes == 2 {
		lists = [][]float64{c.Bias}
	}
	for k, list := range lists[:len(own)-3] {
		for r, x := range list {
			own[3+k][r] = float32(x)
		}
	}
	h.mark[1] = float32(c.BiasSD * c.BiasSD)
	h.compute(make([]float32, len(out)), out, b)
	h.add()
	h.errors(c, share)
	return c.Finalize()
}

// raterWork returns a head with raters, its tensors, and the raw outputs of a network that predicts these distributions.
func raterWork(t Task, dists []*mixture.Dirichlet) (h *raterHead, own [][]float32, out []float32, err error) {
	components := 1
	for _, dist := range dists {
		components = max(components, dist.K())
	}
	if h, own, err = boundRaters(t, components); err != nil {
		return nil, nil, nil, err
	}
	return h, own, rawOutputs(h, dists), nil
}

// boundRaters returns a head with raters, and its tensors, allocated and bound as by a network.
func boundRaters(t Task, components int) (h *raterHead, own [][]float32, err error) {
	method, err := Mixture{Components: components, Raters: "on"}.New(t)
	if err != nil {
		return nil, nil, err
	}
	h = method.(*raterHead)
	var params []*nn.Param
	for _, o := range h.Own() {
		value := slices.Repeat([]float32{o.Start}, o.Shape.Size())
		own, params = append(own, value), append(params, &nn.Param{Name: o.Name, Shape: o.Shape, Value: value})
	}
	h.Bind(params)
	return h, own, nil
}

// Widen adds the variance between networks to the standard errors. own holds the raters' parameters that
// each network has learned.
func (c *RaterModel) Widen(t Task, own ...[][]float32) error {
	if len(own) < 2 {
		return nil
	}
	mean, err := RaterModelOf(t, own...)
	if err != nil {
		return err
	}
	each := make([]*RaterModel, len(own))
	for k, values := range own {
		if each[k], err = RaterModelOf(t, values); err != nil {
			return err
		}
	}
	widen := func(se []float64, values func(*RaterModel) []float64) {
		for r := range se {
			variance := 0.0
			for _, one := range each {
				e := values(one)[r] - values(mean)[r]
				variance += e * e / float64(len(own)-1)
			}
			se[r] = math.Hypot(se[r], math.Sqrt(variance))
		}
	}
	widen(c.BiasSE, func(c *RaterModel) []float64 { return c.Bias })
	widen(c.LogScaleSE, func(c *RaterModel) []float64 { return c.LogScale })
	widen(c.GuessLogitSE, func(c *RaterModel) []float64 { return c.GuessLogit })
	return c.Finalize()
}

// settled reports whether no values of a and b differ by more than most.
func settled(a, b []float32, most float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return !(x-y > most || x-y < -most) })
}

// rawOutputs returns the raw outputs of a network that predicts these distributions.
func rawOutputs(h *raterHead, dists []*mixture.Dirichlet) []float32 {
	k, d, width := h.components, h.classes, h.Outputs()
	out := make([]float32, len(dists)*width)
	for j, dist := range dists {
		row := out[j*width:][:width]
		for c := range k {
			row[c] = -70
		}
		for c := range dist.K() {
			w, alpha := dist.Component(c)
			row[c] = float32(max(math.Log(w), -70))
			for i, a := range alpha {
				row[k+c*d+i] = float32(math.Log(a))
			}
		}
	}
	return out
}

// jointRaters is the largest number of raters for which the information about biases is a full matrix. With
// more raters, the covariance between their biases is too small to matter.
const jointRaters = 100

// errors fills in standard errors. The information about biases is Σ_j s_j s_jᵀ over items, given that the
// weighted sum of the biases in each group is fixed.
func (h *raterHead) errors(c *RaterModel, share float64) {
	width := h.sumsWidth()
	for r := range h.raters {
		c.GuessLogitSE[r] = 1 / math.Sqrt(float64(h.sums[r*width+4])/share+1/float64(guessSD*guessSD))
	}
	if h.scaled {
		for r := range h.raters {
			c.LogScaleSE[r] = 1 / math.Sqrt(float64(h.sums[(r+1)*width-1])/share+scalePrecision)
		}
	}
	if h.bias == nil {
		return
	}
	tau2 := float64(h.mark[1])
	if h.raters > jointRaters {
		for r := range h.raters {
			c.BiasSE[r] = 1 / math.Sqrt(float64(h.sums[r*width+2])/share+1/tau2)
		}
		return
	}
	n := h.raters
	info := make([]float64, n*n)
	for r := range n {
		info[r*n+r] = 1 / tau2
	}
	for j := range h.nll {
		for x := h.first[j]; x < h.first[j+1]; x++ {
			for y := h.first[j]; y < h.first[j+1]; y++ {
				at := int(h.batch.Ratings[x].Rater)*n + int(h.batch.Ratings[y].Rater)
				info[at] += h.scores[x].bias * h.scores[y].bias / share
			}
		}
	}
	cov, _ := inverse(info, n)
	// Given Σ w b = 0 in each group: Cov − Cov w wᵀ Cov/(wᵀ Cov w). Between groups, which share no item,
	// Cov is 0.
	along, whole := make([]float64, n), make([]float64, h.groups)
	for r := range n {
		for s, w := range h.within {
			along[r] += cov[r*n+s] * w
		}
		whole[h.group[r]] += h.within[r] * along[r]
	}
	for r := range n {
		c.BiasSE[r] = math.Sqrt(max(0, cov[r*n+r]-along[r]*along[r]/whole[h.group[r]]))
	}
}

// inverse returns the inverse of a positive definite matrix [n, n] and the logarithm of its determinant, by elimination,
// which needs no pivoting. It overwrites a.
func inverse(a []float64, n int) (inv []float64, logDet float64) {
	inv = make([]float64, n*n)
	for i := range n {
		inv[i*n+i] = 1
	}
	for i := range n {
		logDet += math.Log(a[i*n+i])
		p := 1 / a[i*n+i]
		for k := range n {
			a[i*n+k] *= p
			inv[i*n+k] *= p
		}
		for j := range n {
			f := a[j*n+i]
			if j == i || f == 0 {
				continue
			}
			for k := range n {
				a[j*n+k] -= f * a[i*n+k]
				inv[j*n+k] -= f * inv[i*n+k]
			}
		}
	}
	return inv, logDet
}
