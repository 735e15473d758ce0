//go:build !purego

package kernel

func indexedNEON(out, bias, x []float32, a, b []int32, v []float32, cb int) {
	if cb == 16 {
		indexed16NEON(&out[0], first(bias), first(x), &a[0], len(a), first(b), len(b), first(v))
	} else {
		indexed8NEON(&out[0], first(bias), first(x), &a[0], len(a), first(b), len(b), first(v))
	}
}

func rowTileNEON(channels, _ int) int {
	return [maxRowChannels]int{10, 6, 4, 3, 2, 2}[channels-1]
}

// rowsNEON are the variants of indexedRows for 2 … 6 channels.
var rowsNEON = [...]func(out, x *float32, a *int32, na int, b *int32, nb int, w *float32){
	2: indexedRows2NEON, 3: indexedRows3NEON, 4: indexedRows4NEON, 5: indexedRows5NEON, 6: indexedRows6NEON,
}

func indexedRowsNEON(out, x []float32, a, b []int32, w []float32, channels, _ int) {
	if channels == 1 {
		indexedRows1NEON(&out[0], &x[0], &a[0], len(a), first(b), len(b), first(w), neighbors(b))
		return
	}
	rowsNEON[channels](&out[0], &x[0], &a[0], len(a), first(b), len(b), first(w))
}

// neighbors returns the number of taps in a row if all rows are as long as the first, else 1.
func neighbors(b []int32) int {
	run := 1
	for run < len(b) && b[run] == b[run-1]+1 {
		run++
	}
	if len(b)%run != 0 {
		return 1
	}
	for t := run; t < len(b); t++ {
		if t%run != 0 && b[t] != b[t-1]+1 {
			return 1
		}
	}
	return run
}

func foldMaxBlocksNEON(best []float32, arg []int32, row []float32, nz, pw, cb int, pos int32, first bool) {
	start := 0
	if first {
		start = 1
	}
	foldMaxNEON(&best[0], &arg[0], &row[0], nz, pw, int(pos), start, cb/4)
}

func winogradInputNEON(v, x []float32, n, ld int, starts []int32, in []float32, t int) {
	f := winogradInput9NEON
	switch t {
	case 6:
		f = winogradInput6NEON
	case 8:
		f = winogradInput8NEON
	}
	f(&v[0], &x[0], n, ld, &starts[0], len(starts), &in[0])
}

// The variants of winogradOutput for 6, 8 and 9 points, by channels.
var (
	winogradOutputs8NEON = [...]func(out, bias, prod *float32, ld int, o *int32, n int, powers *float32, m int){
		6: winogradOutput6x8NEON, 8: winogradOutput8x8NEON, 9: winogradOutput9x8NEON,
	}
	winogradOutputs16NEON = [...]func(out, bias, prod *float32, ld int, o *int32, n int, powers *float32, m int){
		6: winogradOutput6x16NEON, 8: winogradOutput8x16NEON, 9: winogradOutput9x16NEON,
	}
)

func winogradOutputNEON(out, bias, prod []float32, ld int, o []int32, powers []float32, m, t, cb int) {
	f := winogradOutputs8NEON[t]
	if cb == 16 {
		f = winogradOutputs16NEON[t]
	}
	f(&out[0], &bias[0], &prod[0], ld, &o[0], len(o), &powers[0], m)
}
