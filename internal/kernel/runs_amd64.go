//go:build !purego

package kernel

// indexedRunsFunc is a variant of indexedRuns for one number of lanes, taps in a
// kernel row, and positions in a run.
type indexedRunsFunc = func(out, bias, x *float32, a, o *int32, n int, rows *int32, nr int, v *float32)

// The variants for runs of 1 … 16 positions.
var (
	runs8x3 = [maxTile]indexedRunsFunc{
		indexedRuns8x3x1AVX512, indexedRuns8x3x2AVX512, indexedRuns8x3x3AVX512, indexedRuns8x3x4AVX512, indexedRuns8x3x5AVX512, indexedRuns8x3x6AVX512, indexedRuns8x3x7AVX512, indexedRuns8x3x8AVX512,
		indexedRuns8x3x9AVX512, indexedRuns8x3x10AVX512, indexedRuns8x3x11AVX512, indexedRuns8x3x12AVX512, indexedRuns8x3x13AVX512, indexedRuns8x3x14AVX512, indexedRuns8x3x15AVX512, indexedRuns8x3x16AVX512,
	}
	runs8x5 = [maxTile]indexedRunsFunc{
		indexedRuns8x5x1AVX512, indexedRuns8x5x2AVX512, indexedRuns8x5x3AVX512, indexedRuns8x5x4AVX512, indexedRuns8x5x5AVX512, indexedRuns8x5x6AVX512, indexedRuns8x5x7AVX512, indexedRuns8x5x8AVX512,
		indexedRuns8x5x9AVX512, indexedRuns8x5x10AVX512, indexedRuns8x5x11AVX512, indexedRuns8x5x12AVX512, indexedRuns8x5x13AVX512, indexedRuns8x5x14AVX512, indexedRuns8x5x15AVX512, indexedRuns8x5x16AVX512,
	}
	runs16x3 = [maxTile]indexedRunsFunc{
		indexedRuns16x3x1AVX512, indexedRuns16x3x2AVX512, indexedRuns16x3x3AVX512, indexedRuns16x3x4AVX512, indexedRuns16x3x5AVX512, indexedRuns16x3x6AVX512, indexedRuns16x3x7AVX512, indexedRuns16x3x8AVX512,
		indexedRuns16x3x9AVX512, indexedRuns16x3x10AVX512, indexedRuns16x3x11AVX512, indexedRuns16x3x12AVX512, indexedRuns16x3x13AVX512, indexedRuns16x3x14AVX512, indexedRuns16x3x15AVX512, indexedRuns16x3x16AVX512,
	}
	runs16x5 = [maxTile]indexedRunsFunc{
		indexedRuns16x5x1AVX512, indexedRuns16x5x2AVX512, indexedRuns16x5x3AVX512, indexedRuns16x5x4AVX512, indexedRuns16x5x5AVX512, indexedRuns16x5x6AVX512, indexedRuns16x5x7AVX512, indexedRuns16x5x8AVX512,
		indexedRuns16x5x9AVX512, indexedRuns16x5x10AVX512, indexedRuns16x5x11AVX512, indexedRuns16x5x12AVX512, indexedRuns16x5x13AVX512, indexedRuns16x5x14AVX512, indexedRuns16x5x15AVX512, indexedRuns16x5x16AVX512,
	}
)

func indexedRunsAVX512(out, bias, x []float32, a, o []int32, run int, rows []int32, kw int, v []float32, cb int) {
	var by *[maxTile]indexedRunsFunc
	switch {
	case cb == 8 && kw == 3:
		by = &runs8x3
	case cb == 8:
		by = &runs8x5
	case kw == 3:
		by = &runs16x3
	default:
		by = &runs16x5
	}
	by[run-1](&out[0], &bias[0], &x[0], &a[0], &o[0], len(a), &rows[0], len(rows), &v[0])
}
