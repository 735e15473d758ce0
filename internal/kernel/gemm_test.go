package kernel

import (
	"fmt"
	"testing"
)

// gemmCase is one product: sizes, transposes, strides larger than needed.
type gemmCase struct {
	m, n, k        int
	transA, transB bool
	extra          int
	bias           bool
}

func gemmCases() []gemmCase {
	var cases []gemmCase
	sizes := [][3]int{{1, 1, 0}, {3, 17, 0}, {96, 16, 256}, {97, 33, 257}, {64, 120, 400}, {5, 520, 9}, {130, 7, 600}, {2, 600, 300}}
	for m := 1; m <= 14; m++ {
		sizes = append(sizes, [3]int{m, 1 + m*5%37, m*7%19 + 1})
	}
	for n := 1; n <= 33; n++ {
		sizes = append(sizes, [3]int{1 + n%8, n, 1 + n*3%11})
	}
	for i, s := range sizes {
		for tr := range 4 {
			cases = append(cases, gemmCase{s[0], s[1], s[2], tr&1 != 0, tr&2 != 0, i % 3, (i+tr)%3 == 1})
		}
	}
	return cases
}

// matrix returns a random rows × cols matrix in guarded memory and its elements.
func matrix(fill func(int) []float32, rows, cols int, trans bool, extra int) (guarded, Matrix) {
	r, c := rows, cols
	if trans {
		r, c = c, r
	}
	n := 0
	if r > 0 && c > 0 {
		n = (r-1)*(c+extra) + c
	}
	g := newGuarded(fill(n), extra)
	return g, Matrix{g.x, c + extra, trans}
}

func TestGemm(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		r := newRand(2)
		s := new(GemmScratch)
		fill := func(n int) []float32 { return normals(r, n) }
		for _, g := range gemmCases() {
			ga, a := matrix(fill, g.m, g.k, g.transA, g.extra)
			gb, b := matrix(fill, g.k, g.n, g.transB, g.extra)
			gc, c := matrix(fill, g.m, g.n, false, g.extra)
			var bias []float32
			if g.bias {
				bias = fill(g.n)
			}
			want := make([]float64, len(c.Data))
			for i := range want {
				want[i] = float64(c.Data[i]) // gaps between rows stay
			}
			for i := range g.m {
				for j := range g.n {
					var v float64
					if g.bias {
						v = float64(bias[j])
					}
					for p := range g.k {
						v += float64(a.Data[a.at(i, p)]) * float64(b.Data[b.at(p, j)])
					}
					want[c.at(i, j)] = v
				}
			}
			before := append([]float32(nil), c.Data...)
			Gemm(g.m, g.n, g.k, c, a, b, bias, s)
			what := fmt.Sprintf("%+v", g)
			near(t, what, c.Data, want, 1e-5, 10)
			for _, x := range []guarded{ga, gb, gc} {
				x.check(t, what)
			}
			got := append([]float32(nil), c.Data...)
			copy(c.Data, before)
			gemmSplit(g, c, a, b, bias, s)
			sameBits(t, what+", split", c.Data, got)
			copy(c.Data, before)
			packed := newGuarded(make([]float32, PackedLen(g.k, g.n)), g.extra)
			PackMatrix(packed.x, b, g.k, g.n)
			GemmPacked(g.m, g.n, g.k, c, a, packed.x, bias, s)
			sameBits(t, what+", packed", c.Data, got)
			packed.check(t, what+", packed")
			if g.transA || !g.transB {
				continue
			}
			flipped, whole := newGuarded(make([]float32, g.m*g.n), g.extra), make([]float32, 0, g.m*g.n)
			for i := range g.m {
				whole = append(whole, got[c.at(i, 0):][:g.n]...)
			}
			GemmFlipped(g.m, g.n, g.k, flipped.x, a, b, bias, s)
			sameBits(t, what+", flipped", flipped.x, whole)
			for _, x := range []guarded{ga, gb, flipped} {
				x.check(t, what+", flipped")
			}
		}
	})
}

// gemmSplit computes the product in four unequal tiles.
func gemmSplit(g gemmCase, c, a, b Matrix, bias []float32, s *GemmScratch) {
	mi, nj := g.m/3, g.n/3+1
	if nj > g.n {
		nj = g.n
	}
	for _, i := range [][2]int{{0, mi}, {mi, g.m}} {
		for _, j := range [][2]int{{0, nj}, {nj, g.n}} {
			if i[0] == i[1] || j[0] == j[1] {
				continue
			}
			ct, at, bt, part := c, a, b, bias
			ct.Data = c.Data[c.at(i[0], j[0]):]
			if g.k > 0 {
				at.Data = a.Data[a.at(i[0], 0):]
				bt.Data = b.Data[b.at(0, j[0]):]
			}
			if bias != nil {
				part = bias[j[0]:j[1]]
			}
			Gemm(i[1]-i[0], j[1]-j[0], g.k, ct, at, bt, part, s)
		}
	}
}
