//go:build !purego

package kernel

// maxDots is the number of vectors that sparseDot4NEON, sparseAdd4NEON and their like take at a time.
const maxDots = 10

// dotTable has, for each of some vectors of kernel rows, its place in a window, its place in the weights, and the number of lanes
// that belong to the vector before.
type dotTable [3 * maxDots]int32

// fill enters the vectors from … next-1 of kw taps in rows. A row is a few vectors, of which the last ends with the row and may
// overlap the one before. It returns their number, made even by one of which no lane counts.
func (t *dotTable) fill(rows []int32, kw, width, from, next int) int {
	per := (kw + width - 1) / width
	number := roundUp(next-from, 2)
	for k := range number {
		at := min(from+k, next-1)
		r, j := at/per, at%per*width
		l := min(j, kw-width)
		t[k], t[maxDots+k], t[2*maxDots+k] = rows[r]+int32(l), int32(r*kw+l), int32(j-l)
	}
	if next-from < number {
		t[2*maxDots+number-1] = int32(width)
	}
	return number
}

// dotGroups returns how many taps of a row a vector holds, the number of vectors of all rows, and in how many groups
// of about equal size they are computed.
func dotGroups(rows []int32, kw int) (width, count, groups int) {
	width = 4
	for width > kw {
		width /= 2
	}
	count = len(rows) * ((kw + width - 1) / width)
	return width, count, (count + maxDots - 1) / maxDots
}

func sparseDotNEON(dw, x []float32, rows []int32, kw int, pos []int32, g []float32) {
	if len(pos) == 0 {
		return
	}
	width, count, groups := dotGroups(rows, kw)
	for i := range groups {
		var table dotTable
		number := table.fill(rows, kw, width, i*count/groups, (i+1)*count/groups)
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

// sparseAddNEON is sparseAddGeneric for rows and positions in increasing order. Then the winner that comes first at an
// element reaches it by the last tap: with the last group first, a group's weights stay in registers for all winners and
// the order of additions is kept.
func sparseAddNEON(dx, w []float32, rows []int32, kw int, pos []int32, g []float32) {
	if len(pos) == 0 {
		return
	}
	width, count, groups := dotGroups(rows, kw)
	for i := groups - 1; i >= 0; i-- {
		var table dotTable
		number := table.fill(rows, kw, width, i*count/groups, (i+1)*count/groups)
		switch width {
		case 4:
			sparseAdd4NEON(&dx[0], &w[0], &table[0], &pos[0], &g[0], len(pos), number)
		case 2:
			sparseAdd2NEON(&dx[0], &w[0], &table[0], &pos[0], &g[0], len(pos), number)
		case 1:
			sparseAdd1NEON(&dx[0], &w[0], &table[0], &pos[0], &g[0], len(pos), number)
		}
	}
}

// tapGroups returns the number of groups of about equal size in which taps of cb channels are computed: their vectors fit the registers.
func tapGroups(taps, cb int) int {
	most := 9
	if cb == 16 {
		most = 6
	}
	return (taps + most - 1) / most
}

func sparseDotBlockNEON(dw, x []float32, off, pos []int32, g []float32, cb int) {
	if len(pos) == 0 {
		return
	}
	f := sparseDotBlock8NEON
	if cb == 16 {
		f = sparseDotBlock16NEON
	}
	groups := tapGroups(len(off), cb)
	for i := range groups {
		t, next := i*len(off)/groups, (i+1)*len(off)/groups
		f(&dw[t*cb], &x[0], &off[t], next-t, &pos[0], &g[0], len(pos))
	}
}

// sparseAddBlockNEON is sparseAddBlockGeneric for taps and positions in increasing order, from the last group of taps to the first,
// as sparseAddNEON.
func sparseAddBlockNEON(dx, w []float32, off []int32, _ int, pos []int32, g []float32, cb int) {
	if len(pos) == 0 {
		return
	}
	f := sparseAddBlock8NEON
	if cb == 16 {
		f = sparseAddBlock16NEON
	}
	groups := tapGroups(len(off), cb)
	for i := groups - 1; i >= 0; i-- {
		t, next := i*len(off)/groups, (i+1)*len(off)/groups
		f(&dx[0], &w[t*cb], &off[t], next-t, &pos[0], &g[0], len(pos))
	}
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
