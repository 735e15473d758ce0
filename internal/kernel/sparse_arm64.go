//go:build !purego

package kernel

// maxDots is the number of vectors that sparseDot4NEON and its like add up at a time.
const maxDots = 10

// sparseDotNEON is sparseDotGeneric. A kernel row is a few vectors, of which the last ends with the row and may overlap the one
// before; vectors are added up in groups of about equal size.
func sparseDotNEON(dw, x []float32, rows []int32, kw int, pos []int32, g []float32) {
	if len(pos) == 0 {
		return
	}
	width := 4
	for width > kw {
		width /= 2
	}
	per := (kw + width - 1) / width
	count := len(rows) * per
	groups := (count + maxDots - 1) / maxDots
	for i := range groups {
		from, next := i*count/groups, (i+1)*count/groups
		number := roundUp(next-from, 2)
		var table [3 * maxDots]int32
		for k := range number {
			at := min(from+k, next-1) // the last one twice makes the number even
			r, j := at/per, at%per*width
			l := min(j, kw-width)
			table[k], table[maxDots+k], table[2*maxDots+k] = rows[r]+int32(l), int32(r*kw+l), int32(j-l)
		}
		switch width { // called by name, the table stays on the stack
		case 4:
			sparseDot4NEON(&dw[0], &x[0], &table[0], &pos[0], &g[0], len(pos), number)
		case 2:
			sparseDot2NEON(&dw[0], &x[0], &table[0], &pos[0], &g[0], len(pos), number)
		case 1:
			sparseDot1NEON(&dw[0], &x[0], &table[0], &pos[0], &g[0], len(pos), number)
		}
	}
}

func sparseAddNEON(dx, w []float32, rows []int32, kw int, pos []int32, g []float32) {
	if len(pos) == 0 {
		return
	}
	f := sparseAdd4NEON
	switch {
	case kw == 1:
		f = sparseAdd1NEON
	case kw < 4:
		f = sparseAdd2NEON
	}
	f(&dx[0], &w[0], &rows[0], len(rows), kw, &pos[0], &g[0], len(pos))
}

func sparseDotBlockNEON(dw, x []float32, off, pos []int32, g []float32, cb int) {
	f := sparseDotBlock8NEON
	if cb == 16 {
		f = sparseDotBlock16NEON
	}
	f(&dw[0], &x[0], &off[0], len(off), first(pos), first(g), len(pos))
}

func sparseAddBlockNEON(dx, w []float32, off []int32, _ int, pos []int32, g []float32, cb int) {
	f := sparseAddBlock8NEON
	if cb == 16 {
		f = sparseAddBlock16NEON
	}
	f(&dx[0], &w[0], &off[0], len(off), first(pos), first(g), len(pos))
}

// compressNEON holds, for each mask of four bits, the bytes of the lanes that it selects.
var compressNEON = func() (t [32]uint64) {
	for k := range 16 {
		n := 0
		for i := range 4 {
			if k>>i&1 == 0 {
				continue
			}
			bytes := uint64(0x03020100 + 0x04040404*i)
			t[2*k+n/2] |= bytes << (32 * (n % 2))
			n++
		}
	}
	return t
}()

func winnersListNEON(pos []int32, sel, g []float32, arg []int32, n, nz, ph int, rowPos []int32, lo, width, stride int) int {
	size := [6]int{n, nz, ph, lo, width, stride}
	winnersNEON(&pos[0], &sel[0], &g[0], &arg[0], &rowPos[0], &size[0], &compressNEON[0])
	return size[0]
}
