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
// derivatives at both ([kernel.CellMasses]); the error of its integral over a cell of length h is 1.74e-13 h¹³ f⁽¹²⁾.
// The density of a component is log-concave, so that beyond the point where
// it has fallen to e⁻ᴰ of its peak there is a mass of less than e⁻ᴰ/(1−e⁻ᴰ): each component is
// evaluated only between two such points, and determines there how far apart nodes may be. If a table could
// be wrong (parameters so large that their logarithms lose digits, too many nodes, a total mass that is
// not one), make reports that it cannot be used.
type quantileTable struct {
	grade  *tableGrade
	of     kernel.BetaTerms
	rule   kernel.ZoneRule
	terms  kernel.BetaTable
	lo, hi float64      // the range of all terms
	wide   [5][]float64 // rows of widened terms
	far    [2]farTerms  // at −tableEnd and at tableEnd
	levels [kernel.BetaBuckets]uint16

	nodes []float64 // [n], padded to whole blocks with the last
	f     []float64 // f and its derivatives at the nodes, padded
	mass  []float64 // [n]: mass below each node
	step  []float64 // [n−1]: lengths of cells, 0 for one in which no component matters
	total float64   // total mass, one except for errors

	below, above float64 // masses beyond the ends

	logsOf struct { // see logarithms
		grade          *tableGrade
		terms          int
		missing, count float64
	}
}

// farTerms are the masses of terms beyond an end of the logits and the parameters that are their powers there.
type farTerms struct{ mass, power []float64 }

// tableGrade is the resolution of a table.
type tableGrade struct {
	quantile float64 // the smallest q for which it provides the q- and the (1−q)-quantile
	step     float64 // length of a cell in units of a component's width
	long     float64 // length of the longest cells, and of those in tails, in units of these of the first grade
}

// tableGrades are ordered from coarse to fine. For the normal density, errors of the distribution function are up to
// 4e-10·step¹². A quantile is taken from the first table that provides it, from the first of all only in some cases.
var tableGrades = [...]tableGrade{{0.3, 0.9, 1.1}, {0.02, 0.72, 1}, {4e-4, 0.52, 0.7}}

// medianGrade is the index of the grade for medians.
const medianGrade = 0

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
	// tableLog is the largest logarithm of a Beta function times the component's weight: its error is some 1e-16 of its size.
	// tableLargest is the largest without regard to the weight.
	tableLog, tableLargest = 6e6, 1e13
	// tableSD is the standard deviation to which narrower components are widened, because their Beta functions would be too
	// large. As all but 3e-12 of a component lies within seven standard deviations, this moves no quantile by more than 7e-8.
	tableSD = 1e-8
	// tableNormal is the smallest parameter of components that are widened, and tableWide less than the smallest a + b.
	tableNormal, tableWide = 1000, 1e9
	// tableSum is the a + b, times the component's weight, beyond which differences of log-gamma functions lose too many digits.
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
	t.grade, t.of = g, m.terms
	terms, large := &t.of, false
	for i, w := range m.w {
		l := m.gammaA[i] + m.gammaB[i] - m.gammaSum[i]
		terms.LogBeta[i] = l
		large = large || m.sum[i]*w > tableSum || m.sum[i] > tableWide || math.Abs(l) > tableLog
	}
	missing := g.missing() / float64(len(m.w))
	logMissing, logTerms := t.logarithms(g, len(m.w))
	if large && !t.large(m, missing) {
		return false
	}
	// Beyond center − √(2D)σ − D/a the density has fallen by more than e⁻ᴰ, and everywhere it is below exp(C + az).
	// Next to a narrow component cells may be so long that they magnify even the density that is left there,
	// by h⁶/665280 times the fifth power of its slope, which is about √(2D)/σ. Errors grow with the twelfth power of the
	// step; components of small weight may have larger errors.
	var ok bool
	t.rule = kernel.ZoneRule{
		LogMissing: logMissing, LogNarrow: logNarrow, LogTerms: logTerms, End: tableEnd,
		Step: g.step, Longest: g.long * tableLongest, Power: g.long * tablePower, Mild: g.long * tableMild, Far: g.long * tableFar,
		Tail: tableTail, Bend: tableBend,
	}
	if t.lo, t.hi, ok = t.terms.Set(terms, &t.rule); !ok {
		return false
	}
	t.below, t.above = t.beyond(false), t.beyond(true)
	if t.total = 1; g.quantile > tableGrades[medianGrade+1].quantile && max(t.below, t.above) >= 0.5 {
		t.nodes, t.mass = t.nodes[:0], append(t.mass[:0], t.below, 1-t.above) // all there is to the median
		return true
	}
	return t.place() && t.sum()
}

// logarithms returns those of the mass that each of so many terms may leave out and of their number, which is mostly the same as before.
func (t *quantileTable) logarithms(g *tableGrade, terms int) (logMissing, logTerms float64) {
	if t.logsOf.grade != g || t.logsOf.terms != terms {
		t.logsOf.grade, t.logsOf.terms = g, terms
		t.logsOf.missing, t.logsOf.count = math.Log(g.missing()/float64(terms)), math.Log(float64(terms))
	}
	return t.logsOf.missing, t.logsOf.count
}

// large computes the Beta functions of large parameters where that matters, and widens components that are too narrow. It reports
// whether the table supports them.
func (t *quantileTable) large(m *marginal, missing float64) bool {
	terms, widened := &t.of, false
	for i, w := range m.w {
		a, b := terms.A[i], terms.B[i]
		r := tooNarrow(a, b)
		if r < 1 && w > missing {
			if !widened {
				widened = true
				t.own()
			}
			a, b = r*a, r*b
			by := math.Log(r)
			terms.A[i], terms.B[i] = a, b
			terms.LogA[i], terms.LogB[i], terms.LogSum[i] = terms.LogA[i]+by, terms.LogB[i]+by, terms.LogSum[i]+by
		}
		if r < 1 || m.sum[i]*w > tableSum {
			terms.LogBeta[i] = special.LogBeta(a, b)
		}
		if l := math.Abs(terms.LogBeta[i]); w > missing && (l*w > tableLog || l > tableLargest) {
			return false
		}
	}
	return true
}

// own replaces what widening changes by copies.
func (t *quantileTable) own() {
	terms := &t.of
	for i, x := range []*[]float64{&terms.A, &terms.B, &terms.LogA, &terms.LogB, &terms.LogSum} {
		t.wide[i] = append(room(t.wide[i], cap(*x)), *x...)
		*x = t.wide[i]
	}
}

// tooNarrow returns the factor by which to multiply parameters so that the standard deviation is at least [tableSD].
// It is 1 if it is already, or if one of them is not large, because the distribution is then not nearly normal.
func tooNarrow(a, b float64) float64 {
	sum := a + b
	return min(1, max((a/sum)*(b/sum)/(sum*(tableSD*tableSD)), tableNormal/min(a, b)))
}

// place chooses the nodes: the range is divided into buckets, and these into cells as short as the shortest
// that a component requires there, or joined to longer cells.
func (t *quantileTable) place() bool {
	width := math.Ldexp(1, math.Ilogb((t.hi-t.lo)/tableBuckets)+1)
	per := 1 / width // a power of two, as width is
	first := math.Floor(t.lo * per)
	n := int(math.Ceil(t.hi*per) - first)
	t.terms.Levels(&t.levels, per, first)
	if t.nodes == nil {
		t.nodes, t.step = make([]float64, tableNodes+kernel.BetaLanes), make([]float64, tableNodes+kernel.BetaLanes)
	}
	nodes, steps := t.nodes[:tableNodes], t.step[:tableNodes]
	nodes[0] = first * width
	last := 0 // node
	for i := 0; i < n; {
		from, step := i, kernel.StepOfLevel(t.levels[i])
		longest := step
		for i++; i < n; i++ {
			next := kernel.StepOfLevel(t.levels[i])
			least, most := min(step, next), max(longest, next)
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

// sum computes the density and its derivatives at the nodes, and the masses below them. It reports whether the total is one.
func (t *quantileTable) sum() bool {
	n := len(t.nodes)
	stride := kernel.WholeBlocks(n)
	nodes := t.nodes[:stride]
	for i := n; i < stride; i++ {
		nodes[i] = nodes[n-1]
	}
	values := kernel.BetaDerivatives * stride
	t.f = room(t.f, values+kernel.BetaLanes)[:values]
	t.terms.Sums(t.f, nodes)
	t.mass = room(t.mass, stride+kernel.BetaLanes)[:n]
	cells := t.mass[1:]
	if least := kernel.CellMasses(cells, t.f, stride, t.step); least < -t.grade.error() {
		return false
	}
	below := t.below
	t.mass[0] = below
	for i, m := range cells {
		below += m
		cells[i] = below
	}
	t.total = below + t.above
	return math.Abs(t.total-1) <= t.grade.error()
}

// beyond returns the mass below the first node or above the last one. It is zero unless that is
// at −tableEnd or tableEnd.
func (t *quantileTable) beyond(upper bool) float64 {
	far, power := &t.far[0], t.of.A
	if upper {
		far, power = &t.far[1], t.of.B
	}
	far.mass = far.mass[:0]
	if !upper && t.lo > -tableEnd || upper && t.hi < tableEnd {
		return 0
	}
	n := len(power)
	far.mass, far.power = room(far.mass, cap(power)+n)[:n], power
	return t.terms.Beyond(far.mass, upper, tableEnd)
}

var logNarrow = math.Log(tableNarrow)
