package calibrate

import (
	"errors"
	"fmt"
	"math"

	"credence/internal/par"
	"credence/internal/special"
	"credence/mixture"
)

// Place lets the scale depend on the place of an item, since a network that is right on average can be too sure of some
// items and not sure enough of others. With C = log(Σμ(1−μ)/V − 1) the predicted log concentration, z the standardized
// inputs of the networks (clipped at ±3) and e the standardized residual of the regression of C on z, the variance of an
// item is multiplied by the scale of all items times
//
//	s (1 + min(h, ½)),   s = exp(η) within exp(±1.5),   η = zβ + ρe,
//
// with h the posterior variance of η. β and ρ maximize the likelihood of the held-out votes under distributions scaled by
// exp(b + η), with β_j ~ N(0, 0.09/p) and ρ ~ N(0, 0.09), and s is normalized to ΣsV = ΣV, so that the ratio of pairs is
// unchanged. It is used only where it predicts the votes of other folds better than one scale, and where that scale is
// certain enough not to be averaged over.
type Place struct {
	Members   int       `json:"members"`   // networks whose components a distribution has, one after the other
	Center    []float64 `json:"center"`    // [p] mean of each input
	Spread    []float64 `json:"spread"`    // [p] standard deviation, 0 for a constant input
	Level     []float64 `json:"level"`     // [1+p] regression of C on z: intercept and slopes
	Residual  float64   `json:"residual"`  // its residual standard deviation
	Slopes    []float64 `json:"slopes"`    // [p+1] β and ρ
	Shift     float64   `json:"shift"`     // added to η so that ΣsV = ΣV
	Posterior []float64 `json:"posterior"` // [(p+1)²] covariance of β and ρ
	Gain      float64   `json:"gain"`      // log-likelihood of votes of other folds, compared with one scale
}

const (
	// MaxPlace is the largest number of network inputs for which the scale may depend on the place.
	MaxPlace = 32
	// placeVariance is the prior variance of β summed over inputs, and that of ρ.
	placeVariance = 0.09
	// maxEta limits η, and with it how far s is from 1.
	maxEta = 1.5
	// maxInput limits standardized inputs.
	maxInput = 3
)

// The likelihood of an item is tabulated at these logarithms of the ratio, from −placeRange to placeRange.
const (
	placeRange = 3.0
	placeStep  = 0.25
	placeNodes = int(2*placeRange/placeStep) + 1
)

// check returns an error if the sizes of a place read from a file do not agree, or a number is not finite.
func (p *Place) check() error {
	n := len(p.Center)
	if p.Members < 1 || len(p.Spread) != n || len(p.Level) != n+1 || len(p.Slopes) != n+1 || len(p.Posterior) != (n+1)*(n+1) {
		return errors.New("calibration: place: expected lists for the same number of inputs")
	}
	for _, list := range [][]float64{p.Center, p.Spread, p.Level, p.Slopes, p.Posterior, {p.Residual, p.Shift}} {
		for _, x := range list {
			if x-x != 0 {
				return fmt.Errorf("calibration: place: expected finite numbers, found %v", x)
			}
		}
	}
	return nil
}

// concentration returns C of a distribution with the components of several networks one after the other: the mean of
// theirs, since held-out distributions are those of single networks.
func concentration(dist *mixture.Dirichlet, members int) float64 {
	sum, from, n := 0.0, 0, 0
	for k, weight := 0, 0.0; k < dist.K(); k++ {
		w, _ := dist.Component(k)
		if weight += w; weight*float64(members) < 1-1e-9 && k < dist.K()-1 {
			continue
		}
		sum += componentsConcentration(dist, from, k+1)
		from, weight, n = k+1, 0, n+1
	}
	return sum / float64(n)
}

// maxLogConcentration limits C where a distribution has hardly any variance, or all that it can have.
const maxLogConcentration = 12

// componentsConcentration returns C of components from … to−1 of a distribution.
func componentsConcentration(dist *mixture.Dirichlet, from, to int) float64 {
	d := dist.Classes()
	mean, total := make([]float64, d), 0.0
	square := 0.0 // E Σp²
	for k := from; k < to; k++ {
		w, a := dist.Component(k)
		sum := special.Sum(a)
		total += w
		for i, x := range a {
			mean[i] += w * x / sum
			square += w * x * (x + 1) / (sum * (sum + 1))
		}
	}
	squares := 0.0
	for _, m := range mean {
		squares += m * m / (total * total)
	}
	c := math.Log((1-squares)/(square/total-squares) - 1)
	if math.IsNaN(c) { // no digits are left of the variance
		return maxLogConcentration
	}
	return min(max(c, -maxLogConcentration), maxLogConcentration)
}

// basis returns z and e of an item with concentration c.
func (p *Place) basis(dst []float64, x []float32, c float64) []float64 {
	dst = dst[:0]
	e := c - p.Level[0]
	for i, v := range x {
		z := 0.0
		if p.Spread[i] > 0 {
			z = min(max((float64(v)-p.Center[i])/p.Spread[i], -maxInput), maxInput)
		}
		dst = append(dst, z)
		e -= p.Level[i+1] * z
	}
	if p.Residual > 0 {
		e /= p.Residual
	}
	return append(dst, min(max(e, -maxInput), maxInput))
}

// eta returns η + Shift for a basis, within the limits of η.
func (p *Place) eta(basis []float64) float64 {
	return min(max(dot(p.Slopes, basis), -maxEta), maxEta) + p.Shift
}

// factor returns the factor for the variance of an item with network inputs x.
func (p *Place) factor(dist *mixture.Dirichlet, x []float32) float64 {
	b := p.basis(make([]float64, 0, len(x)+1), x, concentration(dist, p.Members))
	h := 0.0
	for i, u := range b {
		h += u * dot(p.Posterior[i*len(b):(i+1)*len(b)], b)
	}
	return math.Exp(p.eta(b)) * (1 + min(max(h, 0), 0.5))
}

// places has what fits of Place need of every item.
type places struct {
	h       *HeldOut
	items   []int       // positions in h
	c       []float64   // C
	claimed []float64   // ΣV over classes
	votes   [][]float64 // log-likelihood of the votes at the nodes
}

// newPlaces tabulates the likelihood of the votes on at most likelyItems items; nil if items have no inputs, or a rater
// model explains the votes.
func (h *HeldOut) newPlaces() (*places, error) {
	if len(h.inputs) == 0 || h.raterModel != nil || len(h.inputs[0]) > MaxPlace {
		return nil, nil
	}
	most := fewer(likelyItems, len(h.sums[0].classes))
	every := (len(h.dists) + most - 1) / most
	p := &places{h: h}
	for j := 0; j < len(h.dists); j += every {
		p.items = append(p.items, j)
	}
	n := len(p.items)
	p.c, p.claimed, p.votes = make([]float64, n), make([]float64, n), make([][]float64, n)
	errs := make([]error, n)
	par.For(n, func(k int) {
		dist := h.dists[p.items[k]]
		p.c[k], p.claimed[k] = concentration(dist, 1), special.Sum(dist.Variance(nil))
		p.votes[k] = make([]float64, placeNodes)
		for i := range placeNodes {
			scaled, err := rescaled(dist, math.Exp(placeStep*float64(i)-placeRange), 0)
			if err == nil {
				p.votes[k][i], err = scaled.LogVotes(h.votes[p.items[k]])
			}
			errs[k] = errors.Join(errs[k], err)
		}
	})
	return p, errors.Join(errs...)
}

// at returns the log-likelihood of item k and its slope where the logarithm of the ratio is log, linear between nodes.
func (p *places) at(k int, log float64) (value, slope float64) {
	x := min(max((log+placeRange)/placeStep, 0), float64(placeNodes-1)-1e-9)
	i := int(x)
	v := p.votes[k]
	slope = (v[i+1] - v[i]) / placeStep
	return v[i] + (x-float64(i))*placeStep*slope, slope
}

// fit fits the dependence of the scale on the place to some items, and returns it with b. It has no Gain.
func (p *places) fit(use []int) (fitted *Place, intercept float64) {
	width := len(p.h.inputs[0])
	s := &Place{Members: 1, Center: make([]float64, width), Spread: make([]float64, width), Level: make([]float64, width+1), Slopes: make([]float64, width+1)}
	n := float64(len(use))
	for _, k := range use {
		for i, v := range p.h.inputs[p.items[k]] {
			s.Center[i] += float64(v) / n
		}
	}
	for _, k := range use {
		for i, v := range p.h.inputs[p.items[k]] {
			e := float64(v) - s.Center[i]
			s.Spread[i] += e * e / n
		}
	}
	for i, v := range s.Spread {
		if s.Spread[i] = math.Sqrt(v); s.Spread[i] < 1e-6*(1+math.Abs(s.Center[i])) {
			s.Spread[i] = 0
		}
	}
	p.level(s, use)
	rows := make([][]float64, len(p.items))
	for _, k := range use {
		rows[k] = s.basis(nil, p.h.inputs[p.items[k]], p.c[k])
	}
	b, information := p.maximize(use, rows, s.Slopes)
	inverse := information.inverse()
	m := width + 1
	s.Posterior = make([]float64, m*m)
	for i := range m {
		for j := range m {
			s.Posterior[i*m+j] = inverse[(i+1)*(m+1)+j+1]
		}
	}
	plain, scaled := 0.0, 0.0
	for _, k := range use {
		plain += p.claimed[k]
		scaled += p.claimed[k] * math.Exp(s.eta(rows[k]))
	}
	s.Shift = math.Log(plain / scaled)
	return s, b
}

// level regresses C on z.
func (p *places) level(s *Place, use []int) {
	m := len(s.Level)
	normal, right := newSymmetric(m), make([]float64, m)
	rows := make([][]float64, len(use))
	for q, k := range use {
		rows[q] = append([]float64{1}, s.basis(nil, p.h.inputs[p.items[k]], 0)[:m-1]...)
		normal.add(1, rows[q])
		for i, v := range rows[q] {
			right[i] += v * p.c[k]
		}
	}
	for i := range m {
		normal.a[i*m+i] += 1e-6 * float64(len(use))
	}
	s.Level = normal.solve(right)
	square := 0.0
	for q, k := range use {
		e := p.c[k] - dot(s.Level, rows[q])
		square += e * e
	}
	s.Residual = math.Sqrt(square / float64(len(use)))
}

// maximize sets slopes to the maximum of the penalized likelihood by scoring steps, and returns the intercept and the
// information of intercept and slopes.
func (p *places) maximize(use []int, rows [][]float64, slopes []float64) (b float64, information *symmetric) {
	m := len(slopes)
	precision := func(i int) float64 {
		if i < m-1 {
			return float64(m-1) / placeVariance
		}
		return 1 / placeVariance
	}
	objective := func(b float64, slopes []float64) float64 {
		sum := 0.0
		for i, x := range slopes {
			sum -= precision(i) * x * x / 2
		}
		for _, k := range use {
			v, _ := p.at(k, b+dot(slopes, rows[k]))
			sum += v
		}
		return sum
	}
	now := objective(b, slopes)
	row := make([]float64, m+1)
	for range 30 {
		information = newSymmetric(m + 1)
		gradient := make([]float64, m+1)
		information.a[0] = 1e-3
		for i, x := range slopes {
			information.a[(i+1)*(m+1)+i+1] = precision(i)
			gradient[i+1] = -precision(i) * x
		}
		for _, k := range use {
			_, g := p.at(k, b+dot(slopes, rows[k]))
			row[0] = 1
			copy(row[1:], rows[k])
			information.add(g*g, row)
			for i, v := range row {
				gradient[i] += g * v
			}
		}
		step := information.solve(gradient)
		better := false
		for size := 1.0; size > 1e-3 && !better; size /= 2 {
			next := make([]float64, m)
			for i := range next {
				next[i] = slopes[i] + size*step[i+1]
			}
			if v := objective(b+size*step[0], next); v > now+1e-7 {
				better = true
				b, now = b+size*step[0], v
				copy(slopes, next)
			}
		}
		if !better {
			break
		}
	}
	return b, information
}

// fitPlaces sets the dependence of the scale on the place, found from all items and without each fold, unless it
// predicts the votes of other folds no better than one scale.
func (h *HeldOut) fitPlaces() error {
	p, err := h.newPlaces()
	if p == nil || err != nil {
		return err
	}
	none := make([][]float64, len(p.items))
	for k := range none {
		none[k] = []float64{0}
	}
	gain := 0.0
	without := make([]*Place, len(h.sums))
	for fold := range h.sums {
		var use, held []int
		for k, j := range p.items {
			if h.folds[j] == fold {
				held = append(held, k)
			} else {
				use = append(use, k)
			}
		}
		if len(use) == 0 {
			return nil
		}
		s, b := p.fit(use)
		one, _ := p.maximize(use, none, []float64{0})
		for _, k := range held {
			with, _ := p.at(k, b+dot(s.Slopes, s.basis(nil, h.inputs[p.items[k]], p.c[k])))
			plain, _ := p.at(k, one)
			gain += with - plain
		}
		without[fold] = s
	}
	if gain <= 0 {
		return nil
	}
	all := make([]int, len(p.items))
	for k := range all {
		all[k] = k
	}
	h.placed, _ = p.fit(all)
	h.placed.Gain, h.without = gain, without
	return nil
}

// placeWithout returns the dependence of the scale on the place found without a fold, or from all items if it is −1, for
// distributions of the given number of networks; nil if there is none.
func (h *HeldOut) placeWithout(fold, members int) (*Place, error) {
	if !h.placesFitted {
		h.placesFitted = true
		if err := h.fitPlaces(); err != nil {
			return nil, err
		}
	}
	if h.placed == nil {
		return nil, nil
	}
	s := *h.placed
	if fold >= 0 {
		s = *h.without[fold]
	}
	s.Members = members
	return &s, nil
}
