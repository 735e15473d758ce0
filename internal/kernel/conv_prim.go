package kernel

import (
	"math"
	"unsafe"
)

// tapTable lists where the taps of a convolution lie in its windows.
type tapTable struct {
	off  []int32 // [T]
	rows []int32 // [T/kw] the first of every kw taps, if these are neighbors
	kw   int     // 1 if they are not
}

// newTapTable makes the table of taps that come in rows of kw.
func newTapTable(off []int32, kw, dilation int) tapTable {
	if dilation > 1 {
		kw = 1
	}
	t := tapTable{off: off, kw: kw}
	for i := 0; i < len(off); i += kw {
		t.rows = append(t.rows, off[i])
	}
	return t
}

// convolve computes one strip: for each row r of len(rows) and j < wide, with
// p = r·wide + j,
//
//	strip[p·cb + c] = bias[c] + Σ_t w[t·cb + c] · x[rows[r] + (from + j)·stride + off[t]]
func (s *ConvScratch) convolve(bias, x []float32, rows []int32, from, wide, stride int, t *tapTable, w []float32, cb int) {
	if shortest, longest := active.runLimits(t.kw, cb); stride == 1 && longest > 0 {
		if tiles := (wide + longest - 1) / longest; wide/tiles >= shortest {
			s.convolveRuns(bias, x, rows, from, wide, tiles, t, w, cb)
			return
		}
	}
	n := 0
	for _, row := range rows {
		at := row + int32(from*stride)
		for range wide {
			s.pos[n] = at
			at += int32(stride)
			n++
		}
	}
	active.indexed(s.strip, bias, x, padPositions(s.pos, n, tile(cb)), t.off, w, cb)
}

// convolveRuns does the same with each row cut into tiles of neighbors: as many
// as need be are one longer than the others.
func (s *ConvScratch) convolveRuns(bias, x []float32, rows []int32, from, wide, tiles int, t *tapTable, w []float32, cb int) {
	short, long := wide/tiles, wide%tiles
	run := func(length, first, count int) {
		n := 0
		for r, row := range rows {
			for i := range count {
				j := first + i*length
				s.pos[n], s.at[n] = row+int32(from+j), int32(r*wide+j)
				n++
			}
		}
		if n > 0 {
			active.indexedRuns(s.strip, bias, x, s.pos[:n], s.at[:n], length, t.rows, t.kw, w, cb)
		}
	}
	run(short+1, 0, long)
	run(short, long*(short+1), tiles-long)
}

// tile is the number of rows that the active indexed primitive works on.
func tile(cb int) int {
	if cb == 16 {
		return active.tile16
	}
	return active.tile8
}

// padPositions repeats the last of n positions up to a multiple of tile.
func padPositions(pos []int32, n, tile int) []int32 {
	m := roundUp(n, tile)
	for j := n; j < m; j++ {
		pos[j] = pos[n-1]
	}
	return pos[:m]
}

// indexedRunsGeneric computes, for j < len(a), p < run and c < cb (8 or 16),
//
//	out[(o[j] + p)·cb + c] = bias[c] + Σ_{r<len(rows)} Σ_{l<kw} v[(r·kw + l)·cb + c] · x[a[j] + p + rows[r] + l]
func indexedRunsGeneric(out, bias, x []float32, a, o []int32, run int, rows []int32, kw int, v []float32, cb int) {
	for j, at := range a {
		for p := range run {
			y := out[(int(o[j])+p)*cb:][:cb]
			copy(y, bias)
			for r, row := range rows {
				for l := range kw {
					xv := x[int(at+row)+p+l]
					for c, w := range v[(r*kw+l)*cb:][:cb] {
						y[c] += float32(w * xv)
					}
				}
			}
		}
	}
}

// indexedGeneric computes, for r < len(a) and c < cb (8 or 16),
//
//	out[r·cb + c] = o₀ + Σ_{t<len(b)} v[t·cb + c] · x[a[r] + b[t]]
//
// where o₀ is bias[c], or the present out if bias is nil. len(a) is a multiple
// of the implementation's tile.
func indexedGeneric(out, bias, x []float32, a, b []int32, v []float32, cb int) {
	for r, base := range a {
		var acc [lanes]float32
		o := out[r*cb : (r+1)*cb]
		if bias != nil {
			copy(acc[:cb], bias)
		} else {
			copy(acc[:], o)
		}
		sum := acc[:cb]
		for t, off := range b {
			xv := x[base+off]
			for c, w := range v[t*cb : t*cb+cb] {
				sum[c] += float32(w * xv)
			}
		}
		copy(o, sum)
	}
}

// indexedRowsGeneric computes, for r < n = len(a), l < run and c < channels ≤ 6,
//
//	out[(c·n + r)·run + l] += Σ_{t<len(b)} w[t·channels + c] · x[a[r] + l + b[t]]
//
// n is a multiple of the implementation's tile for these channels.
func indexedRowsGeneric(out, x []float32, a, b []int32, w []float32, channels, run int) {
	for c := range channels {
		for r, base := range a {
			y := out[(c*len(a)+r)*run:][:run]
			for t, off := range b {
				v := w[t*channels+c]
				for l, xv := range x[base+off : int(base+off)+run] {
					y[l] += float32(v * xv)
				}
			}
		}
	}
}

// copyRowsGeneric computes dst[r·ldd + j] = src[r·lds + j],   r < rows (rows ≥ 1), j < n (n ≥ 1).
func copyRowsGeneric(dst []float32, ldd int, src []float32, lds, rows, n int) {
	for r := range rows {
		copy(dst[r*ldd:r*ldd+n], src[r*lds:])
	}
}

// unblockGeneric computes dst[c·ld + p] = src[p·cb + c],   c < lanes ≤ cb, p < n.
func unblockGeneric(dst []float32, ld int, src []float32, n, cb, lanes int) {
	for c := range lanes {
		d := dst[c*ld : c*ld+n]
		for p := range d {
			d[p] = src[p*cb+c]
		}
	}
}

// blockGeneric computes dst[p·cb + c] = src[c·ld + p] for c < lanes, 0 for
// lanes ≤ c < cb,   p < n.
func blockGeneric(dst []float32, src []float32, ld int, n, cb, lanes int) {
	for c := range lanes {
		for p, v := range src[c*ld : c*ld+n] {
			dst[p*cb+c] = v
		}
	}
	for c := lanes; c < cb; c++ {
		for p := range n {
			dst[p*cb+c] = 0
		}
	}
}

// blockSumGeneric computes sum[c] += v[p·cb + c] for p = 0 … n−1 in order.
func blockSumGeneric(sum, v []float32, n, cb int) {
	for p := range n {
		for c, u := range v[p*cb : (p+1)*cb] {
			sum[c] += u
		}
	}
}

// foldMaxGeneric folds one output row into the running maxima of a row of nz
// windows, for z < nz, i < pw and c < cb in order:
//
//	v = row[(z·pw + i)·cb + c]
//	if v > best[z·cb + c] or v is NaN:  best[z·cb + c], arg[z·cb + c] = v, pos + z·pw + i
//
// If first is set, best and arg begin as -Inf and the first position of each
// window. Positions must come in increasing order for each window.
func foldMaxGeneric(best []float32, arg []int32, row []float32, nz, pw, cb int, pos int32, first bool) {
	for z := range nz {
		b, a := best[z*cb:(z+1)*cb], arg[z*cb:(z+1)*cb]
		if first {
			for c := range b {
				b[c], a[c] = float32(math.Inf(-1)), pos+int32(z*pw)
			}
		}
		for i := range pw {
			at := z*pw + i
			for c, v := range row[at*cb : (at+1)*cb] {
				if v > b[c] || v != v {
					b[c], a[c] = v, pos+int32(at)
				}
			}
		}
	}
}

// sparseDotGeneric computes, for r < len(rows), l < kw and j = 0 … len(pos)−1 in
// order,
//
//	dw[r·kw + l] += g[j] · x[pos[j] + rows[r] + l]
func sparseDotGeneric(dw, x []float32, rows []int32, kw int, pos []int32, g []float32) {
	for r, row := range rows {
		d := dw[r*kw : (r+1)*kw]
		for j, p := range pos {
			for l, v := range x[p+row : int(p+row)+kw] {
				d[l] += float32(g[j] * v)
			}
		}
	}
}

// sparseAddGeneric computes, for j = 0 … len(pos)−1 in order, r < len(rows), l < kw,
//
//	dx[pos[j] + rows[r] + l] += g[j] · w[r·kw + l]
//
// Only the order of the additions to each element counts, for rows and pos that increase.
// It may add g[j]·0 to the same elements, and to up to 15 after them.
func sparseAddGeneric(dx, w []float32, rows []int32, kw int, pos []int32, g []float32) {
	for j, p := range pos {
		for r, row := range rows {
			d := dx[p+row : int(p+row)+kw]
			for l, v := range w[r*kw : (r+1)*kw] {
				d[l] += float32(g[j] * v)
			}
		}
	}
}

// sparseDotBlockGeneric computes, for t < len(off), c < cb (8 or 16) and
// j = 0 … len(pos)−1 in order,
//
//	dw[t·cb + c] += g[j] · x[(pos[j] + off[t])·cb + c]
func sparseDotBlockGeneric(dw, x []float32, off, pos []int32, g []float32, cb int) {
	for t, o := range off {
		d := dw[t*cb : (t+1)*cb]
		for j, p := range pos {
			at := int(p+o) * cb
			for c, v := range x[at : at+cb] {
				d[c] += float32(g[j] * v)
			}
		}
	}
}

// sparseAddBlockGeneric computes, for j = 0 … len(pos)−1 in order, t < len(off)
// and c < cb (8 or 16),
//
//	dx[(pos[j] + off[t])·cb + c] += g[j] · w[t·cb + c]
//
// Only the order of the additions to each element counts, for off and pos that increase.
// Taps lie side by side in runs: off[t+1] = off[t] + 1 unless t+1 is a multiple of run.
func sparseAddBlockGeneric(dx, w []float32, off []int32, _ int, pos []int32, g []float32, cb int) {
	for j, p := range pos {
		for t, o := range off {
			at := int(p+o) * cb
			d := dx[at : at+cb]
			for c, v := range w[t*cb : (t+1)*cb] {
				d[c] += float32(g[j] * v)
			}
		}
	}
}

// int32AsFloat views int32 values as float32 bit patterns, to be moved only.
func int32AsFloat(x []int32) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}
