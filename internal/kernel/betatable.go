package kernel

import (
	"math"
	"math/bits"
)

// BetaLanes is the number of points of a block, and of terms that are processed at a time.
const BetaLanes = 8

// WholeBlocks returns n rounded up to whole blocks of BetaLanes.
func WholeBlocks(n int) int { return (n + BetaLanes - 1) &^ (BetaLanes - 1) }

// BetaPoints are values at the points of a block, or of the terms of a block.
type BetaPoints [BetaLanes]float64

// BetaDerivatives is the number of values of [BetaTable.Sums]: a density and its derivatives.
const BetaDerivatives = 6

// BetaTerm is a Beta(A, B) distribution with a weight w: C = ln(w/B(A, B)).
type BetaTerm struct{ A, B, C float64 }

// BetaTerms are n Beta(A, B) distributions with weights w, and logarithms: LogSum = ln(A+B), LogW = ln w, LogBeta = ln B(A, B).
// All slices are [n], with room for whole blocks.
type BetaTerms struct{ A, B, LogA, LogB, LogSum, LogW, LogBeta []float64 }

// BetaTable is a mixture of Beta distributions on the logit scale that is evaluated at many points. The zero value has
// no terms.
type BetaTable struct {
	n        int // terms
	blocks   []betaBlock
	least    [3]BetaPoints // of betaZones
	selected []BetaTerm    // terms that matter in a block of points
	offsets  []uint32      // of these
}

// betaBlock has eight terms, one in each lane.
type betaBlock struct {
	A, B, C BetaPoints
	// Zone j of a term is from Edges[j] to Edges[j+1], if it is not empty: the far and the near part of the left tail, the
	// middle, and two parts of the right tail. Nodes are there to be at most Steps[j] apart. The term matters from
	// Edges[0] to Edges[betaZones], from +Inf to −Inf if it is left out.
	Edges [betaZones + 1]BetaPoints
	Steps [betaZones]BetaPoints
}

// betaZones is the number of zones of a term.
const betaZones = 5

// Range returns the logits between which term i matters, +Inf and −Inf if it was left out.
func (t *BetaTable) Range(i int) (lo, hi float64) {
	b, lane := &t.blocks[i/BetaLanes], i%BetaLanes
	return b.Edges[0][lane], b.Edges[betaZones][lane]
}

// ZoneRule determines where terms matter and how far apart nodes may be there. All fields are numbers, in this order, because
// assembly reads them.
type ZoneRule struct {
	LogMissing float64 // logarithm of the mass that a term may leave out at either end; terms with less are left out
	LogNarrow  float64 // logarithm of the 1/A + 1/B below which a term leaves out less
	LogTerms   float64 // logarithm of the number of terms
	End        float64 // largest logit
	Step       float64 // of the middle, in units of a term's width
	Longest    float64 // largest step of the middle
	Power      float64 // largest step of tails in units of 1/A or 1/B
	Mild, Far  float64 // largest step of the near and of the far part of tails
	Tail, Bend float64 // tails begin where ln((A+B)x) is Tail, their far parts at a distance of Bend
}

// Set makes t the table of terms, of which those with LogW > M = LogMissing matter. It returns the range of them all. With r = 1/A, s = 1/B,
// M′ = M − 3 max(0, LogNarrow − ln(r + s)), D = LogW − M′ + 0.7, C = LogW − LogBeta, and l = −(LogW + LogTerms)/12, between 0 and 1,
//
//	lo = max(ln(A/B) − √(2D(r+s)) − Dr, (M′ + ln A − C)r, −End),
//	hi = min(ln(A/B) + √(2D(r+s)) + Ds, (C − M′ − ln B)s, End),
//	left = Tail − ln(A+B), right = −left, both from lo to hi,
//	edges lo, max(lo, left − Bend), left, right, min(hi, right + Bend), hi,
//	steps min(Far, Power r), min(Mild, Power r), min(Longest, Step √(min(r,1) + min(s,1)) (1 + l + l²/2)),
//	min(Mild, Power s), min(Far, Power s).
//
// ok reports whether a term matters, and lo < hi for all that do. LogW behind its end is set.
func (t *BetaTable) Set(terms *BetaTerms, rule *ZoneRule) (lo, hi float64, ok bool) {
	n := len(terms.A)
	whole := WholeBlocks(n)
	for _, x := range [...][]float64{terms.A, terms.B, terms.LogA, terms.LogB, terms.LogSum, terms.LogW, terms.LogBeta} {
		if len(x) != n || cap(x) < whole {
			panic("kernel: BetaTable.Set: terms without room for whole blocks")
		}
	}
	if cap(t.blocks) < whole/BetaLanes {
		t.blocks = make([]betaBlock, whole/BetaLanes)
	}
	t.n, t.blocks = n, t.blocks[:whole/BetaLanes]
	if n == 0 {
		return 0, 0, false
	}
	for i := n; i < whole; i++ {
		terms.LogW[:whole][i] = math.Inf(-1)
	}
	active.betaZones(&t.least, t.blocks, terms, rule)
	lo, up, width := math.Inf(1), math.Inf(1), math.Inf(1)
	for lane := range BetaLanes {
		lo, up, width = min(lo, t.least[0][lane]), min(up, t.least[1][lane]), min(width, t.least[2][lane])
	}
	return lo, -up, width > 0 && lo < -up
}

// betaZonesGeneric also sets least to the smallest lo, −hi and hi − lo of the terms that matter.
func betaZonesGeneric(least *[3]BetaPoints, blocks []betaBlock, terms *BetaTerms, rule *ZoneRule) {
	inf := math.Inf(1)
	for lane := range BetaLanes {
		lows, highs, widths := inf, inf, inf
		for i := range blocks {
			at, b := i*BetaLanes+lane, &blocks[i]
			logW := terms.LogW[:len(blocks)*BetaLanes][at]
			if !(logW > rule.LogMissing) {
				for j := range b.Edges {
					b.Edges[j][lane] = 0
				}
				b.Edges[0][lane], b.Edges[betaZones][lane] = inf, -inf
				continue
			}
			logA, logB, logSum := terms.LogA[at], terms.LogB[at], terms.LogSum[at]
			c, peak := logW-terms.LogBeta[at], logA-logB
			b.A[lane], b.B[lane], b.C[lane] = terms.A[at], terms.B[at], c
			r, s := 1/b.A[lane], 1/b.B[lane]
			missing := rule.LogMissing - 3*max(0, rule.LogNarrow+logA+logB-logSum)
			drop := logW - missing + 0.7
			width := math.Sqrt(2 * drop * (r + s))
			lo := max(peak-width-drop*r, (missing+logA-c)*r, -rule.End)
			hi := min(peak+width+drop*s, (c-missing-logB)*s, rule.End)
			lows, highs, widths = min(lows, lo), min(highs, -hi), min(widths, hi-lo)
			left, right := min(max(lo, rule.Tail-logSum), hi), max(min(hi, logSum-rule.Tail), lo)
			for j, edge := range [...]float64{lo, max(lo, left-rule.Bend), left, right, min(hi, right+rule.Bend), hi} {
				b.Edges[j][lane] = edge
			}
			light := min(max(-1./12*(logW+rule.LogTerms), 0), 1)
			middle := rule.Step * math.Sqrt(min(r, 1)+min(s, 1)) * (1 + light*(1+0.5*light))
			for j, step := range [...]float64{
				min(rule.Far, rule.Power*r), min(rule.Mild, rule.Power*r), min(middle, rule.Longest),
				min(rule.Mild, rule.Power*s), min(rule.Far, rule.Power*s),
			} {
				b.Steps[j][lane] = step
			}
		}
		least[0][lane], least[1][lane], least[2][lane] = lows, highs, widths
	}
}

// BetaBuckets is the number of buckets of [BetaTable.Levels].
const BetaBuckets = 64

// A level stands for a step: its exponent and the first five bits of its mantissa, counted from those of 2⁻²⁹. Larger and
// smaller steps have the last and the first level; NoLevel is above all.
const (
	stepLevels = 1024
	levelBits  = 52 - 5
	levelFirst = (1023 - 29) << 5

	NoLevel = 0xffff
)

// StepOfLevel returns the smallest step of a level, 0 for the first one and +Inf for NoLevel.
func StepOfLevel(level uint16) float64 {
	switch level {
	case 0:
		return 0
	case NoLevel:
		return math.Inf(1)
	}
	return math.Float64frombits(uint64(level+levelFirst) << levelBits)
}

// Levels sets levels to the lowest level of a step that is required in each bucket, NoLevel where none is: bucket i is from
// (first + i)/per to (first + i + 1)/per. No term matters outside of them.
func (t *BetaTable) Levels(levels *[BetaBuckets]uint16, per, first float64) {
	active.betaLevels(levels, t.blocks, per, first)
}

// betaLevelsGeneric has a set of buckets for each level, as the bits of a number, so that a zone costs the same however long it is.
func betaLevelsGeneric(levels *[BetaBuckets]uint16, blocks []betaBlock, per, first float64) {
	var sets [stepLevels]uint64
	var used [stepLevels / 64]uint64 // levels with a set that is not empty
	for i := range blocks {
		b := &blocks[i]
		for lane := range BetaLanes {
			if b.Edges[0][lane] > b.Edges[betaZones][lane] {
				continue
			}
			from := int(b.Edges[0][lane]*per - first) // signed, because conversions to unsigned integers take several times as long
			for j := range betaZones {
				to := int(b.Edges[j+1][lane]*per - first)
				// Without branches: whether a zone is empty is hard to predict.
				some := uint64(int64(math.Float64bits(b.Edges[j][lane]-b.Edges[j+1][lane])) >> 63)
				level := min(max(int(math.Float64bits(b.Steps[j][lane])>>levelBits)-levelFirst, 0), stepLevels-1)
				sets[level] |= (2<<uint(to&63) - 1<<uint(from&63)) & some
				used[level/64] |= 1 << (level % 64) & some
				from = to
			}
		}
	}
	for i := range levels {
		levels[i] = NoLevel
	}
	left := ^uint64(0) // buckets that are not set yet
	for word, used := range used {
		for ; used != 0; used &= used - 1 {
			level := word*64 + bits.TrailingZeros64(used)
			for fresh := sets[level] & left; fresh != 0; fresh &= fresh - 1 {
				levels[bits.TrailingZeros64(fresh)] = uint16(level)
			}
			left &^= sets[level]
		}
	}
}

// Beyond sets dst[i] to the mass of term i beyond the logit −end or, if upper, end, for terms that matter there, and to 0 for all others;
// it returns the sum. The density is nearly a power of x there: with ε the x at −end,
//
//	I_ε(A, B) = ε^A/(A B(A, B)) (1 + A(1−B)ε/(A+1) + …) ≈ exp(−A end − (A+B)ε)/(A B(A, B)) (1 + (A+B)ε/(A+1)).
//
// dst has room for whole blocks.
func (t *BetaTable) Beyond(dst []float64, upper bool, end float64) (sum float64) {
	sameLen(t.n, len(dst), len(dst))
	if t.n == 0 {
		return 0
	}
	dst = dst[:len(t.blocks)*BetaLanes]
	active.betaBeyond(dst, t.blocks, upper, end, math.Exp(-end))
	for _, m := range dst[:t.n] {
		sum += m
	}
	return sum
}

func betaBeyondGeneric(dst []float64, blocks []betaBlock, upper bool, end, small float64) {
	for i := range dst {
		b, lane := &blocks[i/BetaLanes], i%BetaLanes
		a, at := b.A[lane], -b.Edges[0][lane]
		if upper {
			a, at = b.B[lane], b.Edges[betaZones][lane]
		}
		if dst[i] = 0; at >= end {
			s := (b.A[lane] + b.B[lane]) * small
			dst[i] = math.Exp(b.C[lane]-end*a-s) * (1 + s/(a+1)) / a
		}
	}
}

// ends returns the rows of the parameters and the edges at one end, and the sign with which edges are larger farther out.
func (b *betaBlock) ends(upper bool) (parameters, edges *float64, sign float64) {
	if upper {
		return &b.B[0], &b.Edges[betaZones][0], 1
	}
	return &b.A[0], &b.Edges[0][0], -1
}

// Sums sets row 0 of dst [BetaDerivatives, len(z)] to the density of the mixture at the logits z, which ascend and are finite, at most
// 700 in size, and rows 1 to 5 to its derivatives: with x = 1/(1+e⁻ᶻ), y = 1 − x, q = xy, τ = y − x,
//
//	φ_k = exp(C + A ln x + B ln y),   λ = Ay − Bx,   s = A + B,
//	S_i = Σ φ_k λⁱ,   T_i = Σ φ_k s λⁱ,   U_i = Σ φ_k s² λⁱ,
//	f = S₀,   f′ = S₁,   f″ = S₂ − qT₀,   f‴ = S₃ − 3qT₁ − qτT₀,
//	f⁗ = S₄ − 6qT₂ − 4qτT₁ + 3q²U₀ + (2q² − qτ²)T₀,
//	f⁽⁵⁾ = S₅ − 10qT₃ − 10qτT₂ + 15q²U₁ + (10q² − 5qτ²)T₁ + 10q²τU₀ + (8q²τ − qτ³)T₀.
//
// Terms that do not matter at a block of points, a multiple of 8 of which there are, are left out of it. An exponent is computed
// with an absolute error of some 2⁻⁵² of its largest term. A φ_k below e⁻³⁰⁰ may count as that.
func (t *BetaTable) Sums(dst, z []float64) {
	sameLen(len(dst), BetaDerivatives*len(z), BetaDerivatives*WholeBlocks(len(z)))
	if len(z) == 0 {
		return
	}
	if active.betaTable != nil {
		active.betaTable(t, dst, z)
		return
	}
	if cap(t.selected) <= t.n {
		t.selected = make([]BetaTerm, t.n+1)
	}
	of := t.selected[:t.n+1]
	var sums [BetaDerivatives]BetaPoints
	for at := 0; at < len(z); at += BetaLanes {
		points := (*BetaPoints)(z[at:])
		// Which terms matter is hard to predict: a term is always copied, and stays if lo < points[7] and hi ≥ points[0], of
		// which the differences have the signs.
		used := 0
		for i := range t.blocks {
			b := &t.blocks[i]
			for lane := range min(BetaLanes, t.n-i*BetaLanes) {
				of[used] = BetaTerm{b.A[lane], b.B[lane], b.C[lane]}
				lo, hi := b.Edges[0][lane], b.Edges[betaZones][lane]
				used += int(math.Float64bits(lo-points[BetaLanes-1]) &^ math.Float64bits(hi-points[0]) >> 63)
			}
		}
		active.betaSums(&sums, points, of[:used])
		for d := range sums {
			copy(dst[d*len(z)+at:], sums[d][:])
		}
	}
}
