package mixture

import (
	"context"
	"math"
	"slices"

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
	for i, z := range slices.Concat([]float64{math.Inf(-1)}, sh.turns, []float64{math.Inf(1)}) {
		if (i%2 == 0) != sh.rising { // maxima and minima alternate, the ends among them
			modes = append(modes, special.AtLogit(z).X)
		}
	}
	return modes
}

// turns finds the maxima and minima (turns) of a density. Its slope has the sign of
//
//	D(z) = Σ_k exp(l_k(z)) s_k(z),   s_k = (a_k−1)(1−x) − (b_k−1)x,
//
// with l_k the logarithm of the weight times the logit density of component k.
// Over a stretch, s_k is monotone in z and l_k is concave with its peak at
// ln(a_k/b_k), so both are bounded by their values at the stretch's ends and at
// the peak; and so is D. A stretch where it cannot vanish has no turn. All others
// are halved until they are short compared with the widths of the components that
// matter there, where the slope is nearly a cubic.
type turns struct {
	shape
	ctx    context.Context
	m      *Beta
	lo, hi float64 // beyond all components
	spots  []spot  // of the components
	known  float64 // the last slope that is not zero
	at     float64 // the logit of known
	spare  []*place
	high   []float64 // [K], for judge
}

// spot is the location and width of a component on the logit scale.
type spot struct{ center, width, peak float64 }

// place is the density at a point, with the contribution of every component.
type place struct {
	z            float64
	slope, curve float64 // of the log-density, and the slope's derivative
	of           []contribution
}

// contribution is that of one component to the density at a point.
type contribution struct {
	log    float64 // of the weight times the logit density
	slope  float64 // s_k
	lambda float64 // the derivative of log
}

// narrow is the length, in widths of the components that matter, below which a
// stretch is not halved.
const narrow = 0.25

func newTurns(ctx context.Context, m *Beta) *turns {
	t := &turns{ctx: ctx, m: m, lo: math.Inf(1), hi: math.Inf(-1), spots: make([]spot, len(m.components)), high: make([]float64, len(m.components))}
	for i := range m.components {
		c := &m.components[i]
		// The logit density of Beta(a, b) peaks at ln(a/b) with the width
		// √(1/a + 1/b).
		s := spot{center: math.Log(c.A / c.B), width: min(math.Sqrt(1/c.A+1/c.B), 1.5)}
		p := special.AtLogit(s.center)
		s.peak = c.logWeight + c.LogFactor(&p)
		t.spots[i] = s
		t.lo = min(t.lo, s.center-12*s.width)
		t.hi = max(t.hi, s.center+12*s.width)
	}
	return t
}

// scan finds all turns, given the signs of the slope at both ends.
func (t *turns) scan(left, right float64) {
	first, last := t.look(t.lo), t.look(t.hi)
	// Extend the range until the slopes at the ends have the signs of the limits.
	var below, above []*place
	for step := 4.0; first.slope*left < 0 && step < 1e7; step *= 2 {
		below = append(below, first)
		first = t.look(first.z - step)
	}
	for step := 4.0; last.slope*right < 0 && step < 1e7; step *= 2 {
		above = append(above, last)
		last = t.look(last.z + step)
	}
	t.rising, t.known, t.at = first.slope > 0, first.slope, first.z
	p := first
	to := func(q *place) {
		t.stretch(p, q)
		t.drop(p)
		p = q
	}
	for _, q := range slices.Backward(below) {
		to(q)
	}
	centers := make([]float64, len(t.spots))
	for i, s := range t.spots {
		centers[i] = s.center
	}
	slices.Sort(centers)
	for _, z := range centers {
		if t.ctx.Err() != nil {
			return
		}
		if z > p.z {
			to(t.look(z))
		}
	}
	for _, q := range append(above, last) {
		to(q)
	}
}

// look evaluates the density at the logit z.
func (t *turns) look(z float64) *place {
	var p *place
	if n := len(t.spare); n > 0 {
		p, t.spare = t.spare[n-1], t.spare[:n-1]
	} else {
		p = &place{of: make([]contribution, len(t.spots))}
	}
	at := special.AtLogit(z)
	top := math.Inf(-1)
	for i := range p.of {
		c := &t.m.components[i]
		p.of[i] = contribution{
			log:    c.logWeight + c.LogFactor(&at),
			slope:  (c.A-1)*at.Y - (c.B-1)*at.X,
			lambda: c.A*at.Y - c.B*at.X,
		}
		top = max(top, p.of[i].log)
	}
	var sum, slope, lambda, curve float64
	for i, o := range p.of {
		r := math.Exp(o.log - top)
		c := &t.m.components[i]
		sum += r
		slope += r * o.slope
		lambda += r * o.lambda
		curve += r * (o.slope*o.lambda - (c.A+c.B-2)*at.X*at.Y)
	}
	p.z, p.slope = z, slope/sum
	p.curve = (curve - p.slope*lambda) / sum
	return p
}

func (t *turns) drop(p *place) { t.spare = append(t.spare, p) }

// stretch finds the turns between p and q, and moves on to q.
func (t *turns) stretch(p, q *place) {
	sure, short := t.judge(p, q)
	switch {
	case t.ctx.Err() != nil:
	case sure:
		t.visit(q)
	case short:
		t.cubic(p, q, 12)
	default:
		mid := t.look(p.z + (q.z-p.z)/2)
		t.stretch(p, mid)
		t.stretch(mid, q)
		t.drop(mid)
	}
}

// cubic is stretch for p and q so close together that the slope is nearly the
// cubic with its values and derivatives there. Where the cubic has an extremum
// that may lie beyond zero, the stretch is split, until the slope is monotone on
// each piece; depth bounds the number of splits.
func (t *turns) cubic(p, q *place, depth int) {
	z, ok := extremum(p, q)
	if !ok || depth == 0 || t.ctx.Err() != nil {
		t.visit(q)
		return
	}
	mid := t.look(z)
	t.cubic(p, mid, depth-1)
	t.cubic(mid, q, depth-1)
	t.drop(mid)
}

// extremum returns where, strictly between p and q, the cubic has an extremum that
// may hide zeros.
func extremum(p, q *place) (z float64, ok bool) {
	h := q.z - p.z
	// On u from 0 to 1, the cubic's derivative is c + bu + au².
	rise, c, e := q.slope-p.slope, p.curve*h, q.curve*h
	b, a := 2*(3*rise-2*c-e), 3*(c+e-2*rise)
	root := b*b - 4*a*c
	if !(root > 0) || h <= 1e-12*max(1, math.Abs(p.z)) {
		return 0, false
	}
	// Of the two roots, the one in which nothing cancels gives the other.
	w := -0.5 * (b + math.Copysign(math.Sqrt(root), b))
	for _, u := range [2]float64{w / a, c / w} {
		const end = 1e-3
		if !(u > end && u < 1-end) {
			continue
		}
		value := p.slope + u*(c+u*(b/2+u*a/3))
		if p.slope*q.slope > 0 && value*p.slope > 0 && math.Abs(value) > 0.3*min(math.Abs(p.slope), math.Abs(q.slope)) {
			continue
		}
		return p.z + u*h, true
	}
	return 0, false
}

// judge reports whether the slope certainly has a constant sign between p and q, and
// whether they are close together compared with the components that matter there.
func (t *turns) judge(p, q *place) (sure, short bool) {
	falls, rises := false, false
	for i := range p.of {
		s0, s1 := p.of[i].slope, q.of[i].slope
		falls = falls || s0 < 0 || s1 < 0
		rises = rises || s0 > 0 || s1 > 0
	}
	if !falls || !rises {
		return true, false
	}
	top := math.Inf(-1)
	for i := range t.spots {
		t.high[i] = t.highest(i, p, q)
		top = max(top, t.high[i])
	}
	var lo, hi, most float64
	for i := range t.spots {
		a, b := &p.of[i], &q.of[i]
		high, low := faint, 0.0
		if l := t.high[i] - top; l > logFaint {
			high = math.Exp(l)
			low = math.Exp(min(a.log, b.log) - top)
		}
		s0, s1 := min(a.slope, b.slope), max(a.slope, b.slope)
		lo += min(s0*high, s0*low)
		hi += max(s1*high, s1*low)
		t.high[i] = high * max(s1, -s0)
		most = max(most, t.high[i])
	}
	if lo >= 0 || hi <= 0 {
		return true, false
	}
	least := math.Inf(1)
	for i, s := range t.spots {
		if t.high[i] > 1e-6*most {
			least = min(least, s.width)
		}
	}
	return false, q.z-p.z <= max(narrow*least, 1e-12*math.Abs(p.z))
}

// faint bounds a contribution that is so small, compared with the largest, that its
// exact value does not matter.
const (
	faint    = 1e-30
	logFaint = -69.1
)

// highest bounds the logarithm of a component's contribution between p and q.
func (t *turns) highest(i int, p, q *place) float64 {
	if c := t.spots[i].center; c > p.z && c < q.z {
		return t.spots[i].peak
	}
	return max(p.of[i].log, q.of[i].log)
}

// visit moves on to p, and adds a turn if the sign of the slope changed.
func (t *turns) visit(p *place) {
	if p.slope == 0 {
		return
	}
	if t.known == 0 {
		t.rising = p.slope > 0
	} else if p.slope*t.known < 0 {
		t.turns = append(t.turns, t.root(t.at, p.z, t.known < 0))
	}
	t.known, t.at = p.slope, p.z
}

// root returns where the slope vanishes between lo and hi, from negative to
// positive if rises, by Newton's method within a bracket.
func (t *turns) root(lo, hi float64, rises bool) float64 {
	z, last := lo+(hi-lo)/2, math.Inf(1)
	for range 200 {
		p := t.look(z)
		t.drop(p)
		if (p.slope < 0) == rises {
			lo = z
		} else {
			hi = z
		}
		next := z - p.slope/p.curve
		if hi-lo <= 1e-15*max(1, math.Abs(z)) || math.Abs(next-z) <= 1e-15*max(1, math.Abs(z)) {
			break
		}
		if !(next > lo && next < hi && math.Abs(next-z) < last/2) {
			next = lo + (hi-lo)/2
		}
		z, last = next, math.Abs(next-z)
	}
	return z
}
