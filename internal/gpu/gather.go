package gpu

import (
	"unsafe"

	"credence/internal/cuda"
	"credence/nn"
)

// The tables of gather.cu, which describe the geometry of a convolution to kernels that know none. Values of an
// item's input lie at place.x + tap.x; they count as zero where place.bad and tap.bit share a bit. Each kernel
// position has one bit in each dimension, so sizes of kernels must add up to at most gatherBits.

const (
	gatherBits = 31
	gatherFill = 32      // tables are filled up to a multiple of this number of taps
	filledUp   = 1 << 31 // the bit of those that fill up, which each place has
)

type tap struct {
	x, w int32
	bit  uint32
	_    int32
}

type place struct {
	x    int32
	bad  uint32
	y, _ int32
}

// group is a set of places with the same taps.
type group struct{ tap, taps, place, places int32 }

// axis is one dimension of a group: the kernel positions that take part, with the distance of the value that each
// reads from a place's first, and the places: their first value and where their result goes.
type axis struct {
	size          int // of what is read
	kernel        []int
	distance      []int
	first, result []int
}

// forwardAxis is that of a forward pass.
func forwardAxis(size, kernel, stride, pad, dilation, out int) axis {
	a := axis{size: size}
	for k := range kernel {
		a.kernel, a.distance = append(a.kernel, k), append(a.distance, k*dilation)
	}
	for i := range out {
		a.first, a.result = append(a.first, i*stride-pad), append(a.result, i)
	}
	return a
}

// backwardAxis is that of the gradient of the inputs i = rest, rest + stride, …: through kernel position k, input i
// reaches output (i + pad − k·dilation)/stride, if that is a whole number.
func backwardAxis(size, kernel, stride, pad, dilation, out, rest int) axis {
	a := axis{size: out}
	for k := range kernel {
		if d := rest + pad - k*dilation; d%stride == 0 {
			a.kernel, a.distance = append(a.kernel, k), append(a.distance, d/stride)
		}
	}
	for i := rest; i < size; i += stride {
		a.first, a.result = append(a.first, i/stride), append(a.result, i)
	}
	return a
}

// bad returns the bits, from bit on, of the kernel positions that read outside from place i.
func (a *axis) bad(i, bit int) (bits uint32) {
	for k, d := range a.distance {
		if at := a.first[i] + d; at < 0 || at >= a.size {
			bits |= 1 << (bit + k)
		}
	}
	return bits
}

// tables collects the groups of a convolution's pass.
type tables struct {
	groups []group
	taps   []tap
	places []place
}

// addTaps begins a group: for each of the channels and each kernel position, where the value is that it is
// multiplied with, and the weight among those of a row.
func (t *tables) addTaps(axes [3]axis, channels int, weight func(channel, d, h, w int) int) {
	g := group{tap: int32(len(t.taps)), place: int32(len(t.places))}
	d, h, w := &axes[0], &axes[1], &axes[2]
	for c := range channels {
		for i, kd := range d.kernel {
			for j, kh := range h.kernel {
				for k, kw := range w.kernel {
					t.taps = append(t.taps, tap{
						x:   int32(((c*d.size+d.distance[i])*h.size+h.distance[j])*w.size + w.distance[k]),
						w:   int32(weight(c, kd, kh, kw)),
						bit: 1<<i | 1<<(len(d.kernel)+j) | 1<<(len(d.kernel)+len(h.kernel)+k),
					})
				}
			}
		}
	}
	g.taps = int32(len(t.taps)) - g.tap
	for len(t.taps)%gatherFill != 0 {
		t.taps = append(t.taps, tap{bit: filledUp})
	}
	t.groups = append(t.groups, g)
}

// addPlace adds a place to the last group.
func (t *tables) addPlace(axes [3]axis, d, h, w int, result int) {
	a, b, c := &axes[0], &axes[1], &axes[2]
	t.places = append(t.places, place{
		x:   int32((a.first[d]*b.size+b.first[h])*c.size + c.first[w]),
		bad: a.bad(d, 0) | b.bad(h, len(a.kernel)) | c.bad(w, len(a.kernel)+len(b.kernel)) | filledUp,
		y:   int32(result),
	})
	t.groups[len(t.groups)-1].places++
}

// forwardTables are those of a forward pass, whose places come window by window; a window of a single position
// means no pool.
func forwardTables(c nn.ConvShape, window [3]int) *tables {
	out, t := c.OutSize(), &tables{}
	var axes [3]axis
	for i := range axes {
		axes[i] = forwardAxis(c.Size[i], c.Kernel[i], c.Stride[i], c.Pad[i], c.Dilation[i], out[i])
	}
	t.addTaps(axes, c.In, func(channel, d, h, w int) int {
		return ((channel*c.Kernel[0]+d)*c.Kernel[1]+h)*c.Kernel[2] + w
	})
	result := 0
	for d := 0; d+window[0] <= out[0]; d += window[0] {
		for h := 0; h+window[1] <= out[1]; h += window[1] {
			for w := 0; w+window[2] <= out[2]; w += window[2] {
				for q := range window[0] * window[1] * window[2] {
					t.addPlace(axes, d+q/(window[1]*window[2]), h+q/window[2]%window[1], w+q%window[2], result)
				}
				result++
			}
		}
	}
	return t
}

// backwardTables are those of the gradient of the inputs, a group for each remainder modulo the strides.
func backwardTables(c nn.ConvShape) *tables {
	out, t := c.OutSize(), &tables{}
	area := c.Kernel[0] * c.Kernel[1] * c.Kernel[2]
	for rest := range c.Stride[0] * c.Stride[1] * c.Stride[2] {
		rests := [3]int{rest / (c.Stride[1] * c.Stride[2]), rest / c.Stride[2] % c.Stride[1], rest % c.Stride[2]}
		var axes [3]axis
		for i := range axes {
			axes[i] = backwardAxis(c.Size[i], c.Kernel[i], c.Stride[i], c.Pad[i], c.Dilation[i], out[i], rests[i])
		}
		t.addTaps(axes, c.Out, func(channel, d, h, w int) int {
			return channel*c.In*area + (d*c.Kernel[1]+h)*c.Kernel[2] + w
		})
		for d, rd := range axes[0].result {
			for h, rh := range axes[1].result {
				for w, rw := range axes[2].result {
					t.addPlace(axes, d, h, w, (rd*c.Size[1]+rh)*c.Size[2]+rw)
				}
			}
		}
	}
	return t
}

// gatherPass is a pass of a convolution on the device.
type gatherPass struct {
	args   gatherArgs // the tables, and what is the same for each call
	groups int
	most   int // places of the largest group, of an item
}

// newGatherPass puts tables on the device.
func newGatherPass(b *builder, t *tables, a gatherArgs) gatherPass {
	a.groups, a.taps, a.places = upload(b, t.groups), upload(b, t.taps), upload(b, t.places)
	p := gatherPass{groups: len(t.groups)}
	for _, g := range t.groups {
		p.most = max(p.most, int(g.places))
	}
	// Threads write eight neighbouring places at once where no more than one item has them.
	a.together = flag(len(t.groups) == 1 && a.q == 1 && p.most%8 == 0 && p.most == int(a.plane))
	p.args = a
	return p
}

// upload copies entries of tables to the device.
func upload[T any](b *builder, list []T) cuda.Memory {
	n := len(list) * int(unsafe.Sizeof(*new(T))) / 4
	m := b.values(n)
	if b.err == nil && n > 0 {
		b.err = b.network.stream.Upload(m, unsafe.Slice((*float32)(unsafe.Pointer(&list[0])), n))
	}
	if b.err == nil {
		b.err = b.network.stream.Synchronize()
	}
	return m
}

// gatherTile is a kernel of gather.cu: rows and columns of a block, columns of a thread, and the number of threads.
type gatherTile struct {
	name                          string
	rows, columns, block, threads int
}

// gatherTiles are the kernels in order of preference, which is that of arithmetic per value loaded.
var gatherTiles = [...]gatherTile{
	{"gather_64x128", 64, 128, 8, 128},
	{"gather_32x128", 32, 128, 8, 128},
	{"gather_32x128_split2", 32, 128, 8, 256},
	{"gather_32x64_split2", 32, 64, 4, 256},
	{"gather_32x64_split4", 32, 64, 4, 512},
	{"gather_16x256", 16, 256, 8, 128},
	{"gather_16x128", 16, 128, 4, 128},
}

// pickTile chooses the kernel for a product whose columns come in windows: the first with rows for it and enough
// warps to fill a GPU, else the last with rows for it.
func pickTile(rows, columns, window int) (best gatherTile) {
	const enough = 2000 // warps, some 15 for each of 132 multiprocessors
	for _, t := range gatherTiles {
		if t.block < window || (t.rows == 16) != (rows <= 16) || t.rows == 64 && rows <= 32 {
			continue
		}
		best = t
		if pieces(rows, t.rows)*pieces(columns, t.columns)*t.threads/32 >= enough {
			break
		}
	}
	return best
}

// run submits the pass.
func (p *gatherPass) run(r *recorder, a gatherArgs) {
	a.n = int32(r.items)
	rows, columns := int(a.rows), r.items*p.most
	t := pickTile(rows, columns*p.groups, int(a.q))
	r.launch(t.name, [3]int{pieces(columns, t.columns), pieces(rows, t.rows), p.groups}, t.threads, unsafe.Pointer(&a))
}
