package mixture

import (
	"context"
	"math"

	"credence/internal/special"
)

// A slope is the derivative of the log-density with respect to the logit of x.
// Its zeros are the density's modes and the dips between them.
//
// With r_k the share of component k in the density at x,
//
//	d ln f / d logit x = Σ_k r_k ((a_k−1)(1−x) − (b_k−1)x).

// logPDFCurve returns the log-density at the logit z, its slope, and the derivative
// of the slope,
//
//	Σ_k r_k ((s_k − S) λ_k − (a_k+b_k−2)x(1−x)),   λ_k = a_k(1−x) − b_k x,
//
// with s_k the slope of a component and S that of the mixture.
func (m *Beta) logPDFCurve(z float64) (logPDF, slope, curve float64) {
	p := special.AtLogit(z)
	xy := p.X * p.Y
	top := math.Inf(-1)
	var sum, lambda float64
	for i := range m.components {
		c := &m.components[i]
		l := c.logWeight + c.LogFactor(&p)
		if l > top {
			scale := math.Exp(top - l)
			sum, slope, lambda, curve, top = sum*scale, slope*scale, lambda*scale, curve*scale, l
		}
		s, d := (c.A-1)*p.Y-(c.B-1)*p.X, c.A*p.Y-c.B*p.X
		r := math.Exp(l - top)
		sum += r
		slope += r * s
		lambda += r * d
		curve += r * (s*d - (c.A+c.B-2)*xy)
	}
	slope /= sum
	return top + math.Log(sum) - p.LogX - p.LogY, slope, (curve - slope*lambda) / sum
}

// endSign returns the sign of the slope as x tends to 0: the component with the
// smallest a dominates there. If that a is 1 the sign is taken close to 0.
func (m *Beta) endSign() float64 {
	a := math.Inf(1)
	for i := range m.components {
		a = min(a, m.components[i].A)
	}
	if a != 1 {
		return a - 1
	}
	_, s, _ := m.logPDFCurve(-40)
	return s
}

// shape describes where a density rises and falls.
type shape struct {
	turns  []float64 // logits of its maxima and minima, alternating, increasing
	rising bool      // whether it rises at the left end
	flat   bool      // whether it is constant
}

// shape finds the turns. Beyond the components the density is a sum of powers of
// x (or 1−x), which can turn at most once more, towards a pole at the end;
// between them it is scanned. Once ctx is done the scan stops, and the result is meaningless.
func (m *Beta) shape(ctx context.Context) shape {
	left, right := m.endSign(), -m.Reflect().endSign()
	t := newTurns(ctx, m)
	if left == 0 && right == 0 && m.flat(t.lo, t.hi) {
		return shape{flat: true}
	}
	t.scan(left, right)
	return t.shape
}

// flat reports whether the log-density does not vary beyond rounding between two
// logits.
func (m *Beta) flat(lo, hi float64) bool {
	const steps = 100
	l0, _, _ := m.logPDFCurve(0)
	for i := range steps + 1 {
		if l, _, _ := m.logPDFCurve(lo + (hi-lo)*float64(i)/steps); math.Abs(l-l0) > 1e-12 {
			return false
		}
	}
	return true
}

// Modes returns the points at which the density has a local maximum, in
// increasing order, the ends 0 and 1 among them where it rises towards them. A
// flat density has none.
func (m *Beta) Modes() []float64 {
	sh := m.shape(context.Background())
	if sh.flat {
		return nil
	}
	var modes []float64
	rising := sh.rising
	if !rising {
		modes = append(modes, 0)
	}
	for _, z := range sh.turns {
		if rising {
			modes = append(modes, special.AtLogit(z).X)
		}
		rising = !rising
	}
	if rising {
		modes = append(modes, 1)
	}
	return modes
}
