package kernel

import (
	"fmt"
	"math"
)

// PoolShape is the geometry of a pooling layer. Dimensions are D, H, W; a
// missing dimension has size, window and stride 1.
type PoolShape struct {
	Channels int
	Size     [3]int // input D, H, W
	Window   [3]int
	Stride   [3]int
	Pad      [3]int // on both sides, at most half the window
}

// OutSize returns the output D, H, W: ⌊(size + 2·pad − window)/stride⌋ + 1.
func (s PoolShape) OutSize() [3]int {
	var o [3]int
	for i := range o {
		o[i] = (s.Size[i]+2*s.Pad[i]-s.Window[i])/s.Stride[i] + 1
	}
	return o
}

// Check reports what is wrong with the shape.
func (s PoolShape) Check() error {
	if s.Channels < 1 {
		return fmt.Errorf("pooling: %d channels", s.Channels)
	}
	for i, name := range [...]string{"depth", "height", "width"} {
		switch {
		case s.Size[i] < 1 || s.Window[i] < 1 || s.Stride[i] < 1 || s.Pad[i] < 0:
			return fmt.Errorf("pooling: %s: size %d, window %d, stride %d, padding %d", name, s.Size[i], s.Window[i], s.Stride[i], s.Pad[i])
		case 2*s.Pad[i] > s.Window[i]:
			return fmt.Errorf("pooling: %s: padding %d is more than half the window %d", name, s.Pad[i], s.Window[i])
		case s.Window[i] > s.Size[i]+2*s.Pad[i]:
			return fmt.Errorf("pooling: %s: window %d is larger than the padded input %d", name, s.Window[i], s.Size[i]+2*s.Pad[i])
		}
	}
	return nil
}

// window is the clipped range [lo, hi) that output position o covers in
// dimension i.
func (s *PoolShape) window(i, o int) (lo, hi int) {
	lo = o*s.Stride[i] - s.Pad[i]
	return max(lo, 0), min(lo+s.Window[i], s.Size[i])
}

// MaxPool computes, for one item,
//
//	y[c, o] = max over p in window(o) of x[c, p],   arg[c, o] = the p it took
//
// with x [Channels, Size], y and arg [Channels, OutSize]. arg is the flat index
// of the first maximum in scan order within the channel. A NaN in the window
// makes the maximum NaN, at the last NaN of the window. Padding is never
// taken.
func MaxPool(y []float32, arg []int32, x []float32, s PoolShape) {
	out := s.OutSize()
	plane, outPlane := volume(s.Size), volume(out)
	checkLen("MaxPool", s.Channels*plane, len(x))
	checkLen("MaxPool", s.Channels*outPlane, len(y), len(arg))
	o := 0
	for c := range s.Channels {
		xc := x[c*plane : (c+1)*plane]
		for od := range out[0] {
			d0, d1 := s.window(0, od)
			for oh := range out[1] {
				h0, h1 := s.window(1, oh)
				for ow := range out[2] {
					w0, w1 := s.window(2, ow)
					best, at := float32(math.Inf(-1)), int32((d0*s.Size[1]+h0)*s.Size[2]+w0)
					for d := d0; d < d1; d++ {
						for h := h0; h < h1; h++ {
							row := (d*s.Size[1] + h) * s.Size[2]
							for w := w0; w < w1; w++ {
								if v := xc[row+w]; v > best || v != v {
									best, at = v, int32(row+w)
								}
							}
						}
					}
					y[o], arg[o] = best, at
					o++
				}
			}
		}
	}
}

// MaxPoolGrad computes dx = 0, then dx[c, arg[c,o]] += dy[c, o] in scan order
// of o. dx is [Channels, Size], dy and arg [Channels, OutSize].
func MaxPoolGrad(dx, dy []float32, arg []int32, s PoolShape) {
	plane, outPlane := volume(s.Size), volume(s.OutSize())
	checkLen("MaxPoolGrad", s.Channels*plane, len(dx))
	checkLen("MaxPoolGrad", s.Channels*outPlane, len(dy), len(arg))
	clear(dx)
	for c := range s.Channels {
		dxc := dx[c*plane : (c+1)*plane]
		at := arg[c*outPlane : (c+1)*outPlane]
		for o, g := range dy[c*outPlane : (c+1)*outPlane] {
			dxc[at[o]] += g
		}
	}
}

// AvgPool computes y[c, o] = Σ over p in window(o) of x[c, p] / volume of the
// whole window: padding counts as zeros.
func AvgPool(y, x []float32, s PoolShape) {
	checkLen("AvgPool", s.Channels*volume(s.Size), len(x))
	checkLen("AvgPool", s.Channels*volume(s.OutSize()), len(y))
	inv := 1 / float32(volume(s.Window))
	clear(y)
	s.rows(func(o, lo, hi int) {
		for _, v := range x[lo:hi] {
			y[o] += v
		}
	})
	for o := range y {
		y[o] *= inv
	}
}

// AvgPoolGrad computes dx = 0, then dx[c, p] += dy[c, o]/volume(Window) for
// every p in window(o), in scan order of o.
func AvgPoolGrad(dx, dy []float32, s PoolShape) {
	checkLen("AvgPoolGrad", s.Channels*volume(s.Size), len(dx))
	checkLen("AvgPoolGrad", s.Channels*volume(s.OutSize()), len(dy))
	inv := 1 / float32(volume(s.Window))
	clear(dx)
	s.rows(func(o, lo, hi int) {
		g := dy[o] * inv
		for p := lo; p < hi; p++ {
			dx[p] += g
		}
	})
}

// rows visits the rows of all windows in scan order: o is a place of the output
// [Channels, OutSize], lo to hi those of the input [Channels, Size].
func (s PoolShape) rows(visit func(o, lo, hi int)) {
	out := s.OutSize()
	for o := range s.Channels * volume(out) {
		c, ow, oh, od := o/volume(out), o%out[2], o/out[2]%out[1], o/(out[1]*out[2])%out[0]
		d0, d1 := s.window(0, od)
		h0, h1 := s.window(1, oh)
		w0, w1 := s.window(2, ow)
		for d := d0; d < d1; d++ {
			for h := h0; h < h1; h++ {
				row := ((c*s.Size[0]+d)*s.Size[1] + h) * s.Size[2]
				visit(o, row+w0, row+w1)
			}
		}
	}
}

func volume(n [3]int) int { return n[0] * n[1] * n[2] }

// checkLen panics unless all lengths are the one wanted.
func checkLen(op string, want int, lengths ...int) {
	for _, n := range lengths {
		if n != want {
			panic(fmt.Sprintf("kernel: %s: slice of %d values, want %d", op, n, want))
		}
	}
}
