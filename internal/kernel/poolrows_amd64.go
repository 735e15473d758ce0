//go:build !purego

package kernel

// poolRowsAVX512s are the variants of poolRows for 1 … 6 channels.
var poolRowsAVX512s = [maxRowChannels]func(y *float32, arg *int32, ld, step int, x *float32, pitch int, off *int32, taps int,
	w, bias *float32, rows, n, pos, wide int, floor float32){
	poolRows1AVX512, poolRows2AVX512, poolRows3AVX512, poolRows4AVX512, poolRows5AVX512, poolRows6AVX512,
}

func poolRowsAVX512(y []float32, arg []int32, x []float32, off []int32, w, bias []float32, p poolRun) {
	poolRowsAVX512s[len(bias)-1](&y[0], &arg[0], p.ld, p.step, &x[0], p.pitch, &off[0], len(off),
		&w[0], &bias[0], p.rows, p.n, p.pos, p.wide, p.floor)
}
