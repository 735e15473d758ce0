package kernel

import (
	"fmt"
	"testing"
)

// eachTallImpl calls f for every implementation, with tiles of two dimensions even where they gain nothing.
func eachTallImpl(t *testing.T, f func(t *testing.T)) {
	eachImpl(t, func(t *testing.T) {
		im := active
		defer func(n int) { im.columnTiles = n }(im.columnTiles)
		im.columnTiles = max(1, im.columnTiles)
		f(t)
	})
}

// tallConv returns the plan of a convolution in tiles of two dimensions.
func tallConv(t *testing.T, s ConvShape, pool [3]int) (*Conv, *ConvScratch) {
	t.Helper()
	c, sc := mustConv(t, s, pool)
	if c.tall == nil {
		t.Fatalf("%+v: no tiles of two dimensions", s)
	}
	return c, sc
}

// TestTilesError: tiles of two dimensions are within 10⁻⁵ of the largest output of the sum in float64.
func TestTilesError(t *testing.T) {
	eachTallImpl(t, func(t *testing.T) {
		for kw := tallTaps; kw < tallPoints; kw++ {
			for _, out := range []int{11, 16, 31} {
				shift := float32(3 * (out % 2))
				s := conv3(2, out, [3]int{6, 13 + out%4, 16 + kw + out%3}, [3]int{3, tallTaps, kw})
				s.Pad, s.Stride[0], s.Dilation[0] = [3]int{1, 0, 2}, 1+out%2, 1+out%3%2
				r := newRand(uint64(kw + out))
				d := newConvData(s, func(n int) []float32 { return normals(r, n) })
				for i := range d.x {
					d.x[i] += shift
				}
				c, sc := tallConv(t, s, [3]int{})
				if e := forwardError(t, c, sc, d); !(e <= 1e-5) {
					t.Errorf("%d taps, %d channels, shift %v: error %.1e of the largest output", kw, out, shift, e)
				}
			}
		}
	})
}

// TestTilesRows: any rows, alone or pooled, have the bits of all of them, whatever was computed before with the
// same memory.
func TestTilesRows(t *testing.T) {
	eachTallImpl(t, func(t *testing.T) {
		r := newRand(7)
		for i, pool := range [][3]int{{1, 5, 5}, {2, 2, 2}, {3, 3, 4}, {1, 1, 1}, {2, 7, 1}} {
			s := conv3(2, 27+i, [3]int{8, 30 + i, 27 + i}, [3]int{3, 5, 5})
			s.Pad = [3]int{1, i % 3, 2}
			d := newConvData(s, func(n int) []float32 { return normals(r, n) })
			c, sc := tallConv(t, s, pool)
			packed := make([]float32, c.PackedLen())
			c.Pack(packed, d.w)
			n := s.Out * volume(c.PooledSize())
			y, pooled, arg := make([]float32, len(d.dy)), make([]float32, n), make([]int32, n)
			c.Forward(y, d.x, packed, d.bias, sc)
			c.ForwardPool(pooled, arg, d.x, packed, d.bias, Identity, sc)
			shape := PoolShape{Channels: s.Out, Size: c.OutSize(), Window: pool, Stride: pool}
			want, wantArg := make([]float32, n), make([]int32, n)
			MaxPool(want, wantArg, y, shape)
			what := fmt.Sprintf("pool %v", pool)
			sameBits(t, what, pooled, want)
			for j := range arg {
				if arg[j] != wantArg[j] {
					t.Fatalf("%s: maximum %d is at %d, want %d", what, j, arg[j], wantArg[j])
				}
			}
			x := c.Pad(d.x, sc)
			parts, partsArg := make([]float32, n), make([]int32, n)
			for lo := 0; lo < c.Rows(); {
				hi := min(c.Rows(), lo+1+lo%7)
				c.ForwardPoolRows(parts, partsArg, x, packed, d.bias, Identity, lo, hi, sc)
				lo = hi
			}
			sameBits(t, what+" in parts", parts, want)
			plain, rows := make([]float32, len(y)), c.OutSize()[0]*c.OutSize()[1]
			for lo := 0; lo < rows; {
				hi := min(rows, lo+1+lo%9)
				c.ForwardRows(plain, x, packed, d.bias, lo, hi, sc)
				lo = hi
			}
			sameBits(t, what+": rows in parts", plain, y)
		}
	})
}

func TestWinogradColumns(t *testing.T) {
	testPrimitive(t, func(p *primCase) {
		tall := newWinograd(tallOutputs, tallTaps)
		for tiles := 1; tiles <= active.columnTiles; tiles++ {
			for taps := 1; taps < 6; taps++ {
				for n := 1; n <= tallPoints; n++ {
					p.what = fmt.Sprintf("tiles=%d taps=%d n=%d", tiles, taps, n)
					step := tiles*tallPoints + taps
					b := p.offsets(taps, 40)
					x, v := p.in(40+n+(tallPoints-1)*step+tiles*tallPoints), p.in(n*tallPoints*taps*lanes)
					got, want := p.out(n * tiles * tallOutputs * lanes)
					active.winogradColumns(got, x, n, tiles, step, b, v, tall.powers)
					winogradColumnsGeneric(want, x, n, tiles, step, b, v, tall.powers)
					p.compare(got, want)
				}
			}
		}
	})
}
