//go:build cuda

package gpu

import (
	"slices"
	"testing"
	"unsafe"

	"credence/nn"
)

// convolved is a convolution in float64, one sum at a time: y [n, out, OutSize] of x [n, in, Size].
func convolved(c nn.ConvShape, x, w, bias []float32, n int) []float32 {
	var y []float32
	z, k := c.OutSize(), c.Kernel
	for j := range n * c.Out * z[0] * z[1] * z[2] {
		at := [3]int{j / (z[1] * z[2]) % z[0], j / z[2] % z[1], j % z[2]}
		o, item := j/(z[0]*z[1]*z[2])%c.Out, j/(z[0]*z[1]*z[2])/c.Out
		sum := float64(bias[o])
		for i := range c.In * k[0] * k[1] * k[2] {
			tap, from, inside := [3]int{i / (k[1] * k[2]) % k[0], i / k[2] % k[1], i % k[2]}, 0, true
			for d := range 3 {
				p := at[d]*c.Stride[d] - c.Pad[d] + tap[d]*c.Dilation[d]
				inside = inside && p >= 0 && p < c.Size[d]
				from = from*c.Size[d] + p
			}
			if inside {
				channel := item*c.In + i/(k[0]*k[1]*k[2])
				sum += float64(w[o*c.In*k[0]*k[1]*k[2]+i]) * float64(x[channel*c.Size[0]*c.Size[1]*c.Size[2]+from])
			}
		}
		y = append(y, float32(sum))
	}
	return y
}

// Every kernel for a product gives what a sum at a time gives, and so do all kernels for gradients of weights: in
// shapes that fill their blocks and shapes that do not, that divide by 8 and that do not.
func TestGatherTiles(t *testing.T) {
	one := [3]int{1, 1, 1}
	for _, c := range []nn.ConvShape{
		{In: 3, Out: 70, Size: [3]int{1, 8, 8}, Kernel: [3]int{1, 3, 3}, Stride: one, Pad: [3]int{0, 1, 1}, Dilation: one},
		{In: 65, Out: 17, Size: [3]int{1, 7, 9}, Kernel: [3]int{1, 3, 3}, Stride: [3]int{1, 2, 2}, Pad: [3]int{0, 1, 1}, Dilation: one},
		{In: 2, Out: 5, Size: [3]int{5, 6, 7}, Kernel: [3]int{2, 3, 3}, Stride: [3]int{1, 2, 1}, Pad: [3]int{1, 0, 2}, Dilation: [3]int{2, 1, 2}},
	} {
		const items = 5
		e := open(t)
		net := makeNet(t, nn.Seq(&nn.Dense{Out: 1}), nn.Shape{1})
		n, err := newNetwork(e.devices[0], net, items, &nn.OptimizerOptions{Kind: "sgd"})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { n.leave = func() {}; n.close() }()
		z := c.OutSize()
		area, plane, volume := c.Kernel[0]*c.Kernel[1]*c.Kernel[2], z[0]*z[1]*z[2], c.Size[0]*c.Size[1]*c.Size[2]
		columns := c.In * area
		x, dy := inputs("", items, c.In*volume), inputs("", items, c.Out*plane)
		weights, bias := inputs("", c.Out, columns), inputs("", c.Out, 1)
		b := &builder{network: n, train: true}
		pass := newGatherPass(b, forwardTables(c, one), gatherArgs{
			w: upload(b, weights), bias: upload(b, bias), rows: int32(c.Out), xs: int32(c.In * volume), ws: int32(columns), plane: int32(plane), q: 1,
		})
		a := pass.args
		a.n, a.x, a.dy, a.y = items, upload(b, x), upload(b, dy), b.values(items*c.Out*plane)
		read := func(args gatherArgs, name string, grid [3]int, threads int, from func() []float32) []float32 {
			if b.err != nil {
				t.Fatal(b.err)
			}
			r := &recorder{stream: n.stream, items: items}
			r.launch(name, grid, threads, unsafe.Pointer(&args))
			if r.err != nil {
				t.Fatal(r.err)
			}
			return from()
		}
		want := convolved(c, x, weights, bias, items)
		for _, tile := range gatherTiles {
			got := read(a, tile.name, [3]int{pieces(items*pass.most, tile.columns), pieces(c.Out, tile.rows), 1}, tile.threads, func() []float32 {
				y := make([]float32, len(want))
				if err := n.stream.Download(y, a.y); err != nil {
					t.Fatal(err)
				}
				if err := n.stream.Synchronize(); err != nil {
					t.Fatal(err)
				}
				return y
			})
			if d := far(got, want); !(d < 1e-6) {
				t.Errorf("%+v: %s differs by %g", c, tile.name, d)
			}
		}
		// The gradient of weight (o, k) is the inner product of dy and what the convolution with that weight alone gives.
		slope := func(o, k int) float64 {
			alone := make([]float32, columns)
			alone[k] = 1
			single := c
			single.Out = 1
			y, sum := convolved(single, x, alone, []float32{0}, items), 0.0
			for i, v := range y {
				sum += float64(v) * float64(dy[(i/plane*c.Out+o)*plane+i%plane])
			}
			return sum
		}
		const chunks = 3
		a.columns, a.chunks = int32(columns), chunks
		a.part = b.values(chunks * c.Out * (columns + 1))
		for _, tile := range []struct {
			name          string
			rows, columns int
		}{{"gather_dw_16x32", 16, 32}, {"gather_dw_32x32", 32, 32}, {"gather_dw_32x64", 32, 64}} {
			got := read(a, tile.name, [3]int{chunks, pieces(columns+1, tile.columns), pieces(c.Out, tile.rows)}, 128, func() []float32 {
				parts := make([]float32, chunks*c.Out*(columns+1))
				if err := n.stream.Download(parts, a.part); err != nil {
					t.Fatal(err)
				}
				if err := n.stream.Synchronize(); err != nil {
					t.Fatal(err)
				}
				sum := slices.Clone(parts[:c.Out*(columns+1)])
				for i, v := range parts[len(sum):] {
					sum[i%len(sum)] += v
				}
				return sum
			})
			var some, expected []float32
			for i := 0; i < c.Out*columns; i += 1 + c.Out*columns/60 {
				some, expected = append(some, got[i]), append(expected, float32(slope(i/columns, i%columns)))
			}
			for o := range c.Out {
				sum := 0.0
				for i := range items * plane {
					sum += float64(dy[(i/plane*c.Out+o)*plane+i%plane])
				}
				some, expected = append(some, got[c.Out*columns+o]), append(expected, float32(sum))
			}
			if d := far(some, expected); !(d < 1e-5) {
				t.Errorf("%+v: %s differs by %g", c, tile.name, d)
			}
		}
	}
}

// The tile of a product has no more than twice the rows needed, and enough columns in a thread for its windows.
func TestPickTile(t *testing.T) {
	for _, c := range []struct {
		rows, columns, window int
		want                  string
	}{
		{16, 131072, 4, "gather_16x256"}, {32, 32768, 4, "gather_32x128_split2"}, {32, 200704, 4, "gather_32x128"}, {64, 8192, 4, "gather_32x64_split2"},
		{16, 32768, 1, "gather_16x128"}, {64, 200704, 1, "gather_64x128"}, {3, 100, 8, "gather_16x256"}, {40, 100, 8, "gather_32x128_split2"},
	} {
		if got := pickTile(c.rows, c.columns, c.window).name; got != c.want {
			t.Errorf("%v: %s", c, got)
		}
	}
}
