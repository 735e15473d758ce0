//go:build !purego

package kernel

// compress holds, for each 8-bit mask, the places of its ones as bytes.
var compress = func() (t [256]uint64) {
	for k := range t {
		n := 0
		for i := range 8 {
			if k>>i&1 != 0 {
				t[k] |= uint64(i) << n
				n += 8
			}
		}
	}
	return t
}()

func winners8(pos []int32, sel, g []float32, arg []int32, n, nz, ph int, rowPos []int32, lo, width, stride int) int {
	return winnersAVX2(&pos[0], &sel[0], &g[0], &arg[0], n, nz, ph, &rowPos[0], lo, width, stride, &compress[0])
}

// winners16 differs for windows of two rows, up to 16 in a row.
func winners16(pos []int32, sel, g []float32, arg []int32, n, nz, ph int, rowPos []int32, lo, width, stride int) int {
	if ph != 2 || n > 16 {
		return winners8(pos, sel, g, arg, n, nz, ph, rowPos, lo, width, stride)
	}
	return winnersTwoAVX512(&pos[0], &sel[0], &g[0], &arg[0], n, nz, &rowPos[0], lo, width, stride)
}

// sparseDots are the variants for 1 … 9 kernel rows at a time.
var sparseDots = [...]func(dw *float32, ldw int, x *float32, rows *int32, kw int, pos *int32, grad *float32, n int){
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

// sparseBlockFunc is a variant of sparseDotBlock for a fixed number of taps.
type sparseBlockFunc = func(dw, x *float32, off, pos *int32, grad *float32, n int)

// The variants for 1, 2, … taps at a time.
var (
	sparseDots8AVX2 = [...]sparseBlockFunc{sparseDotBlock8x1AVX2, sparseDotBlock8x2AVX2, sparseDotBlock8x3AVX2,
		sparseDotBlock8x4AVX2, sparseDotBlock8x5AVX2, sparseDotBlock8x6AVX2, sparseDotBlock8x7AVX2, sparseDotBlock8x8AVX2, sparseDotBlock8x9AVX2}

	sparseDots16AVX2 = [...]sparseBlockFunc{sparseDotBlock16x1AVX2, sparseDotBlock16x2AVX2, sparseDotBlock16x3AVX2,
		sparseDotBlock16x4AVX2, sparseDotBlock16x5AVX2, sparseDotBlock16x6AVX2}

	sparseDots16AVX512 = [...]sparseBlockFunc{sparseDotBlock16x1AVX512, sparseDotBlock16x2AVX512, sparseDotBlock16x3AVX512,
		sparseDotBlock16x4AVX512, sparseDotBlock16x5AVX512, sparseDotBlock16x6AVX512, sparseDotBlock16x7AVX512, sparseDotBlock16x8AVX512, sparseDotBlock16x9AVX512}
)

func sparseDotBlockAVX2(dw, x []float32, off, pos []int32, g []float32, cb int) {
	by := sparseDots8AVX2[:]
	if cb == 16 {
		by = sparseDots16AVX2[:]
	}
	sparseDotTaps(by, dw, x, off, pos, g, cb)
}

func sparseDotBlockAVX512(dw, x []float32, off, pos []int32, g []float32, cb int) {
	by := sparseDots8AVX2[:]
	if cb == 16 {
		by = sparseDots16AVX512[:]
	}
	sparseDotTaps(by, dw, x, off, pos, g, cb)
}

// sparseDotTaps is sparseDotBlockGeneric in groups of taps of about equal size.
func sparseDotTaps(by []sparseBlockFunc, dw, x []float32, off, pos []int32, g []float32, cb int) {
	if len(pos) == 0 {
		return
	}
	groups := (len(off) + len(by) - 1) / len(by)
	for i := range groups {
		t, next := i*len(off)/groups, (i+1)*len(off)/groups
		by[next-t-1](&dw[t*cb], &x[0], &off[t], &pos[0], &g[0], len(pos))
	}
}

// sparseAddFunc is a variant of sparseAddBlock; the number is that of taps, or of rows of taps.
type sparseAddFunc = func(dx, w *float32, off *int32, number int, pos *int32, grad *float32, n int)

// The variants for any taps, and for those that lie side by side in rows of 3 and of 5; held are those for as many rows.
var (
	sparseAdds8AVX2    = [3]sparseAddFunc{sparseAddBlock8AVX2, sparseAddRuns8x3AVX2, sparseAddRuns8x5AVX2}
	sparseAdds16AVX2   = [3]sparseAddFunc{sparseAddBlock16AVX2, sparseAddRuns16x3AVX2, sparseAddRuns16x5AVX2}
	sparseAdds16AVX512 = [3]sparseAddFunc{sparseAddBlock16AVX512, sparseAddRuns16x3AVX512, sparseAddRuns16x5AVX512}

	sparseHeld8  = [3]sparseAddFunc{sparseAddBlock8AVX2, sparseAddHeld8x3AVX512, sparseAddHeld8x5AVX512}
	sparseHeld16 = [3]sparseAddFunc{sparseAddBlock16AVX512, sparseAddHeld16x3AVX512, sparseAddHeld16x5AVX512}
)

func sparseAddBlockAVX2(dx, w []float32, off []int32, run int, pos []int32, g []float32, cb int) {
	by := &sparseAdds8AVX2
	if cb == 16 {
		by = &sparseAdds16AVX2
	}
	sparseAddTaps(by, dx, w, off, run, pos, g)
}

func sparseAddBlockAVX512(dx, w []float32, off []int32, run int, pos []int32, g []float32, cb int) {
	by, held := &sparseAdds8AVX2, &sparseHeld8
	if cb == 16 {
		by, held = &sparseAdds16AVX512, &sparseHeld16
	}
	if len(off) == run*run {
		by = held
	}
	sparseAddTaps(by, dx, w, off, run, pos, g)
}

// sparseAddTaps is sparseAddBlockGeneric.
func sparseAddTaps(by *[3]sparseAddFunc, dx, w []float32, off []int32, run int, pos []int32, g []float32) {
	if len(pos) == 0 {
		return
	}
	f, number := by[0], len(off)
	switch run {
	case 3:
		f, number = by[1], len(off)/3
	case 5:
		f, number = by[2], len(off)/5
	}
	f(&dx[0], &w[0], &off[0], number, &pos[0], &g[0], len(pos))
}

// sparseDotRunsAVX512 is sparseDotRunsGeneric in groups of kw kernel rows.
func sparseDotRunsAVX512(dw, sum, x []float32, rows []int32, kw int, pos []int32, g []float32) {
	if len(pos) == 0 {
		return
	}
	var none float32
	to := &sum[0]
	for r := 0; r < len(rows); r += kw {
		if kw == 3 { // called by name, so that none stays on the stack
			sparseDotRuns8x3AVX512(&dw[r*kw*8], to, &x[0], &rows[r], &pos[0], &g[0], len(pos))
		} else {
			sparseDotRuns8x5AVX512(&dw[r*kw*8], to, &x[0], &rows[r], &pos[0], &g[0], len(pos))
		}
		to = &none
	}
}

func sparseDotTwoAVX512(dw, sum, x []float32, rows []int32, kw int, a, b winnerList) {
	f := sparseDotTwo3AVX512
	if len(rows) == 5 {
		f = sparseDotTwo5AVX512
	}
	f(&dw[0], &sum[0], &x[0], &rows[0], kw, first(a.pos), first(b.pos), first(a.g), first(b.g), len(a.pos), len(b.pos))
}
