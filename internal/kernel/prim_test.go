package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// primCase checks one primitive of the active implementation against its
// reference on the same data. Outputs begin as copies of the same values and
// lie between guards, as do inputs.
type primCase struct {
	t    *testing.T
	r    *rand.Rand
	what string
	outs []guarded
}

// in returns n guarded normal values.
func (p *primCase) in(n int) []float32 { return newGuarded(normals(p.r, n), p.r.IntN(4)).x }

// out returns two guarded copies of n values: for the primitive and for the
// reference.
func (p *primCase) out(n int) (got, want []float32) {
	v := normals(p.r, n)
	g := newGuarded(v, p.r.IntN(4))
	p.outs = append(p.outs, g)
	return g.x, v
}

// offsets returns n numbers below limit.
func (p *primCase) offsets(n, limit int) []int32 {
	a := make([]int32, n)
	for i := range a {
		a[i] = int32(p.r.IntN(limit))
	}
	return a
}

// compare fails unless got is want up to rounding, and nothing else was written.
func (p *primCase) compare(got, want []float32) {
	p.t.Helper()
	w := make([]float64, len(want))
	for i := range w {
		w[i] = float64(want[i])
	}
	near(p.t, p.what, got, w, 1e-5, 10)
	for _, g := range p.outs {
		g.check(p.t, p.what)
	}
	p.outs = p.outs[:0]
}

func testPrimitive(t *testing.T, f func(p *primCase)) {
	eachImpl(t, func(t *testing.T) { f(&primCase{t: t, r: newRand(42)}) })
}

func TestIndexed(t *testing.T) {
	testPrimitive(t, func(p *primCase) {
		for _, cb := range []int{8, 16} {
			for nb := range 131 {
				na := tile(cb) * (1 + nb%3)
				p.what = fmt.Sprintf("cb=%d nb=%d na=%d", cb, nb, na)
				x, v, bias := p.in(100), p.in(nb*cb), p.in(cb)
				a, b := p.offsets(na, 50), p.offsets(nb, 51)
				if nb%2 == 0 {
					bias = nil
				}
				got, want := p.out(na * cb)
				active.indexed(got, bias, x, a, b, v, cb)
				indexedGeneric(want, bias, x, a, b, v, cb)
				p.compare(got, want)
			}
		}
	})
}

func TestIndexedRuns(t *testing.T) {
	testPrimitive(t, func(p *primCase) {
		for _, kw := range []int{3, 5} {
			for _, cb := range []int{8, 16} {
				_, longest := active.runLimits(kw, cb)
				for run := 1; run <= longest; run++ {
					n, nr := 1+run%4, 1+run%7
					p.what = fmt.Sprintf("kw=%d cb=%d run=%d", kw, cb, run)
					x, v, bias := p.in(60+run+kw-1), p.in(nr*kw*cb), p.in(cb)
					a, rows := p.offsets(n, 30), p.offsets(nr, 31)
					o := make([]int32, n)
					for i := range o {
						o[i] = int32((n - 1 - i) * run)
					}
					got, want := p.out(n * run * cb)
					active.indexedRuns(got, bias, x, a, o, run, rows, kw, v, cb)
					indexedRunsGeneric(want, bias, x, a, o, run, rows, kw, v, cb)
					p.compare(got, want)
				}
			}
		}
	})
}

func TestIndexedRows(t *testing.T) {
	testPrimitive(t, func(p *primCase) {
		for channels := 1; channels <= maxRowChannels; channels++ {
			for run := 8; run <= active.rowLanes; run += 8 {
				for nb := range 40 {
					na := active.rowTile(channels, run) * (1 + nb%3)
					p.what = fmt.Sprintf("channels=%d run=%d nb=%d", channels, run, nb)
					x, w := p.in(100+run), p.in(nb*channels)
					a, b := p.offsets(na, 50), p.offsets(nb, 51)
					if kw := 1 + nb/8; nb%kw == 0 { // taps in rows
						for t := range b {
							b[t] = min(b[t-t%kw], 46) + int32(t%kw)
						}
					}
					got, want := p.out(na * run * channels)
					active.indexedRows(got, x, a, b, w, channels, run)
					indexedRowsGeneric(want, x, a, b, w, channels, run)
					p.compare(got, want)
				}
			}
		}
	})
}

func TestPoolRows(t *testing.T) {
	testPrimitive(t, func(p *primCase) {
		if active.poolRows == nil {
			p.t.Skip("not in this implementation")
		}
		for channels := 1; channels <= maxRowChannels; channels++ {
			for n := minPoolRun; n <= maxPoolRun; n++ {
				q := poolRun{rows: 1 + n%3, n: n, pitch: 2*n + 5, step: n + channels%2, wide: 2*n + n%2, pos: 7, floor: float32(math.Inf(-1))}
				q.ld = q.rows*q.step + n%4
				if n%2 == 0 {
					q.floor = 0
				}
				taps := 1 + (7*n+channels)%40
				p.what = fmt.Sprintf("channels=%d n=%d taps=%d", channels, n, taps)
				x := newGuarded(integers(p.r, (2*q.rows-1)*q.pitch+2*n+30, 1), n%4).x
				off, w, bias := p.offsets(taps, 31), integers(p.r, taps*maxPoolChannels, 1), p.in(channels)
				if n%4 == 1 {
					x[p.r.IntN(len(x))] = nan32()
				}
				got, want := p.out(channels * q.ld)
				arg, arg2 := make([]int32, len(got)), make([]int32, len(got))
				active.poolRows(got, arg, x, off, w, bias, q)
				poolRowsGeneric(want, arg2, x, off, w, bias, q)
				sameBits(p.t, p.what, got, want)
				if !slices.Equal(arg, arg2) {
					p.t.Fatalf("%s: arg %v, want %v", p.what, arg, arg2)
				}
				for _, g := range p.outs {
					g.check(p.t, p.what)
				}
				p.outs = p.outs[:0]
			}
		}
	})
}

func TestBlock(t *testing.T) {
	testPrimitive(t, func(p *primCase) {
		for n := 1; n < 40; n++ {
			for used := 1; used <= 16; used++ {
				cb, ld := roundUp(used, 8), n+n%3
				p.what = fmt.Sprintf("n=%d lanes=%d", n, used)
				src := p.in((used-1)*ld + n)
				got, want := p.out(n * cb)
				active.block(got, src, ld, n, cb, used)
				blockGeneric(want, src, ld, n, cb, used)
				p.compare(got, want)

				src = p.in(n * cb)
				got, want = p.out((used-1)*ld + n)
				active.unblock(got, ld, src, n, cb, used)
				unblockGeneric(want, ld, src, n, cb, used)
				p.compare(got, want)

				got, want = p.out(cb)
				active.blockSum(got, src, n, cb)
				blockSumGeneric(want, src, n, cb)
				p.compare(got, want)
			}
		}
	})
}

func TestCopyRows(t *testing.T) {
	testPrimitive(t, func(p *primCase) {
		for n := 1; n < 131; n++ {
			rows, ldd, lds := 1+n%4, n+n%3, n+n%5
			p.what = fmt.Sprintf("rows=%d n=%d", rows, n)
			src := p.in((rows-1)*lds + n)
			got, want := p.out((rows-1)*ldd + n)
			active.copyRows(got, ldd, src, lds, rows, n)
			copyRowsGeneric(want, ldd, src, lds, rows, n)
			sameBits(p.t, p.what, got, want)
			p.compare(got, want)
		}
	})
}

func TestFoldMax(t *testing.T) {
	testPrimitive(t, func(p *primCase) {
		for _, cb := range []int{8, 16} {
			for pw := 1; pw < 9; pw++ {
				for nz := range 9 {
					p.what = fmt.Sprintf("cb=%d pw=%d nz=%d", cb, pw, nz)
					row := newGuarded(integers(p.r, nz*pw*cb+cb, 2), pw%4).x
					got, want := p.out(nz*cb + cb)
					arg, arg2 := p.offsets(len(got), 7), make([]int32, len(got))
					copy(arg2, arg)
					active.foldMax(got, arg, row, nz, pw, cb, 7, nz%2 == 0)
					foldMaxGeneric(want, arg2, row, nz, pw, cb, 7, nz%2 == 0)
					sameBits(p.t, p.what, got, want)
					for i := range arg {
						if arg[i] != arg2[i] {
							t.Fatalf("%s: arg[%d] = %d, want %d", p.what, i, arg[i], arg2[i])
						}
					}
					p.compare(got, want)
				}
			}
		}
	})
}

func TestPack(t *testing.T) {
	testPrimitive(t, func(p *primCase) {
		for k := 1; k < 30; k++ {
			for n := 1; n < 40; n++ {
				p.what = fmt.Sprintf("k=%d n=%d", k, n)
				size := roundUp(n, lanes) * k
				ld := n + n%3
				b := p.in((k-1)*ld + n)
				got, want := p.out(size)
				active.packRows(got, b, ld, k, n)
				packRowsGeneric(want, b, ld, k, n)
				p.compare(got, want)

				got, want = p.out(n * k)
				active.packTrans(got, b, ld, n, k)
				packTransGeneric(want, b, ld, n, k)
				p.compare(got, want)

				ld = k + k%3
				b = p.in((n-1)*ld + k)
				got, want = p.out(size)
				active.packCols(got, b, ld, k, n)
				packColsGeneric(want, b, ld, k, n)
				p.compare(got, want)
			}
		}
	})
}

func TestGemmPanel(t *testing.T) {
	testPrimitive(t, func(p *primCase) {
		for m := 1; m < 30; m++ {
			for _, k := range []int{0, 1, 2, 7, 40} {
				for _, trans := range []bool{false, true} {
					p.what = fmt.Sprintf("m=%d k=%d trans=%v", m, k, trans)
					rs, ks := k+1, 1
					if trans {
						rs, ks = 1, m+1
					}
					var a []float32
					if k > 0 {
						a = p.in((m-1)*rs + (k-1)*ks + 1)
					}
					panels := 1 + m%3
					columns := panels * lanes
					if active.gemmPartial {
						columns -= (m + k) % lanes
					}
					bs, bp := lanes, k*lanes
					if active.gemmStrided && m%5 > 1 {
						bs, bp = columns+m%4, lanes
					}
					b, bias := p.in(max(k-1, 0)*bs+(panels-1)*bp+columns-(panels-1)*lanes), p.in(columns)
					if m%2 == 0 {
						bias = nil
					}
					ldc := columns + m%3
					got, want := p.out((m-1)*ldc + columns)
					active.gemmPanels(got, ldc, a, rs, ks, b, bs, bp, bias, m, columns, k)
					gemmPanelsGeneric(want, ldc, a, rs, ks, b, bs, bp, bias, m, columns, k)
					p.compare(got, want)
				}
			}
		}
	})
}
