package mixture

import (
	"math"

	"credence/internal/kernel"
	"credence/internal/special"
)

// quantileTable tabulates the distribution function of a Beta mixture on the logit scale. Reading all quantiles of a
// distribution from a table costs as much as one or two exact quantiles.
//
// At its nodes it has the density f of the logit and five derivatives, which cost one exponential
// per component. Between two nodes f is approximated by the polynomial of degree 11 that has these
// derivatives at both, whose integral over a cell of length h is
//
//	h/2 (f₀+f₁) + 5h²/44 (f₀′−f₁′) + h³/66 (f₀″+f₁″) + h⁴/792 (f₀‴−f₁‴) + h⁵/15840 (f₀⁗+f₁⁗) + h⁶/665280 (f₀⁽⁵⁾−f₁⁽⁵⁾),
//
// with the error 1.74e-13 h¹³ f⁽¹²⁾. The density of a component is log-concave, so that beyond the point where
// it has fallen to e⁻ᴰ of its peak there is a mass of less than e⁻ᴰ/(1−e⁻ᴰ): each component is
// evaluated only between two such points, and determines there how far apart nodes may be. If a table could
// be wrong (parameters so large that their logarithms lose digits, too many nodes, a total mass that is
// not one), make reports that it cannot be used.
type quantileTable struct {
	grade   *tableGrade
	terms   kernel.BetaTable
	zones   []tableZones // [terms]
	lo, hi  float64      // the range of all terms
	buckets [64]float64
	levels  stepLevels
	values  []float64    // of beyond
	far     [2][]float64 // [terms]: masses below −tableEnd and above tableEnd, if beyond has computed them

	nodes []float64                                   // [n], padded to whole blocks with the last
	f     [][kernel.BetaDerivatives]kernel.BetaPoints // f and its derivatives at the nodes of each block
	mass  []float64                                   // [n]: mass below each node
	step  []float64                                   // [n−1]: lengths of cells, 0 for one in which no component matters
	total float64                                     // total mass, one except for errors
}

// tableZones are the ranges in which a component requires nodes: zone j, if it is not empty, extends from edges[j] to
// edges[j+1], where nodes are at most steps[j] apart. The second of both tails and the middle may be empty.
type tableZones struct {
	edges [zonesPerTerm + 1]float64
	steps [zonesPerTerm]float64
}

// zonesPerTerm counts the far and the near part of the left tail, the middle, and the two parts of the right tail.
const zonesPerTerm = 5

// tableGrade is the resolution of a table.
type tableGrade struct {
	quantile float64 // the smallest q for which it provides the q- and the (1−q)-quantile
	step     float64 // length of a cell in units of a component's width
	long     float64 // length of the longest cells, and of those in tails, in units of these of the first grade
}

// tableGrades are ordered from coarse to fine. For the normal density, errors of the distribution function are up to
// 4e-10·step¹². A quantile is taken from the first table that provides it.
var tableGrades = [...]tableGrade{{0.02, 0.72, 1}, {4e-4, 0.52, 0.7}}

// missing is the largest mass that may be left out at either end.
func (g *tableGrade) missing() float64 { return 1e-8 * g.quantile }

// error is the largest deviation of the total from one.
func (g *tableGrade) error() float64 { return 5e-8 * g.quantile }

const (
	// tableEnd is the largest logit of a node; beyond it x or 1−x are below 1e-13.
	tableEnd = 30
	// tableNodes is the maximum number of nodes.
	tableNodes = 1024
	// tableBuckets is the maximum number of pieces of equal length that the range is first divided into, but for two at the ends.
	tableBuckets = 60
	// tableLog is the largest logarithm of a Beta function: its error is some 1e-16 of its size.
	tableLog = 6e6
	// tableSD is the standard deviation to which narrower components are widened, because their Beta functions would be too
	// large. As all but 3e-12 of a component lies within seven standard deviations, this moves no quantile by more than 7e-8.
	tableSD = 1e-8
	// tableNormal is the smallest parameter of components that are widened.
	tableNormal = 1000
	// tableSum is the a + b beyond which differences of log-gamma functions lose too many digits.
	tableSum = 1e4
	// tableLongest is the longest cell where a density bends.
	tableLongest = 1.2
	// tableNarrow is the variance of a narrow component: (1.6·7/σ)⁶ = 665280.
	tableNarrow = 1.44
	// tablePower is the longest cell in units of 1/a where the density is the a-th power of x, tableMild and tableFar of all cells there.
	tablePower, tableMild, tableFar = 1.5, 1.8, 3
	// tableTail is the logarithm of the (a+b)x below which the density is nearly a power of x, so that cells
	// may be longer; tableBend farther out it is a power of x for all purposes.
	tableTail, tableBend = -3.5, 3.4
)

// make builds the table of a marginal distribution, and reports whether it can be used.
func (t *quantileTable) make(g *tableGrade, m *marginal) bool {
	t.grade = g
	terms := &t.terms
	terms.Terms, terms.Lo, terms.Hi = terms.Terms[:0], terms.Lo[:0], terms.Hi[:0]
	t.zones = t.zones[:0]
	t.lo, t.hi = math.Inf(1), math.Inf(-1)
	k := float64(len(m.w))
	missing := g.missing() / k
	logMissing, logK := math.Log(missing), math.Log(k)
	for i, w := range m.w {
		if w <= missing {
			continue
		}
		a, b := m.a[i], m.b[i]
		log := tableLogs{m.logA[i], m.logB[i], m.logSum[i], m.logW[i]}
		logBeta := m.gammaA[i] + m.gammaB[i] - m.gammaSum[i]
		if m.sum[i] > tableSum {
			if r := tooNarrow(a, b); r < 1 {
				a, b = r*a, r*b
				by := math.Log(r)
				log.a, log.b, log.sum = log.a+by, log.b+by, log.sum+by
			}
			logBeta = special.LogBeta(a, b)
		}
		if math.Abs(logBeta) > tableLog || !t.add(a, b, logBeta, logMissing, logK, log) {
			return false
		}
	}
	if len(terms.Terms) == 0 || !t.place() {
		return false
	}
	t.evaluate()
	return t.sum()
}

// tooNarrow returns the factor by which to multiply parameters so that the standard deviation is at least [tableSD].
// It is 1 if it is already, or if one of them is not large, because the distribution is then not nearly normal.
func tooNarrow(a, b float64) float64 {
	sum := a + b
	return min(1, max((a/sum)*(b/sum)/(sum*(tableSD*tableSD)), tableNormal/min(a, b)))
}

// tableLogs are the logarithms of a component's parameters, of their sum, and of its weight.
type tableLogs struct{ a, b, sum, w float64 }

// add adds a component and reports whether the table supports it. It has no branches that are hard to predict.
func (t *quantileTable) add(a, b, logBeta, logMissing, logK float64, log tableLogs) bool {
	c := log.w - logBeta
	// Beyond center − √(2D)σ − D/a the density has fallen by more than e⁻ᴰ, and everywhere it is below exp(C + az).
	// Next to a narrow component cells may be so long that they magnify even the density that is left there,
	// by h⁶/665280 times the fifth power of its slope, which is about √(2D)/σ.
	peak := log.a - log.b
	ra, rb := 1/a, 1/b
	logMissing -= 3 * max(0, logNarrow+log.a+log.b-log.sum) // (1/a + 1/b)³ relative to tableNarrow³
	drop := log.w - logMissing + 0.7
	width := math.Sqrt(2 * drop * (ra + rb))
	lo := max(peak-width-drop*ra, (logMissing+log.a-c)*ra, -tableEnd)
	hi := min(peak+width+drop*rb, -(logMissing+log.b-c)*rb, tableEnd)
	if !(lo < hi) {
		return false
	}
	terms := &t.terms
	terms.Terms = append(terms.Terms, kernel.BetaTerm{A: a, B: b, C: c})
	terms.Lo, terms.Hi = append(terms.Lo, lo), append(terms.Hi, hi)
	t.lo, t.hi = min(t.lo, lo), max(t.hi, hi)
	// Errors grow with the twelfth power of the step; components of small weight may have larger errors.
	light := min(max(-1./12*(log.w+logK), 0), 1)
	long := t.grade.long
	step := t.grade.step * math.Sqrt(min(ra, 1)+min(rb, 1)) * (1 + light*(1+0.5*light)) // a little less than the exponential
	left, right := min(max(lo, tableTail-log.sum), hi), max(min(hi, log.sum-tableTail), lo)
	t.zones = append(t.zones, tableZones{
		edges: [...]float64{lo, max(lo, left-tableBend), left, right, min(hi, right+tableBend), hi},
		steps: [...]float64{
			long * min(tableFar, tablePower*ra), long * min(tableMild, tablePower*ra), min(step, long*tableLongest),
			long * min(tableMild, tablePower*rb), long * min(tableFar, tablePower*rb),
		},
	})
	return true
}

// place chooses the nodes: the range is divided into buckets, and these into cells as short as the shortest
// that a component requires there, or joined to longer cells.
func (t *quantileTable) place() bool {
	width := math.Ldexp(1, math.Ilogb((t.hi-t.lo)/tableBuckets)+1)
	per := 1 / width // a power of two, as width is
	first := math.Floor(t.lo * per)
	n := int(math.Ceil(t.hi*per) - first)
	buckets := t.buckets[:n]
	for i := range buckets {
		buckets[i] = math.Inf(1)
	}
	for i := range t.zones {
		z := &t.zones[i]
		from := int(z.edges[0]*per - first)
		for j, step := range z.steps {
			// Signed, because conversions to unsigned integers take several times as long.
			to := int(z.edges[j+1]*per - first)
			t.levels.require(from, to, step, z.edges[j]-z.edges[j+1])
			from = to
		}
	}
	t.levels.fill(buckets)
	if t.nodes == nil {
		t.nodes, t.step = make([]float64, tableNodes+kernel.BetaLanes), make([]float64, tableNodes)
	}
	nodes, steps := t.nodes[:tableNodes], t.step[:tableNodes]
	nodes[0] = first * width
	last := 0 // node
	for i := 0; i < n; {
		from, step, longest := i, buckets[i], buckets[i]
		for i++; i < n; i++ {
			least, most := min(step, buckets[i]), max(longest, buckets[i])
			if !(most <= 1.25*least) && least <= math.MaxFloat64 {
				break
			}
			step, longest = least, most
		}
		length := float64(i-from) * width
		at, cells := (first+float64(from))*width, max(1, math.Ceil(length/step))
		if cells > float64(tableNodes-1-last) {
			return false
		}
		h := length / cells
		kept := h
		if math.IsInf(step, 1) {
			kept = 0
		}
		for c := 1.0; c <= cells; c++ {
			steps[last] = kept
			last++
			nodes[last] = at + c*h
		}
		nodes[last] = (first + float64(i)) * width // without the error of h: terms may end here
	}
	t.nodes, t.step = nodes[:last+1], steps[:last]
	return true
}

// evaluate computes the density and its derivatives at the nodes.
func (t *quantileTable) evaluate() {
	n := len(t.nodes)
	const lanes = kernel.BetaLanes
	blocks := (n + lanes - 1) / lanes
	nodes := t.nodes[:blocks*lanes]
	for i := n; i < len(nodes); i++ {
		nodes[i] = nodes[n-1]
	}
	t.f = room(t.f, blocks)[:blocks]
	t.terms.Sums(t.f, nodes)
}

// at returns the density at node i and its derivatives.
func (t *quantileTable) at(i int) (f [kernel.BetaDerivatives]float64) {
	block, lane := &t.f[i/kernel.BetaLanes], i%kernel.BetaLanes
	for d := range f {
		f[d] = block[d][lane]
	}
	return f
}

// sum computes the masses below the nodes, and reports whether the total is one.
func (t *quantileTable) sum() bool {
	n := len(t.nodes)
	t.mass = room(t.mass, n)[:n]
	below, above := t.beyond()
	t.mass[0] = below
	var f0, f1, f2, f3, f4, f5 float64 // at the node before
	for block := range t.f {
		f := &t.f[block]
		from := block * kernel.BetaLanes
		for lane := range min(kernel.BetaLanes, n-from) {
			g0, g1, g2, g3, g4, g5 := f[0][lane], f[1][lane], f[2][lane], f[3][lane], f[4][lane], f[5][lane]
			if i := from + lane; i > 0 {
				h := t.step[i-1]
				m := h * (0.5*(f0+g0) + h*((5./44)*(f1-g1)+h*((1./66)*(f2+g2)+h*((1./792)*(f3-g3)+h*((1./15840)*(f4+g4)+h*(1./665280)*(f5-g5))))))
				if m < 0 {
					if m < -t.grade.error() {
						return false
					}
					m = 0
				}
				below += m
				t.mass[i] = below
			}
			f0, f1, f2, f3, f4, f5 = g0, g1, g2, g3, g4, g5
		}
	}
	t.total = below + above
	return math.Abs(t.total-1) <= t.grade.error()
}

// beyond returns the mass below the first node and the mass above the last one. They are zero unless these nodes are
// at −tableEnd and tableEnd. The mass of a component beyond the end at which its density is nearly the a-th power of x is
//
//	I_x(a, b) = x^a/(a B(a, b)) (1 + a(1−b)x/(a+1) + …).
func (t *quantileTable) beyond() (below, above float64) {
	n := len(t.terms.Terms)
	t.values = room(t.values, 2*n)
	exponents, nought := t.values[:n], t.values[n:2*n]
	var sums [2]float64
	for side := range sums {
		upper := side == 1
		if !upper && t.lo > -tableEnd || upper && t.hi < tableEnd {
			continue
		}
		clear(nought)
		t.far[side] = room(t.far[side], n)[:n]
		mass := t.far[side]
		for i := range t.terms.Terms {
			c := &t.terms.Terms[i]
			exponents[i] = c.C - tableEnd*powerAt(c, upper) - (c.A+c.B)*smallest
		}
		kernel.ExpLinear(mass, exponents, nought, 1, 0)
		for i := range t.terms.Terms {
			c := &t.terms.Terms[i]
			if !upper && t.terms.Lo[i] > -tableEnd || upper && t.terms.Hi[i] < tableEnd {
				mass[i] = 0
				continue
			}
			a := powerAt(c, upper)
			mass[i] *= (1 + (c.A+c.B)*smallest/(a+1)) / a
			sums[side] += mass[i]
		}
	}
	return sums[0], sums[1]
}

// powerAt returns the parameter of the power that the density of a term is near an end.
func powerAt(c *kernel.BetaTerm, upper bool) float64 {
	if upper {
		return c.B
	}
	return c.A
}

// smallest is the x at the logit −tableEnd.
var smallest = math.Exp(-tableEnd)

var logNarrow = math.Log(tableNarrow)
