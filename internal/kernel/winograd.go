package kernel

import "math"

// Minimal filtering (Toom and Cook; Winograd 1980) computes m neighboring
// outputs of a row of k taps with t = m + k − 1 products where the direct
// convolution takes m·k. Input and taps are evaluated at t points, multiplied
// there, and m coefficients are interpolated:
//
//	y = Aᵀ [ (G w) ⊙ (Bᵀ x) ],   w [k], x [t], y [m]
//
// Taps of other kernel rows and input channels add up between the products and
// Aᵀ, so that Aᵀ is paid for once per output. With points a_0 … a_{t−2} and ∞,
//
//	Aᵀ[p, j] = a_j^p                              ∞: 1 for p = m−1
//	G[j, l]  = a_j^l / Π_{i≠j} (a_j − a_i)        ∞: 1 for l = k−1
//	Bᵀ[j, ·] = coefficients of Π_{i≠j} (z − a_i)  ∞: of Π_i (z − a_i)
//
// The points are fractions whose powers and coefficients float32 holds exactly,
// so that only G is rounded. Among those with small denominators they were
// chosen by the error of 125 taps on normal data: in the root mean square 0.3,
// 0.5 and 0.8·10⁻⁶ of that of the outputs for t = 6, 8 and 9, at most 2·10⁻⁶ of
// the largest output; the direct sum has 0.2·10⁻⁶. A NaN or an infinity makes
// all m outputs of its tiles NaN.

// winogradPoints are the positive points for t; their opposites are points, too,
// and so are ∞ and, for even t, 0.
var winogradPoints = map[int][]float64{
	6: {5. / 8, 3. / 2}, 8: {1. / 2, 1, 2}, 9: {1. / 4, 5. / 8, 1, 2},
}

// winogradSizes are the numbers t of products that there are points for.
var winogradSizes = [...]int{6, 8, 9}

// winogradPowers is the number of outputs of a tile at most, m = 7 for k = 3.
const winogradPowers = 7

// winograd is the plan of a convolution along rows by minimal filtering. Points
// are in the order 0 (if t is even), a, −a for each positive point a, ∞.
type winograd struct {
	m, k, t int
	in      []float32   // [t, 16]: in[i·16 + j] = Bᵀ[j, i], zeros for j ≥ t
	powers  []float32   // [winogradPowers, pairs]: a^p
	weights [][]float64 // [t][k]: G
}

func newWinograd(m, k int) *winograd {
	t := m + k - 1
	f := &winograd{m: m, k: k, t: t, in: make([]float32, t*lanes)}
	var points []float64
	if t%2 == 0 {
		points = append(points, 0)
	}
	for _, a := range winogradPoints[t] {
		points = append(points, a, -a)
	}
	for p := range winogradPowers {
		for _, a := range winogradPoints[t] {
			f.powers = append(f.powers, float32(math.Pow(a, float64(p))))
		}
	}
	for j := range t {
		norm, poly := 1.0, []float64{1}
		for i, b := range points {
			if i == j {
				continue
			}
			if j < len(points) {
				norm *= points[j] - b
			}
			poly = append(poly, 0) // times z − b
			for q := len(poly) - 1; q >= 0; q-- {
				poly[q] *= -b
				if q > 0 {
					poly[q] += poly[q-1]
				}
			}
		}
		for i, v := range poly {
			f.in[i*lanes+j] = float32(v)
		}
		row := make([]float64, k)
		row[k-1] = 1
		if j < len(points) {
			for l := range row {
				row[l] = math.Pow(points[j], float64(l)) / norm
			}
		}
		f.weights = append(f.weights, row)
	}
	return f
}

// chooseWinograd returns the plan that takes least time for a convolution, nil
// if the direct one does. It depends on the shape alone, and not on a pool, so
// that the convolution fused with one gives the same bits.
func chooseWinograd(s ConvShape) *winograd {
	k, wide := s.Kernel[2], s.OutSize()[2]
	if s.Stride[2] != 1 || s.Dilation[2] != 1 || k < 3 || k > 7 {
		return nil
	}
	rows := float64(s.In * s.Kernel[0] * s.Kernel[1])
	blocks := float64(roundUp(s.Out, 8)) / lanes
	best, bestCost := 0, winogradGain*float64(wide*k)*rows*blocks
	for _, t := range winogradSizes {
		m := t - k + 1
		if m < 2 || m > wide {
			continue
		}
		tile := blocks*(float64(t)*rows+winogradOutputCost*float64(t+m)) + winogradInputCost*float64(s.In*t)
		if cost := tile * float64((wide+m-1)/m); cost < bestCost {
			best, bestCost = m, cost
		}
	}
	if best == 0 {
		return nil
	}
	return newWinograd(best, k)
}

// What the transforms of a tile cost, in products of vectors for each value, and
// the part of the direct convolution's time that is a gain: with these, of 400
// shapes with rows of 8 to 64 positions none that is chosen took longer than
// directly by more than measurements vary, with AVX2 or AVX-512.
const (
	winogradOutputCost = 3
	winogradInputCost  = 2.5
	winogradGain       = 0.8
)

// tiles returns the number of tiles that compute the first n of wide positions.
// They begin at multiples of m, but for one that ends with the row.
func (f *winograd) tiles(n, wide int) int {
	return min((n+f.m-1)/f.m, (wide+f.m-1)/f.m)
}

// start returns where tile z begins in a row of wide positions.
func (f *winograd) start(z, wide int) int { return min(z*f.m, wide-f.m) }

// pack lays out the weights of one block of channels for the products: from the
// taps w [channels, rows·k] to dst [t][rows][cb], absent channels zero.
func (f *winograd) pack(dst, w []float32, rows, cb, channels int) {
	clear(dst[:f.t*rows*cb])
	for c := range channels {
		for r := range rows {
			taps := w[(c*rows+r)*f.k:][:f.k]
			for j, g := range f.weights {
				sum := 0.0
				for l, v := range taps {
					sum += g[l] * float64(v)
				}
				dst[(j*rows+r)*cb+c] = float32(sum)
			}
		}
	}
}

// winogradInputGeneric evaluates n rows of an input, which lie ld apart, at the
// points: for r < n, z < len(starts) and j < t,
//
//	v[(r·len(starts) + z)·t + j] = Σ_{i<t} in[i·16 + j] · x[r·ld + starts[z] + i]
//
// It may write up to 16 − t elements more.
func winogradInputGeneric(v, x []float32, n, ld int, starts []int32, in []float32, t int) {
	for r := range n {
		for z, at := range starts {
			from, to := x[r*ld+int(at):][:t], v[(r*len(starts)+z)*t:][:t]
			for j := range to {
				sum := float32(0)
				for i, xv := range from {
					sum += float32(in[i*lanes+j] * xv)
				}
				to[j] = sum
			}
		}
	}
}

// winogradOutputGeneric interpolates tiles of m outputs from products at t
// points: for i < len(o) in order, p < m and c < cb (8 or 16),
//
//	out[(o[i] + p)·cb + c] = bias[c] + Σ_{j<t} Aᵀ[p, j] · prod[(j·ld + i)·cb + c]
//
// where the two products of opposite points are added first if p is even,
// subtracted if it is odd. powers is [p][points/2].
func winogradOutputGeneric(out, bias, prod []float32, ld int, o []int32, powers []float32, m, t, cb int) {
	half, zero := (t-1)/2, (t+1)%2
	for i, to := range o {
		at := func(j, c int) float32 { return prod[(j*ld+i)*cb+c] }
		for p := range m {
			y := out[(int(to)+p)*cb:][:cb]
			for c := range y {
				sum := bias[c]
				if p == 0 && zero == 1 {
					sum += at(0, c)
				}
				for q, a := range powers[p*half : (p+1)*half] {
					plus, minus := at(zero+2*q, c), at(zero+2*q+1, c)
					if p%2 == 1 {
						minus = -minus
					}
					sum += float32(a * (plus + minus))
				}
				if p == m-1 {
					sum += at(t-1, c)
				}
				y[c] = sum
			}
		}
	}
}
