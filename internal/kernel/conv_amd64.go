//go:build !purego

package kernel

func indexedAVX2(out, bias, x []float32, a, b []int32, v []float32, cb int) {
	if cb == 16 {
		indexed16AVX2(&out[0], first(bias), first(x), &a[0], len(a), first(b), len(b), first(v))
	} else {
		indexed8AVX2(&out[0], first(bias), first(x), &a[0], len(a), first(b), len(b), first(v))
	}
}

func indexedAVX512(out, bias, x []float32, a, b []int32, v []float32, cb int) {
	if cb == 16 {
		indexed16AVX512(&out[0], first(bias), first(x), &a[0], len(a), first(b), len(b), first(v))
	} else {
		indexed8AVX2(&out[0], first(bias), first(x), &a[0], len(a), first(b), len(b), first(v))
	}
}

// indexedRowsFunc is a variant of indexedRows for a number of channels.
type indexedRowsFunc = func(out *float32, ldo int, x *float32, a *int32, na int, b *int32, nb int, w *float32)

// The variants for 1 … 6 channels.
var (
	rowsAVX2 = [maxRowChannels]indexedRowsFunc{indexedRows1AVX2, indexedRows2AVX2, indexedRows3AVX2,
		indexedRows4AVX2, indexedRows5AVX2, indexedRows6AVX2}

	rowsAVX512 = [maxRowChannels]indexedRowsFunc{indexedRows1AVX512, indexedRows2AVX512, indexedRows3AVX512,
		indexedRows4AVX512, indexedRows5AVX512, indexedRows6AVX512}
)

func rowTileAVX2(channels, _ int) int {
	return [maxRowChannels]int{10, 6, 4, 3, 2, 2}[channels-1]
}

func rowTileAVX512(channels, run int) int {
	if run == 8 {
		return rowTileAVX2(channels, run)
	}
	return [maxRowChannels]int{10, 10, 8, 6, 4, 4}[channels-1]
}

func indexedRowsAVX2(out, x []float32, a, b []int32, w []float32, channels, run int) {
	rowsAVX2[channels-1](&out[0], len(a)*run, &x[0], &a[0], len(a), first(b), len(b), first(w))
}

func indexedRowsAVX512(out, x []float32, a, b []int32, w []float32, channels, run int) {
	rows := &rowsAVX512
	if run == 8 {
		rows = &rowsAVX2
	}
	rows[channels-1](&out[0], len(a)*run, &x[0], &a[0], len(a), first(b), len(b), first(w))
}

// unblock8 is unblockGeneric in groups of 8 channels.
func unblock8(dst []float32, ld int, src []float32, n, cb, lanes int) {
	if n < 8 {
		unblockGeneric(dst, ld, src, n, cb, lanes)
		return
	}
	for c := 0; c < lanes; c += 8 {
		unblockAVX2(&dst[c*ld], ld, &src[c], cb, n, min(8, lanes-c))
	}
}

// block8 is blockGeneric in groups of 8 channels.
func block8(dst []float32, src []float32, ld int, n, cb, lanes int) {
	if n < 8 {
		blockGeneric(dst, src, ld, n, cb, lanes)
		return
	}
	for c := 0; c < lanes; c += 8 {
		blockAVX2(&dst[c], cb, &src[c*ld], ld, n, min(8, lanes-c))
	}
	if lanes <= 8 && cb == 16 {
		for p := range n {
			clear(dst[p*cb+8 : p*cb+16])
		}
	}
}

// copyRows8 is copyRowsGeneric for rows of at least 8 values.
func copyRows8(dst []float32, ldd int, src []float32, lds, rows, n int) {
	if n < 8 {
		copyRowsGeneric(dst, ldd, src, lds, rows, n)
		return
	}
	copyRowsAVX2(&dst[0], ldd, &src[0], lds, rows, n)
}

func blockSum8(sum, v []float32, n, cb int) {
	if cb == 16 {
		blockSum16AVX2(&sum[0], first(v), n)
	} else {
		blockSum8AVX2(&sum[0], first(v), n)
	}
}

func foldMax8(best []float32, arg []int32, row []float32, nz, pw, cb int, pos int32, first bool) {
	start := 0
	if first {
		start = 1
	}
	if cb == 16 {
		foldMax16AVX2(&best[0], &arg[0], &row[0], nz, pw, int(pos), start)
	} else {
		foldMax8AVX2(&best[0], &arg[0], &row[0], nz, pw, int(pos), start)
	}
}

// foldMax16 differs for blocks of 16 channels.
func foldMax16(best []float32, arg []int32, row []float32, nz, pw, cb int, pos int32, first bool) {
	if cb != 16 {
		foldMax8(best, arg, row, nz, pw, cb, pos, first)
		return
	}
	start := 0
	if first {
		start = 1
	}
	foldMax16AVX512(&best[0], &arg[0], &row[0], nz, pw, int(pos), start)
}
