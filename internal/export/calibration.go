package export

import (
	"math"
	"slices"

	"credence/calibrate"
	"credence/dataset"
	"credence/internal/onnx"
	"credence/model"
)

// ratio is the ratio of variances by which mixtures are scaled: a number, or one per item [N, 1, 1].
type ratio struct {
	fixed float64 // if name is empty
	name  string
}

func (b *builder) value(r ratio) string {
	if r.name == "" {
		return b.num(r.fixed)
	}
	return r.name
}

// calibrated applies the calibration of a model to its mixtures, and then its recalibration.
func (b *builder) calibrated(m dist, from *model.Model, in *inputs) (dist, error) {
	if c := from.Calibration; c != nil {
		if c.Place != nil && len(from.Members) != c.Place.Members {
			return m, refused("a calibration by place of %d networks for %d", c.Place.Members, len(from.Members))
		}
		if c.Groups != nil && c.Groups.Differ() {
			return m, refused("a calibration by the levels of %q (--group-calibration)", c.Groups.Feature)
		}
		m = b.scaled(m, c, in)
	}
	if r := from.Recalibration; r != nil {
		if r.Feature != "" && in.codes[r.Feature] == "" {
			return m, refused("a recalibration by %q, which is no categorical feature of the model,", r.Feature)
		}
		m = b.shifted(m, r, from.Transform, in)
	}
	return m, nil
}

// scaled is [calibrate.Calibration.Calibrated].
func (b *builder) scaled(m dist, c *calibrate.Calibration, in *inputs) dist {
	scales, weights := c.Scales()
	var factor string
	if c.Place != nil {
		factor = b.place(m, c.Place, in)
	}
	var alphas, shares []string
	for i, scale := range scales {
		r := ratio{fixed: scale}
		if factor != "" {
			r.name = b.mul(factor, b.num(scale))
		}
		alphas = append(alphas, b.rescaled(m, c, r))
		shares = append(shares, m.weights)
		if len(scales) > 1 {
			shares[i] = b.mul(m.weights, b.num(weights[i]))
		}
	}
	return dist{weights: b.concat(1, shares), alpha: b.concat(1, alphas), k: m.k * len(scales), d: m.d}
}

// rescaled returns the parameters of mixtures at a ratio of their variance.
func (b *builder) rescaled(m dist, c *calibrate.Calibration, r ratio) string {
	narrower := func() string {
		if c.Shape == calibrate.Concentrate {
			return b.narrowed(m, r, c.RatioSE)
		}
		return b.narrow(m, b.value(r))
	}
	switch {
	case r.name != "":
		return b.Add("Where", b.Add("Less", r.name, b.num(1)), narrower(), b.widen(m, r.name))
	case r.fixed == 1:
		return m.alpha
	case r.fixed < 1:
		return narrower()
	}
	return b.widen(m, b.value(r))
}

// Limits of parameters, as in package mixture.
const minParameter, maxParameter = 1e-100, 1e15

// narrow is the one of [mixture.Dirichlet.Rescale] for a ratio below 1.
func (b *builder) narrow(m dist, r string) string {
	s := b.summarize(m)
	root := b.Add("Sqrt", r)
	row := b.add(b.mul(b.sub(b.num(1), root), s.mean), b.mul(root, s.means))
	row = b.div(row, b.sum(row, 2))
	// α₀′ = α₀ q + (q − 1), q = g(m′)/(ratio g(m)).
	q := b.div(b.simplexVariance(row, m.d), b.mul(r, b.simplexVariance(s.means, m.d)))
	whole := b.add(b.mul(s.total, q), b.sub(q, b.num(1)))
	whole = b.min(b.max(whole, s.total), b.num(maxParameter))
	return b.min(b.max(b.mul(row, whole), m.alpha), b.num(maxParameter))
}

// widest is the share of 1 − Σμ² that the trace of the covariance grows to at most.
const widest = 0.95

// widen is [mixture.Dirichlet.Rescale] for a ratio above 1.
func (b *builder) widen(m dist, r string) string {
	s := b.summarize(m)
	most := b.mul(b.num(widest), b.simplexVariance(s.mean, m.d))
	want := b.min(b.mul(r, s.trace), b.max(s.trace, most))
	// The largest step before a coordinate falls to half of its value.
	below := b.Add("Less", s.distance, b.num(0))
	room := b.sub(b.num(1), b.div(s.means, b.mul(b.num(2), b.Add("Where", below, s.distance, b.num(-1)))))
	room = b.Add("Where", below, room, b.num(math.MaxFloat64))
	room = b.AddWith("ReduceMin", []onnx.Attr{{Name: "axes", Value: []int{1, 2}}}, room)
	step := b.min(b.Add("Sqrt", b.div(want, s.trace)), room)
	row := b.add(s.means, b.mul(b.sub(step, b.num(1)), s.distance))
	inner := b.sub(want, b.mul(b.mul(step, step), b.between(m.weights, s.distance)))
	within := b.mul(m.weights, b.simplexVariance(b.div(row, b.sum(row, 2)), m.d))
	t := b.solveWithin(within, s.total, inner)
	alpha := b.clip(b.mul(row, b.mul(t, s.total)), minParameter, maxParameter)
	return b.Add("Where", b.Add("Greater", want, s.trace), alpha, m.alpha)
}

// maxConcentration is the largest factor of concentrate.
const maxConcentration = 4

// concentrate is [mixture.Dirichlet.Concentrate].
func (b *builder) concentrate(m dist, s *summary, r string) string {
	inner := b.sum(b.div(s.within, b.add(s.total, b.num(1))), 1)
	want := b.sub(inner, b.mul(b.sub(b.num(1), r), s.trace))
	t := b.solveWithin(s.within, s.total, want)
	solved := b.Add("And", b.Add("Greater", want, b.num(0)), b.Add("Less", t, b.num(maxConcentration)))
	t = b.Add("Where", solved, b.max(t, b.num(1)), b.num(maxConcentration))
	return b.min(b.mul(t, m.alpha), b.num(maxParameter))
}

// Between these ratios, component means move by a growing share, as in package calibrate.
const noMoves, allMoves = 0.8, 0.4

// narrowed is the narrowing of package calibrate: by concentrate, and then by narrow for the rest.
func (b *builder) narrowed(m dist, r ratio, se float64) string {
	s := b.summarize(m)
	alpha := b.concentrate(m, &s, b.value(r))
	if r.name == "" && r.fixed+se >= noMoves {
		return alpha
	}
	c := m.with(alpha)
	share := b.clip(b.div(b.sub(b.num(noMoves-se), b.value(r)), b.num(noMoves-allMoves)), 0, 1)
	after := b.summarize(c)
	rest := b.Add("Pow", b.div(b.mul(b.value(r), s.trace), after.trace), share)
	return b.Add("Where", b.Add("Less", rest, b.num(1-1e-9)), b.narrow(c, rest), alpha)
}

// newtonSteps is the number of steps of solveWithin; see TestNewtonSteps.
const newtonSteps = 24

// solveWithin returns the t [N, 1, 1] at which f(t) = Σ_k variance_k/(t total_k + 1) is want, by Newton's method for the
// reciprocal of f, which is concave, from 0. The result is not a number where want is not positive.
func (b *builder) solveWithin(variance, total, want string) string {
	t := b.mul(want, b.num(0)) // of the shape of want
	for range newtonSteps {
		r := b.div(b.num(1), b.add(b.mul(t, total), b.num(1)))
		v := b.mul(variance, r)
		f, slope := b.sum(v, 1), b.sum(b.mul(b.mul(v, r), total), 1)
		t = b.add(t, b.div(b.mul(f, b.sub(f, want)), b.mul(want, slope)))
	}
	return t
}

// Limits of package calibrate.
const maxLogConcentration, maxInput, maxEta = 12, 3, 1.5

// place returns the factor of [calibrate.Place] for the variance of each item, [N, 1, 1].
func (b *builder) place(m dist, p *calibrate.Place, in *inputs) string {
	n := len(p.Center)
	spread, varies := slices.Clone(p.Spread), make([]float64, n)
	for i, s := range spread {
		if s > 0 {
			varies[i] = 1
		} else {
			spread[i] = 1
		}
	}
	x := b.cast(b.slice(in.x, 1, 0, n), onnx.Double) // without codes and normal scores, which come last
	z := b.clip(b.div(b.sub(x, b.Doubles(p.Center, n)), b.Doubles(spread, n)), -maxInput, maxInput)
	z = b.mul(z, b.Doubles(varies, n))
	residual := p.Residual
	if !(residual > 0) {
		residual = 1
	}
	level := b.add(b.Add("MatMul", z, b.Doubles(p.Level[1:], n, 1)), b.num(p.Level[0]))
	e := b.clip(b.div(b.sub(b.concentration(m, p.Members), level), b.num(residual)), -maxInput, maxInput)
	basis := b.concat(1, []string{z, e})
	h := b.sum(b.mul(basis, b.Add("MatMul", basis, b.Doubles(p.Posterior, n+1, n+1))), 1)
	eta := b.clip(b.Add("MatMul", basis, b.Doubles(p.Slopes, n+1, 1)), -maxEta, maxEta)
	factor := b.mul(b.Add("Exp", b.add(eta, b.num(p.Shift))), b.add(b.num(1), b.clip(h, 0, 0.5)))
	return b.reshape(factor, 1, 1)
}

// concentration returns the mean of the networks' log concentrations [N, 1], log(g(μ)/V − 1) within limits.
func (b *builder) concentration(m dist, members int) string {
	k := m.k / members
	var list []string
	for i := range members {
		of := dist{weights: b.mul(b.slice(m.weights, 1, i*k, (i+1)*k), b.num(float64(members))),
			alpha: b.slice(m.alpha, 1, i*k, (i+1)*k), k: k, d: m.d}
		s := b.summarize(of)
		c := b.Add("Log", b.sub(b.div(b.simplexVariance(s.mean, m.d), s.trace), b.num(1)))
		c = b.Add("Where", b.Add("IsNaN", c), b.num(maxLogConcentration), b.clip(c, -maxLogConcentration, maxLogConcentration))
		list = append(list, b.reshape(c, 1))
	}
	all := b.concat(1, list)
	return b.AddWith("ReduceMean", []onnx.Attr{{Name: "axes", Value: []int{1}}}, all)
}

// shifted is [calibrate.Recalibration.Apply]: a shift of the log odds of component means, which may depend on a
// category, and a factor for the parameters.
func (b *builder) shifted(m dist, r *calibrate.Recalibration, t *dataset.Transform, in *inputs) dist {
	factors := func(shift []float64) (list []float64) {
		for i, s := range shift {
			list = append(list, math.Exp(r.Shift[i]+s))
		}
		return list
	}
	none := factors(make([]float64, m.d))
	factor := b.Doubles(none, m.d)
	if r.Feature != "" {
		table := append(slices.Clone(none), none...) // missing and unknown levels
		for _, f := range t.Schema() {
			if f.Name != r.Feature {
				continue
			}
			for _, level := range f.Levels {
				row := none
				if i := slices.Index(r.Levels, level); i >= 0 {
					row = factors(r.Shifts[i])
				}
				table = append(table, row...)
			}
		}
		rows := b.Doubles(table, len(table)/m.d, m.d)
		factor = b.Add("Gather", rows, b.Add("Add", in.codes[r.Feature], b.Ints(2))) // [N, 1, d]
	}
	changed := b.mul(m.alpha, factor)
	scale := b.div(b.mul(b.sum(m.alpha, 2), b.num(r.Concentration)), b.sum(changed, 2))
	return m.with(b.mul(changed, scale))
}
