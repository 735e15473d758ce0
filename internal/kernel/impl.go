package kernel

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"credence/internal/rng"
	"credence/internal/words"
)

// Env is the environment variable that forces an implementation.
const Env = "CREDENCE_KERNEL"

// maxTile bounds the padding of offset tables and of what indexed writes.
const maxTile = 16

// maxRowChannels is the number of channels up to which positions fill vectors
// better than channels do.
const maxRowChannels = 6

// impl is one implementation of the primitives. The reference of each is the
// function named …Generic, whose comment states what it computes.
type impl struct {
	name string
	peak func(n int) int

	// tile16 and tile8 are the number of rows that indexed computes at a
	// time for blocks of 16 and of 8 lanes, at most maxTile; tables are padded
	// to multiples.
	tile16, tile8 int
	indexed       func(out, bias, x []float32, a, b []int32, v []float32, cb int)

	// columnTiles is the number of tiles that winogradColumns computes at a time, 0 if tiles of two
	// dimensions gain nothing: they do where products stay in registers.
	columnTiles     int
	winogradColumns func(mid, x []float32, n, tiles, step int, b []int32, v, powers []float32)

	// indexedRuns is indexed for neighbouring positions and taps; it is used
	// for tiles of shortest to longest positions, longest 0 if there is no
	// variant for the kernel width.
	runLimits   func(kw, cb int) (shortest, longest int)
	indexedRuns func(out, bias, x []float32, a, o []int32, run int, rows []int32, kw int, v []float32, cb int)

	// indexedRows is indexed with positions, not channels, in the lanes:
	// runs of 8 to rowLanes positions, rowTile of them at a time.
	rowLanes    int
	rowTile     func(channels, run int) int
	indexedRows func(out, x []float32, a, b []int32, w []float32, channels, run int)

	// poolRows is convolution and max-pool of 2×2 with positions in the lanes, nil if that gains nothing: the more
	// positions a vector holds, the more it does.
	poolRows func(y []float32, arg []int32, x []float32, off []int32, w, bias []float32, p poolRun)

	winogradInput  func(v, x []float32, n, ld int, starts []int32, in []float32, t int)
	winogradOutput func(out, bias, prod []float32, ld int, o []int32, powers []float32, m, t, cb int)

	copyRows func(dst []float32, ldd int, src []float32, lds, rows, n int)
	unblock  func(dst []float32, ld int, src []float32, n, cb, lanes int)
	block    func(dst []float32, src []float32, ld int, n, cb, lanes int)
	blockSum func(sum, v []float32, n, cb int)
	foldMax  func(best []float32, arg []int32, row []float32, nz, pw, cb int, pos int32, first bool)

	sparseDot, sparseAdd func(sum, x []float32, rows []int32, kw int, pos []int32, g []float32)

	// sparseDotTwo is sparseDot for two output channels and kernels of 3 or 5 rows of at most 8 taps, with the sums of
	// the gradients; nil if it gains nothing.
	sparseDotTwo func(dw, sum, x []float32, rows []int32, kw int, a, b winnerList)

	winners        func(pos []int32, sel, g []float32, arg []int32, n, nz, ph int, rowPos []int32, lo, width, stride int) int
	sparseDotBlock func(dw, x []float32, off, pos []int32, g []float32, cb int)
	sparseAddBlock func(dx, w []float32, off []int32, run int, pos []int32, g []float32, cb int)

	// sparseDotRuns is sparseDotBlock for blocks of 8 channels and kernel rows of 3 or 5 taps, with the sum of the
	// gradients; nil if it gains nothing.
	sparseDotRuns func(dw, sum, x []float32, rows []int32, kw int, pos []int32, g []float32)

	gemmPanels func(c []float32, ldc int, a []float32, rs, ks int, b []float32, bs, bp int, bias []float32, m, n, k int)
	// gemmStrided reports whether the rows of panels may be any distance apart; else it is that of packed ones.
	gemmStrided bool
	// gemmPartial reports whether the last panel may have less than 16 columns.
	gemmPartial bool

	packRows, packCols, packTrans func(dst, a []float32, ld, k, n int)

	prefetch, claim func(x []float32)

	mask func(keep []float32, s *rng.Stream, limit uint32, scale float32)

	add, mul   func(dst, a, b []float32)
	sum, sumSq func(x []float32) float64
	colSums    func(dst, x []float32, rows, cols int)

	norm       func(y, x []float32, mean, a, b float32)
	normGrad   func(dx, dy, x []float32, p *NormGrad)
	centredDot func(g, x []float32, mean float32) float64

	dots64    func(dst, w, x []float64)
	addRows64 func(y, a, x []float64, ld int)

	// betaSums computes BetaTable.Sums at one block of points, betaTable at all of them; nil if it gains nothing. betaZones, betaLevels
	// and betaBeyond compute Set, Levels and Beyond for at least one block of terms.
	betaSums   func(dst *[BetaDerivatives]BetaPoints, z *BetaPoints, terms []BetaTerm)
	betaTable  func(t *BetaTable, dst, z []float64)
	betaZones  func(least *[3]BetaPoints, blocks []betaBlock, terms *BetaTerms, rule *ZoneRule)
	betaLevels func(levels *[BetaBuckets]uint16, blocks []betaBlock, per, first float64)
	betaBeyond func(dst []float64, blocks []betaBlock, upper bool, end, small float64)
	// cellMasses, cellIntegrals and cellRoots compute CellMasses for whole blocks, and the methods of BetaCells.
	cellMasses    func(mass, f []float64, stride int, step []float64) (least float64)
	cellIntegrals func(dst *BetaPoints, c *BetaCells)
	cellRoots     func(dst *BetaPoints, c *BetaCells)

	logGamma    func(gamma, log, x []float64)
	expLinear   func(dst, x, y []float64, slope, offset float64)
	exp64       func(x []float64)
	digammaLog  func(dst, a, c []float64)
	betaMoments func(mean, variance, a, b []float64)
	betaTails   func(dst *[4]BetaPoints, z, q *BetaPoints, terms []BetaTailTerm, lanes int)
	logBetas    func(dst *BetaLogs, w, a, b []float64)

	twoVotes      func(work []float64, g, ga, e []float32, k, s0, s1 int, scale float64, sums *[2]float64)
	clampLogits   func(dst, x []float32, width, k int, limit float32) (outside int)
	stopGradients func(g, x []float32, width, k int, limit float32)
	rootGammas    func(dst, s []float64, lines [][2]float64)
	gridGammas    func(cdf, pdf, slope, offset, table []float64, variables []GridVariable)
	panelBelow    func(cdf, pdf, top, integrals []float64, n int, half float64)
	leaveOneOut   func(sums, pdf, cdf, right, left []float64)

	exp func(dst, x []float32)
	act activations

	sgd  func(w, v, g []float32, p *SGD)
	adam func(w, m, v, g []float32, p *Adam)
}

var generic = impl{
	name: "generic", peak: peakGeneric,

	tile16: 1, tile8: 1, indexed: indexedGeneric,
	winogradColumns: winogradColumnsGeneric,
	runLimits:       func(int, int) (int, int) { return 0, 0 }, indexedRuns: indexedRunsGeneric,
	rowLanes: 8, rowTile: func(int, int) int { return 1 }, indexedRows: indexedRowsGeneric,
	winogradInput: winogradInputGeneric, winogradOutput: winogradOutputGeneric,
	copyRows: copyRowsGeneric, unblock: unblockGeneric, block: blockGeneric, blockSum: blockSumGeneric, foldMax: foldMaxGeneric,
	sparseDot: sparseDotGeneric, sparseAdd: sparseAddGeneric, winners: winnersGeneric,
	sparseDotBlock: sparseDotBlockGeneric, sparseAddBlock: sparseAddBlockGeneric,

	gemmPanels: gemmPanelsGeneric, gemmStrided: true, gemmPartial: true, packRows: packRowsGeneric, packCols: packColsGeneric, packTrans: packTransGeneric,

	prefetch: func([]float32) {}, claim: func([]float32) {}, mask: maskGeneric,
	add: addGeneric, mul: mulGeneric, sum: sumGeneric, sumSq: sumSqGeneric, colSums: colSumsGeneric,
	norm: normGeneric, normGrad: normGradGeneric, centredDot: centredDotGeneric,
	exp: eachGeneric(math.Exp), act: activationsGeneric, sgd: sgdGeneric, adam: adamGeneric,

	dots64: dots64Generic, addRows64: addRows64Generic,
	betaSums: betaSumsGeneric, betaZones: betaZonesGeneric, betaLevels: betaLevelsGeneric, betaBeyond: betaBeyondGeneric,
	cellMasses: cellMassesGeneric, cellIntegrals: cellIntegralsGeneric, cellRoots: cellRootsGeneric,
	logGamma: logGammaGeneric, expLinear: expLinearGeneric, exp64: exp64Generic, digammaLog: digammaLogGeneric, betaMoments: betaMomentsGeneric,
	betaTails: betaTailsGeneric, logBetas: logBetasGeneric,
	twoVotes: twoVotesGeneric, clampLogits: clampLogitsGeneric, stopGradients: stopGradientsGeneric,
	rootGammas: rootGammasGeneric, gridGammas: gridGammasGeneric, panelBelow: panelBelowGeneric, leaveOneOut: leaveOneOutGeneric,
}

// impls lists the implementations that this processor supports, slowest first; active is the one in use.
var (
	impls  = append([]*impl{&generic}, archImpls()...)
	active = impls[len(impls)-1]
	envErr = useNamed(os.Getenv(Env))
)

// useNamed selects the implementation that the environment names, if any.
func useNamed(name string) error {
	if name == "" {
		return nil
	}
	if err := Use(name); err != nil {
		return fmt.Errorf("%s: %w", Env, err)
	}
	return nil
}

// Name returns the implementation in use: "generic", "avx2", "avx512" or "neon".
func Name() string { return active.name }

// Available returns the implementations that run on this processor, slowest
// first.
func Available() []string {
	return words.Each(impls, func(im *impl) string { return im.name })
}

// Use selects an implementation for the whole program. Call it before any
// other function of the package; it is not safe while kernels run.
func Use(name string) error {
	if i := slices.Index(Available(), name); i >= 0 {
		active = impls[i]
		return nil
	}
	switch name {
	case "generic", "avx2", "avx512", "neon":
		return fmt.Errorf("kernel %q does not run on this processor or in this build; available: %s", name, strings.Join(Available(), ", "))
	}
	return fmt.Errorf("kernel %q is not one of generic, avx2, avx512, neon", name)
}

// Err reports what is wrong with the value of CREDENCE_KERNEL, or nil. After
// an error the fastest implementation is in use.
func Err() error { return envErr }

// Peak measures the multiply-add peak of one core with the active
// implementation's vectors, in floating-point operations a second: the best of
// several short loops that touch registers only. The reference has no vectors;
// its peak is that of a scalar multiply and add.
func Peak() float64 {
	const rounds = 1 << 16
	best := 0.0
	for range 40 {
		start := time.Now()
		flops := active.peak(rounds)
		best = max(best, float64(flops)/time.Since(start).Seconds())
	}
	return best
}

// peakGeneric does n rounds of eight independent multiply-adds and returns the
// number of operations.
func peakGeneric(n int) int {
	a := peakSink
	b, c, d, e, f, g, h := a, a, a, a, a, a, a
	for range n {
		a, b, c, d = a*a+a, b*b+b, c*c+c, d*d+d
		e, f, g, h = e*e+e, f*f+f, g*g+g, h*h+h
	}
	peakSink = a + b + c + d + e + f + g + h
	return 16 * n
}

var peakSink float32
