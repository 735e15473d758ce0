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

// sparseDots are the variants for 1 … 9 kernel rows at a time.
var sparseDots = [...]func(dw *float32, ldw int, x *float32, rows *int32, kw int, pos *int32, g *float32, n int){
	sparseDot1AVX2, sparseDot2AVX2, sparseDot3AVX2, sparseDot4AVX2, sparseDot5AVX2,
	sparseDot6AVX2, sparseDot7AVX2, sparseDot8AVX2, sparseDot9AVX2,
}

// sparseDot8 is sparseDotGeneric in chunks of 8 taps and groups of up to 9
// kernel rows of about equal size.
func sparseDot8(dw, x []float32, rows []int32, kw int, pos []int32, g []float32) {
	if len(pos) == 0 {
		return
	}
	groups := (len(rows) + len(sparseDots) - 1) / len(sparseDots)
	for l := 0; l < kw; l += 8 {
		for i := range groups {
			r, next := i*len(rows)/groups, (i+1)*len(rows)/groups
			sparseDots[next-r-1](&dw[r*kw+l], kw, &x[l], &rows[r], min(8, kw-l), &pos[0], &g[0], len(pos))
		}
	}
}

// sparseAdd8 is sparseAddGeneric. Rows of more than 8 taps are done in chunks,
// winner by winner to keep the order.
func sparseAdd8(dx, w []float32, rows []int32, kw int, pos []int32, g []float32) {
	if len(pos) == 0 {
		return
	}
	if kw <= 8 {
		sparseAddAVX2(&dx[0], &w[0], kw, &rows[0], len(rows), kw, &pos[0], &g[0], len(pos))
		return
	}
	for j := range pos {
		for l := 0; l < kw; l += 8 {
			sparseAddAVX2(&dx[l], &w[l], kw, &rows[0], len(rows), min(8, kw-l), &pos[j], &g[j], 1)
		}
	}
}
