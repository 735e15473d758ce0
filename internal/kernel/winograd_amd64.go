//go:build !purego

package kernel

func winogradInputAVX2(v, x []float32, n, ld int, starts []int32, in []float32, t int) {
	f := winogradInput9AVX2
	switch t {
	case 6:
		f = winogradInput6AVX2
	case 8:
		f = winogradInput8AVX2
	}
	f(&v[0], &x[0], n, ld, &starts[0], len(starts), &in[0])
}

// winogradInputAVX512 differs only where points do not fit eight lanes.
func winogradInputAVX512(v, x []float32, n, ld int, starts []int32, in []float32, t int) {
	if t != 9 {
		winogradInputAVX2(v, x, n, ld, starts, in, t)
		return
	}
	winogradInput9AVX512(&v[0], &x[0], n, ld, &starts[0], len(starts), &in[0])
}

// winogradOutputFunc is a variant of winogradOutput for numbers of points and lanes.
type winogradOutputFunc = func(out, bias, prod *float32, ld int, o *int32, n int, powers *float32, m int)

// The variants for 6, 8 and 9 points.
var (
	winogradOutputs8 = [...]winogradOutputFunc{6: winogradOutput6x8AVX2, 8: winogradOutput8x8AVX2, 9: winogradOutput9x8AVX2}

	winogradOutputs16AVX2   = [...]winogradOutputFunc{6: winogradOutput6x16AVX2, 8: winogradOutput8x16AVX2, 9: winogradOutput9x16AVX2}
	winogradOutputs16AVX512 = [...]winogradOutputFunc{6: winogradOutput6x16AVX512, 8: winogradOutput8x16AVX512, 9: winogradOutput9x16AVX512}
)

func winogradOutputAVX2(out, bias, prod []float32, ld int, o []int32, powers []float32, m, t, cb int) {
	f := winogradOutputs8[t]
	if cb == 16 {
		f = winogradOutputs16AVX2[t]
	}
	f(&out[0], &bias[0], &prod[0], ld, &o[0], len(o), &powers[0], m)
}

func winogradOutputAVX512(out, bias, prod []float32, ld int, o []int32, powers []float32, m, t, cb int) {
	f := winogradOutputs8[t]
	if cb == 16 {
		f = winogradOutputs16AVX512[t]
	}
	f(&out[0], &bias[0], &prod[0], ld, &o[0], len(o), &powers[0], m)
}

// columnsAVX512 are the variants of winogradColumns for 1, 2 and 3 tiles.
var columnsAVX512 = [...]func(mid, x *float32, n, step int, b *int32, nb int, v, powers *float32){
	winogradColumns1AVX512, winogradColumns2AVX512, winogradColumns3AVX512,
}

func winogradColumnsAVX512(mid, x []float32, n, tiles, step int, b []int32, v, powers []float32) {
	columnsAVX512[tiles-1](&mid[0], &x[0], n, step, &b[0], len(b), &v[0], &powers[0])
}
