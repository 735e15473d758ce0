package head

import (
	"fmt"
	"math"
)

// RaterRegression is a regression of raters' biases on features of raters, such as age or profession:
//
//	b_r = x_rᵀβ + u_r,    β ~ N(0, ω²),    u_r ~ N(0, (1−f) σ²),
//
// with σ the standard deviation of the prior of biases without features, and ω² such that features explain the share f
// of its variance. The share is averaged over its posterior, which is uniform before the votes: features that say nothing
// about biases get f near 0, and change nothing. What votes say about b_r is taken as normal, and follows from the
// estimate, its standard error and the prior that is in both.
type RaterRegression struct {
	model *RaterModel
	rows  [][]float64 // [R], nil for raters without features; centered
	mean  []float64   // of the features, weighted by votes
	fits  []raterShare
}

// raterShare is the regression for one value of f.
type raterShare struct {
	weight, rest float64   // posterior weight of f; (1−f) σ²
	beta, cov    []float64 // [K], [K, K]: mean and covariance of β
}

// maxRaterFeatures bounds the number of columns of the features of raters.
const maxRaterFeatures = 200

// Regress fits the regression on features [R, K] of the model's raters. A nil row means that a rater has none.
func (c *RaterModel) Regress(features [][]float64) (*RaterRegression, error) {
	if !c.HasBias() {
		return nil, fmt.Errorf("features of raters explain biases: expected two or ordered classes, found %d without order", c.Classes)
	}
	if len(features) != len(c.Votes) {
		return nil, fmt.Errorf("expected features of %d raters, found %d", len(c.Votes), len(features))
	}
	g := &RaterRegression{model: c, rows: make([][]float64, len(features))}
	votes, size := 0.0, 0.0
	for r, x := range features {
		if x == nil {
			continue
		}
		if g.mean == nil {
			g.mean = make([]float64, len(x))
		}
		if len(x) != len(g.mean) || len(x) > maxRaterFeatures {
			return nil, fmt.Errorf("expected at most %d features, as many for each rater, found %d and %d", maxRaterFeatures, len(g.mean), len(x))
		}
		votes += c.Votes[r]
		for k, v := range x {
			g.mean[k] += c.Votes[r] * v
		}
	}
	if !(votes > 0) {
		return nil, fmt.Errorf("none of the %d raters of the model has features", len(c.Votes))
	}
	for k := range g.mean {
		g.mean[k] /= votes
	}
	for r, x := range features {
		if x != nil {
			g.rows[r] = g.center(x)
			size += c.Votes[r] / votes * dot(g.rows[r], g.rows[r])
		}
	}
	top := math.Inf(-1)
	for _, f := range []float64{0, 0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95} {
		if size == 0 && f > 0 {
			break // all raters have the same features
		}
		s := c.BiasSD * c.BiasSD
		fit, log := g.fit(f*s/math.Max(size, 1e-300), (1-f)*s)
		fit.weight = log
		g.fits, top = append(g.fits, fit), max(top, log)
	}
	whole := 0.0
	for i := range g.fits {
		g.fits[i].weight = math.Exp(g.fits[i].weight - top)
		whole += g.fits[i].weight
	}
	for i := range g.fits {
		g.fits[i].weight /= whole
	}
	return g, nil
}

// center returns features less their means.
func (g *RaterRegression) center(x []float64) []float64 {
	row := make([]float64, len(x))
	for k, v := range x {
		row[k] = v - g.mean[k]
	}
	return row
}

// votesOn returns what votes alone say about the bias of a rater: an estimate and its variance, +Inf if they say nothing.
func (c *RaterModel) votesOn(rater int) (estimate, variance float64) {
	precision := 1/(c.BiasSE[rater]*c.BiasSE[rater]) - 1/(c.BiasSD*c.BiasSD)
	if !(precision > 1e-6/(c.BiasSD*c.BiasSD)) {
		return 0, math.Inf(1)
	}
	return c.Bias[rater] / (c.BiasSE[rater] * c.BiasSE[rater] * precision), 1 / precision
}

// fit returns the regression with var β = omega and var u = rest, and the log-likelihood of the estimates, constants aside.
func (g *RaterRegression) fit(omega, rest float64) (raterShare, float64) {
	n := len(g.mean)
	info, score := make([]float64, n*n), make([]float64, n)
	for k := range n {
		info[k*n+k] = 1
	}
	log := 0.0
	// In units of ω, so that ω = 0 is no special case.
	unit := math.Sqrt(omega)
	for r, x := range g.rows {
		if x == nil {
			continue
		}
		y, v := g.model.votesOn(r)
		v += rest
		if math.IsInf(v, 1) {
			continue
		}
		log -= (math.Log(v) + y*y/v) / 2
		for k := range n {
			score[k] += unit * x[k] * y / v
			for l := range n {
				info[k*n+l] += omega * x[k] * x[l] / v
			}
		}
	}
	fit := raterShare{rest: rest, beta: make([]float64, n)}
	cov, logDet := inverse(info, n)
	fit.cov, log = cov, log-logDet/2
	for k := range n {
		for l := range n {
			fit.beta[k] += fit.cov[k*n+l] * score[l]
		}
		log += score[k] * fit.beta[k] / 2
	}
	for k := range fit.beta {
		fit.beta[k] *= unit
	}
	for i := range fit.cov {
		fit.cov[i] *= omega
	}
	return fit, log
}

// Posterior returns what features, and votes in training if there were any, show about a rater: by the number in the rater
// model, or −1 with features that were not in the regression.
func (g *RaterRegression) Posterior(rater int, features []float64) RaterPosterior {
	p := RaterPosterior{Rater: rater}
	var x []float64
	y, v := 0.0, math.Inf(1)
	if rater >= 0 {
		x = g.rows[rater]
		y, v = g.model.votesOn(rater)
	} else if features != nil {
		x = g.center(features)
	}
	if x == nil {
		return g.model.Posterior(rater)
	}
	n := len(x)
	square := 0.0
	for _, fit := range g.fits {
		prior, spread := dot(x, fit.beta), 0.0
		for k := range n {
			spread += x[k] * dot(fit.cov[k*n:(k+1)*n], x)
		}
		keep := 1.0 // share of the prior mean in the posterior mean
		if !math.IsInf(v, 1) {
			keep = v / (v + fit.rest)
		}
		mean, variance := prior, fit.rest
		if keep < 1 {
			mean, variance = keep*prior+(1-keep)*y, keep*fit.rest
		}
		variance += keep * keep * spread
		p.Bias += fit.weight * mean
		square += fit.weight * (variance + mean*mean)
	}
	p.BiasSD = math.Sqrt(max(0, square-p.Bias*p.Bias))
	return p
}

// dot returns Σ a b.
func dot(a, b []float64) float64 {
	s := 0.0
	for i, x := range a {
		s += x * b[i]
	}
	return s
}
