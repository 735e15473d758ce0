package backbone

import "math"

// filter is a kernel for resizing: its support on both sides, and its value at a distance.
type filter struct {
	support float64
	at      func(x float64) float64
}

// Filters are the names of the filters for resizing.
var Filters = []string{"bilinear", "bicubic", "lanczos"}

var filters = map[string]filter{
	"bilinear": {1, func(x float64) float64 { return max(0, 1-math.Abs(x)) }},
	"bicubic": {2, func(x float64) float64 {
		const a = -0.5
		x = math.Abs(x)
		switch {
		case x < 1:
			return ((a+2)*x-(a+3))*x*x + 1
		case x < 2:
			return (((x-5)*x+8)*x - 4) * a
		}
		return 0
	}},
	"lanczos": {3, func(x float64) float64 {
		sinc := func(x float64) float64 {
			if x == 0 {
				return 1
			}
			return math.Sin(x*math.Pi) / (x * math.Pi)
		}
		if x < -3 || x >= 3 {
			return 0
		}
		return sinc(x) * sinc(x/3)
	}},
}

// resize returns the image scaled to w×h, with the filter widened where the image becomes smaller. It rounds to 8 bits after
// each axis with weights of 22 bits, as Pillow does, and gives the same pixels.
func resize(p Picture, w, h int, name string) Picture {
	w, h = max(1, w), max(1, h)
	f := filters[name]
	if p.W != w {
		p = Picture{w, p.H, resampleLines(p, w, f)}
	}
	if p.H != h {
		p = Picture{p.W, h, resampleColumns(p, h, f)}
	}
	return p
}

// weightBits is the number of bits after the point of the weights of pixels.
const weightBits = 32 - 8 - 2

// window are the pixels that make one new pixel, and their weights.
type window struct {
	from    int
	weights []int32
}

// windows returns the window of each of to pixels made from n.
func windows(n, to int, f filter) []window {
	scale := float64(n) / float64(to)
	wide := max(1, scale)
	support := f.support * wide
	list := make([]window, to)
	for i := range list {
		center := (float64(i) + 0.5) * scale
		from, end := max(0, int(center-support+0.5)), min(n, int(center+support+0.5))
		k := make([]float64, end-from)
		sum := 0.0
		for x := range k {
			k[x] = f.at((float64(x+from) - center + 0.5) * (1 / wide))
			sum += k[x]
		}
		list[i] = window{from, make([]int32, len(k))}
		for x, v := range k {
			if sum != 0 {
				v /= sum
			}
			list[i].weights[x] = int32(math.Trunc(v*(1<<weightBits) + math.Copysign(0.5, v)))
		}
	}
	return list
}

// clip8 rounds a sum of weighted pixels.
func clip8(sum int32) uint8 { return uint8(max(0, min(255, sum>>weightBits))) }

// resampleLines scales the lines of an image to w pixels.
func resampleLines(p Picture, w int, f filter) []uint8 {
	out := make([]uint8, p.H*w*3)
	list := windows(p.W, w, f)
	for y := range p.H {
		line, dst := p.Pixels[y*p.W*3:], out[y*w*3:]
		for x, win := range list {
			const half = 1 << (weightBits - 1)
			r, g, b := int32(half), int32(half), int32(half)
			from := line[win.from*3:]
			for k, weight := range win.weights {
				c := from[3*k : 3*k+3 : 3*k+3]
				r += int32(c[0]) * weight
				g += int32(c[1]) * weight
				b += int32(c[2]) * weight
			}
			d := dst[3*x : 3*x+3 : 3*x+3]
			d[0], d[1], d[2] = clip8(r), clip8(g), clip8(b)
		}
	}
	return out
}

// resampleColumns scales the columns of an image to h pixels.
func resampleColumns(p Picture, h int, f filter) []uint8 {
	n := 3 * p.W
	out, sums := make([]uint8, h*n), make([]int32, n)
	for y, win := range windows(p.H, h, f) {
		for i := range sums {
			sums[i] = 1 << (weightBits - 1)
		}
		for k, weight := range win.weights {
			line := p.Pixels[(win.from+k)*n:][:n]
			for i, v := range line {
				sums[i] += int32(v) * weight
			}
		}
		for i, v := range sums {
			out[y*n+i] = clip8(v)
		}
	}
	return out
}
