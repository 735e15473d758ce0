//go:build !purego

package kernel

// indexedRunsFunc is a variant of indexedRuns for one number of lanes, taps in a
// kernel row, and positions in a run.
type indexedRunsFunc = func(out, bias, x *float32, a, o *int32, n int, rows *int32, nr int, v *float32)

// The variants for runs of 1, 2, … positions, by lanes and taps.
var (
	runs8x3AVX2 = []indexedRunsFunc{
		indexedRuns8x3x1AVX2, indexedRuns8x3x2AVX2, indexedRuns8x3x3AVX2, indexedRuns8x3x4AVX2,
		indexedRuns8x3x5AVX2, indexedRuns8x3x6AVX2, indexedRuns8x3x7AVX2, indexedRuns8x3x8AVX2,
		indexedRuns8x3x9AVX2, indexedRuns8x3x10AVX2, indexedRuns8x3x11AVX2, indexedRuns8x3x12AVX2,
	}
	runs8x5AVX2 = []indexedRunsFunc{
		indexedRuns8x5x1AVX2, indexedRuns8x5x2AVX2, indexedRuns8x5x3AVX2, indexedRuns8x5x4AVX2,
		indexedRuns8x5x5AVX2, indexedRuns8x5x6AVX2, indexedRuns8x5x7AVX2, indexedRuns8x5x8AVX2,
		indexedRuns8x5x9AVX2, indexedRuns8x5x10AVX2,
	}
	runs16x3AVX2 = []indexedRunsFunc{
		indexedRuns16x3x1AVX2, indexedRuns16x3x2AVX2, indexedRuns16x3x3AVX2, indexedRuns16x3x4AVX2,
		indexedRuns16x3x5AVX2, indexedRuns16x3x6AVX2,
	}
	runs16x5AVX2 = []indexedRunsFunc{
		indexedRuns16x5x1AVX2, indexedRuns16x5x2AVX2, indexedRuns16x5x3AVX2, indexedRuns16x5x4AVX2,
		indexedRuns16x5x5AVX2, indexedRuns16x5x6AVX2,
	}
	runs8x3AVX512 = []indexedRunsFunc{
		indexedRuns8x3x1AVX512, indexedRuns8x3x2AVX512, indexedRuns8x3x3AVX512, indexedRuns8x3x4AVX512,
		indexedRuns8x3x5AVX512, indexedRuns8x3x6AVX512, indexedRuns8x3x7AVX512, indexedRuns8x3x8AVX512,
		indexedRuns8x3x9AVX512, indexedRuns8x3x10AVX512, indexedRuns8x3x11AVX512, indexedRuns8x3x12AVX512,
		indexedRuns8x3x13AVX512, indexedRuns8x3x14AVX512, indexedRuns8x3x15AVX512, indexedRuns8x3x16AVX512,
	}
	runs8x5AVX512 = []indexedRunsFunc{
		indexedRuns8x5x1AVX512, indexedRuns8x5x2AVX512, indexedRuns8x5x3AVX512, indexedRuns8x5x4AVX512,
		indexedRuns8x5x5AVX512, indexedRuns8x5x6AVX512, indexedRuns8x5x7AVX512, indexedRuns8x5x8AVX512,
		indexedRuns8x5x9AVX512, indexedRuns8x5x10AVX512, indexedRuns8x5x11AVX512, indexedRuns8x5x12AVX512,
		indexedRuns8x5x13AVX512, indexedRuns8x5x14AVX512, indexedRuns8x5x15AVX512, indexedRuns8x5x16AVX512,
	}
	runs16x3AVX512 = []indexedRunsFunc{
		indexedRuns16x3x1AVX512, indexedRuns16x3x2AVX512, indexedRuns16x3x3AVX512, indexedRuns16x3x4AVX512,
		indexedRuns16x3x5AVX512, indexedRuns16x3x6AVX512, indexedRuns16x3x7AVX512, indexedRuns16x3x8AVX512,
		indexedRuns16x3x9AVX512, indexedRuns16x3x10AVX512, indexedRuns16x3x11AVX512, indexedRuns16x3x12AVX512,
		indexedRuns16x3x13AVX512, indexedRuns16x3x14AVX512, indexedRuns16x3x15AVX512, indexedRuns16x3x16AVX512,
	}
	runs16x5AVX512 = []indexedRunsFunc{
		indexedRuns16x5x1AVX512, indexedRuns16x5x2AVX512, indexedRuns16x5x3AVX512, indexedRuns16x5x4AVX512,
		indexedRuns16x5x5AVX512, indexedRuns16x5x6AVX512, indexedRuns16x5x7AVX512, indexedRuns16x5x8AVX512,
		indexedRuns16x5x9AVX512, indexedRuns16x5x10AVX512, indexedRuns16x5x11AVX512, indexedRuns16x5x12AVX512,
		indexedRuns16x5x13AVX512, indexedRuns16x5x14AVX512, indexedRuns16x5x15AVX512, indexedRuns16x5x16AVX512,
	}
)

func runsAVX2(kw, cb int) []indexedRunsFunc {
	switch {
	case kw == 3 && cb == 8:
		return runs8x3AVX2
	case kw == 3:
		return runs16x3AVX2
	case kw == 5 && cb == 8:
		return runs8x5AVX2
	case kw == 5:
		return runs16x5AVX2
	}
	return nil
}

func runsAVX512(kw, cb int) []indexedRunsFunc {
	switch {
	case kw == 3 && cb == 8:
		return runs8x3AVX512
	case kw == 3:
		return runs16x3AVX512
	case kw == 5 && cb == 8:
		return runs8x5AVX512
	case kw == 5:
		return runs16x5AVX512
	}
	return nil
}

// Below the shortest run the latency of a multiply-add shows: it takes eight to
// ten independent vectors to hide it.
func runLimitsAVX2(kw, cb int) (shortest, longest int) {
	shortest = 8
	if cb == 16 {
		shortest = 5
	}
	return shortest, len(runsAVX2(kw, cb))
}

func runLimitsAVX512(kw, cb int) (shortest, longest int) { return 8, len(runsAVX512(kw, cb)) }

func indexedRunsAVX2(out, bias, x []float32, a, o []int32, run int, rows []int32, kw int, v []float32, cb int) {
	runsAVX2(kw, cb)[run-1](&out[0], &bias[0], &x[0], &a[0], &o[0], len(a), &rows[0], len(rows), &v[0])
}

func indexedRunsAVX512(out, bias, x []float32, a, o []int32, run int, rows []int32, kw int, v []float32, cb int) {
	runsAVX512(kw, cb)[run-1](&out[0], &bias[0], &x[0], &a[0], &o[0], len(a), &rows[0], len(rows), &v[0])
}
