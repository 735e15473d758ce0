package kernel

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
