package special

import (
	"math"
	"sync"
)

// Sum returns Σ x, added in order.
func Sum(x []float64) float64 {
	s := 0.0
	for _, v := range x {
		s += v
	}
	return s
}

// SumExcept returns the sum of all x_j, j ≠ i, with the bits of [SumOthers]. The total less x_i would lose nine digits at
// x = (1e7, 1e-3).
func SumExcept(x []float64, i int) float64 {
	before, behind := 0.0, 0.0
	for _, v := range x[:i] {
		before += v
	}
	for j := len(x) - 1; j > i; j-- {
		behind += x[j]
	}
	return before + behind
}

// SumOthers sets dst[i] to the sum of all x_j, j ≠ i: that of those before i and that of those behind.
func SumOthers(dst, x []float64) {
	sum := 0.0
	for i, v := range x {
		dst[i] = sum
		sum += v
	}
	sum = 0
	for i := len(x) - 1; i >= 0; i-- {
		dst[i] += sum
		sum += x[i]
	}
}

// Normalize divides x by its sum.
func Normalize(x []float64) {
	s := Sum(x)
	for i := range x {
		x[i] /= s
	}
}

// Sigmoid returns 1/(1 + exp(−x)) without overflow.
func Sigmoid(x float64) float64 {
	if x >= 0 {
		return 1 / (1 + math.Exp(-x))
	}
	e := math.Exp(x)
	return e / (1 + e)
}

// Softplus returns log(1 + exp x) without overflow; log Sigmoid(x) = −Softplus(−x).
func Softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

// Point is a place in [0, 1] known from both ends, so that neither x nor 1−x
// loses digits, and by its logarithms, so that it may lie closer to an end
// than the smallest float64.
type Point struct {
	X, Y       float64 // x and 1−x, each correctly rounded or nearly so
	LogX, LogY float64 // ln x and ln(1−x)
}

// At returns the point x of [0, 1].
func At(x float64) Point {
	return point(x, 1-x)
}

// Ratio returns the point u/(u+v), u, v > 0.
func Ratio(u, v float64) Point {
	s := u + v
	return point(u/s, v/s)
}

func point(x, y float64) Point {
	if x < 0.5 {
		return Point{x, y, math.Log(x), math.Log1p(-x)}
	}
	return Point{x, y, math.Log1p(-y), math.Log(y)}
}

// AtLogit returns the point whose logit, ln(x/(1−x)), is z. Far out in the
// tails x or y underflows to zero while its logarithm stays right.
func AtLogit(z float64) Point {
	e := math.Exp(-math.Abs(z))
	x := 1 / (1 + e)
	l := log1pSmall(e)
	if z <= 0 {
		return Point{e * x, x, z - l, -l}
	}
	return Point{x, e * x, -l, -z - l}
}

// Logistic returns the X and the Y of AtLogit(z).
func Logistic(z float64) (x, y float64) {
	e := math.Exp(-math.Abs(z))
	x = 1 / (1 + e)
	y = e * x
	if z <= 0 {
		return y, x
	}
	return x, y
}

// log1pSmall is ln(1+e) for e in [0, 1]. It corrects the rounding of 1+e as
// Kahan's log1p does, with the faster math.Log.
func log1pSmall(e float64) float64 {
	u := 1 + e
	if u == 1 {
		return e
	}
	return math.Log(u) + (e-(u-1))/u
}

// A Beta(a, b) variable p has on the scale z = log(p/(1−p)) the density
//
//	f(z) = σ(z)^a σ(−z)^b / B(a, b),    σ(z) = 1/(1+e^(−z)),
//
// which has no poles, whatever a and b, and falls like e^(az) to the left and e^(−bz) to the right.
// The trapezoidal rule over the whole line integrates it, times anything as smooth, with an error
// that falls like e^(−2π²s²/h²) in the step h if f has the standard deviation s, and like e^(−π²/h)
// where one of a and b is small and the other large: about 1e-7 for h ≤ 1.05 s, and up to 4e-5 of the
// result for h = ½ in the second case. Nodes lie on one of several grids, whose logarithms are
// tabulated.

// LogitGrid is a grid z_i = (i − Middle)·Step.
type LogitGrid struct {
	Step   float64
	Middle int
	// log σ(z), log σ(−z) and e^z at the nodes.
	LogP, LogQ, Odds []float64
}

const (
	logitStep   = 1.0 // of the widest grid
	logitEnd    = 33  // grids reach from −33 to 33
	logitLevels = 10
	logitRatio  = 1.05 // largest step in standard deviations
	logitDrop   = 13   // nodes where the density is less than e^−13 of its largest are left out
	logitFlat   = 11   // at larger distances from 0, p counts as 0 or 1
	logitStride = 2    // number of nodes per step of the search for an end
	logitEven   = 4    // largest parameter, votes included, for the widest grid

	// Where a distribution is narrower than logitNarrow, what is integrated hardly changes within it, and
	// fewer nodes do.
	logitNarrow = 0.2
	narrowRatio = 1.3
	narrowDrop  = 11
)

// LogitGrids returns the grids, with steps 2^−l.
var LogitGrids = sync.OnceValue(func() []LogitGrid {
	grids := make([]LogitGrid, logitLevels)
	for l := range grids {
		middle := int(logitEnd/logitStep) << l
		n := 2*middle + 1
		g := LogitGrid{
			Step: logitStep / float64(int(1)<<l), Middle: middle,
			LogP: make([]float64, n), LogQ: make([]float64, n), Odds: make([]float64, n),
		}
		for i := range n {
			z := float64(i-g.Middle) * g.Step
			g.LogP[i], g.LogQ[i] = -math.Log1p(math.Exp(-z)), -math.Log1p(math.Exp(z))
			g.Odds[i] = math.Exp(z)
		}
		grids[l] = g
	}
	return grids
})

// LogitWindow is the range over which a Beta density is integrated: nodes Lo … Hi of a grid, and two ends. Where
// the window ends while the density still falls, exponentially, the rest of the sum over the
// line is a geometric series, whose nodes all lie where p is 0 or 1 for all purposes.
type LogitWindow struct {
	Grid   *LogitGrid
	Level  int
	A, B   float64 // parameters, those of the narrowest distribution that a grid resolves if theirs is narrower
	Lo, Hi int
	Top    int // the node nearest to the largest density
	// Zero is the sum of all nodes below Lo in units of the weight at Lo, 0 if there are none to count,
	// and ZeroSlope the derivative of its logarithm with respect to A; One and OneSlope are the same
	// beyond Hi, with respect to B.
	Zero, ZeroSlope float64
	One, OneSlope   float64
}

// NewLogitWindow returns the window for Beta(a, b), mode = log(a/b), times a likelihood of for0 and for1
// votes for the two outcomes, none of which changes faster than σ(±z) does at a distance of less than
// shift. Distributions narrower than the last grid are widened to it, with the same a/b: for m votes the
// expectation changes by less than m²·2^−19 of itself.
func NewLogitWindow(a, b, mode, for0, for1, shift float64) LogitWindow {
	grids := LogitGrids()
	const narrowest = logitStep / (1 << (logitLevels - 1)) / narrowRatio
	inverse := 1/a + 1/b
	if inverse < narrowest*narrowest {
		t := inverse / (narrowest * narrowest)
		a, b = a*t, b*t
	}
	w := LogitWindow{A: a, B: b}
	s := 1/(a+for1) + 1/(b+for0)
	step, drop := logitStep/logitRatio, float64(logitDrop)
	if inverse < logitNarrow*logitNarrow {
		step, drop = logitStep/narrowRatio, narrowDrop
	}
	if max(a+for1, b+for0) > logitEven {
		step /= 2
		w.Level++
	}
	for ; step*step > s && w.Level < logitLevels-1; step /= 2 {
		w.Level++
	}
	w.Grid = &grids[w.Level]
	w.find(mode, for0, for1, logitFlat+shift, drop)
	return w
}

// find sets the ends. To the left, votes for 0 make small z more likely, by no more than as many
// factors σ(−z) would; the density times those factors is followed until it has fallen by drop
// or z is so far from 0 that nothing but the density changes. To the right likewise.
func (w *LogitWindow) find(mode, for0, for1, flat, drop float64) {
	g := w.Grid
	last := len(g.LogP) - 1
	top := float64(g.Middle) + mode/g.Step
	w.Top = min(max(int(top+0.5), 0), last)

	end := max(int(float64(g.Middle)+(min(mode, 0)-flat)/g.Step), 0)
	lo := g.follow(w.Top, end, -logitStride, w.A, w.B+for0, drop)
	w.Lo = max(lo, min(end, w.Top))
	if lo <= end {
		w.Zero, w.ZeroSlope = series(w.A, g.Step)
	}

	end = min(int(float64(g.Middle)+(max(mode, 0)+flat)/g.Step), last)
	hi := g.follow(w.Top, end, logitStride, w.A+for1, w.B, drop)
	w.Hi = min(hi, max(end, w.Top))
	if hi >= end {
		w.One, w.OneSlope = series(w.B, g.Step)
	}
}

// follow returns the first node, from a node towards end in the given steps, at which the density of Beta(a, b) has
// fallen by drop from its largest value on the way, or a node at or beyond end.
func (g *LogitGrid) follow(node, end, step int, a, b, drop float64) int {
	best := math.Inf(-1)
	for ; (end-node)*step > 0; node += step {
		x := a*g.LogP[node] + b*g.LogQ[node]
		if x < best-drop {
			break
		}
		best = max(best, x)
	}
	return node
}

// series returns e^−x + e^−2x + … at x = a·step, and the derivative of its logarithm with respect to a.
func series(a, step float64) (sum, slope float64) {
	e := math.Expm1(a * step)
	if math.IsInf(e, 1) {
		return 0, 0
	}
	return 1 / e, -(1 + 1/e) * step
}

// Nodes returns the number of weights.
func (w *LogitWindow) Nodes() int { return w.Hi - w.Lo + 3 }

// Weights fills dst, which has room for Nodes, with weights that sum to 1, and returns it: those of
// p = 0, of the nodes Lo … Hi, and of p = 1.
func (w *LogitWindow) Weights(dst []float64) []float64 {
	dst = dst[:w.Nodes()]
	last := len(dst) - 1
	p, q := w.Grid.LogP[w.Lo:w.Hi+1], w.Grid.LogQ[w.Lo:w.Hi+1]
	top := w.A*w.Grid.LogP[w.Top] + w.B*w.Grid.LogQ[w.Top]
	sum := 0.0
	for i := range p {
		x := math.Exp(w.A*p[i] + w.B*q[i] - top)
		dst[1+i] = x
		sum += x
	}
	dst[0], dst[last] = w.Zero*dst[1], w.One*dst[last-1]
	sum += dst[0] + dst[last]
	for i := range dst {
		dst[i] /= sum
	}
	return dst
}
