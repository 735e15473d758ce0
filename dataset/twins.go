package dataset

import (
	"errors"
	"math"
	"slices"

	"credence/internal/par"
)

// Nearly the same image: two photographs of one moment, or one that was saved, cropped by a pixel or brightened again. Both
// thresholds are correlations: of the means of a grid of 4×4 cells of each channel, by which most pairs are excluded, then of
// all pixels. Among the 10,000 photographs of CIFAR-10's test set they find those that people find, and no others.
const (
	twinCells  = 4
	coarseTwin = 0.98
	fineTwin   = 0.95

	twinItems = 1 << 17 // images that are compared; the time grows with the square
	twinBlock = 256     // images between two looks at how many are alike
)

// joinTwins returns same with items joined whose images of shape [C,H,W] are nearly the same. Where more than
// maxCopies are alike, as handwritten ones are, images are not copies of each other, and same is returned as it is.
func joinTwins(same sets, shape []int, rows Rows) (sets, error) {
	if rows.Len() > twinItems || shape[1] < twinCells || shape[2] < twinCells {
		return same, nil
	}
	coarse := make([][]float32, rows.Len())
	err := eachRow(rows, nil, func(i int, x []float32) error {
		coarse[i] = coarseImage(x, shape)
		return nil
	})
	if err != nil {
		return nil, err
	}
	// Points closer than this have a correlation above the threshold. Along a line, no two points are further apart than in
	// space, so that only neighbors along the line of the largest variance have to be looked at.
	closest := math.Sqrt(2 * (1 - coarseTwin))
	at := projections(coarse)
	var order []int
	for i, x := range coarse {
		if x != nil {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int {
		switch {
		case at[i] < at[j]:
			return -1
		case at[i] > at[j]:
			return 1
		}
		return 0
	})
	joined := slices.Clone(same)
	for from := 0; from < len(order); from += twinBlock {
		to := min(from+twinBlock, len(order))
		twins, errs := make([][]int, to-from), make([]error, to-from)
		par.For(to-from, func(b int) {
			i := order[from+b]
			var one, other []float32 // images, read where they are compared
			for _, j := range order[from+b+1:] {
				if at[j]-at[i] > closest {
					break
				}
				if !near(coarse[i], coarse[j], float32(closest*closest)) {
					continue
				}
				if one == nil {
					one, other = make([]float32, rows.Width()), make([]float32, rows.Width())
					errs[b] = rows.ReadRow(i, one)
				}
				if errs[b] = errors.Join(errs[b], rows.ReadRow(j, other)); errs[b] != nil {
					return
				}
				if correlation(one, other) > fineTwin {
					twins[b] = append(twins[b], j)
				}
			}
		})
		if err := errors.Join(errs...); err != nil {
			return nil, err
		}
		for b, list := range twins {
			for _, j := range list {
				joined.join(j, order[from+b])
			}
			if len(list) >= maxCopies {
				return same, nil
			}
		}
	}
	if _, most := joined.sizes(); most > maxCopies {
		return same, nil
	}
	return joined, nil
}

// coarseImage returns the means of the cells of each channel, with mean 0 and length 1; nil if they are all equal or not finite.
func coarseImage(x []float32, shape []int) []float32 {
	channels, h, w := shape[0], shape[1], shape[2]
	sums, pixels := make([]float64, channels*twinCells*twinCells), make([]float64, channels*twinCells*twinCells)
	for c := range channels {
		for y := range h {
			row := x[(c*h+y)*w:][:w]
			cells := (c*twinCells + y*twinCells/h) * twinCells
			for z, v := range row {
				sums[cells+z*twinCells/w] += float64(v)
				pixels[cells+z*twinCells/w]++
			}
		}
	}
	mean, square := 0.0, 0.0
	for k, n := range pixels {
		sums[k] /= n
		mean += sums[k] / float64(len(sums))
	}
	for _, v := range sums {
		square += (v - mean) * (v - mean)
	}
	if !(square > 1e-12*mean*mean) || math.IsInf(square, 0) {
		return nil
	}
	list := make([]float32, len(sums))
	for k, v := range sums {
		list[k] = float32((v - mean) / math.Sqrt(square))
	}
	return list
}

// near reports whether the squared distance of two points is below a limit.
func near(a, b []float32, limit float32) bool {
	const some = 8
	sum := float32(0)
	for k := 0; k < len(a); k += some {
		for i := k; i < min(k+some, len(a)); i++ {
			d := a[i] - b[i]
			sum += d * d
		}
		if sum >= limit {
			return false
		}
	}
	return true
}

// projections returns the positions of points along the line on which their variance is about the largest, found by iterating on
// the matrix of their second moments; 0 for points that are nil.
func projections(points [][]float32) []float64 {
	var line []float64
	at := make([]float64, len(points))
	for range 5 {
		next := make([]float64, len(line))
		for i, x := range points {
			if x == nil {
				continue
			}
			if line == nil { // the first point is a start that is not orthogonal to all others
				line, next = make([]float64, len(x)), make([]float64, len(x))
				for k, v := range x {
					line[k] = float64(v)
				}
			}
			at[i] = 0
			for k, v := range x {
				at[i] += line[k] * float64(v)
			}
			for k, v := range x {
				next[k] += at[i] * float64(v)
			}
		}
		length := 0.0
		for _, v := range next {
			length += v * v
		}
		if length == 0 {
			break
		}
		for k, v := range next {
			line[k] = v / math.Sqrt(length)
		}
	}
	for i, x := range points {
		at[i] = 0
		for k, v := range x {
			at[i] += line[k] * float64(v)
		}
	}
	return at
}

// correlation returns the correlation of the pixels of two images, NaN if one of them is constant.
func correlation(a, b []float32) float64 {
	var ma, mb float64
	for i, v := range a {
		ma += float64(v)
		mb += float64(b[i])
	}
	ma /= float64(len(a))
	mb /= float64(len(b))
	var aa, bb, ab float64
	for i, v := range a {
		x, y := float64(v)-ma, float64(b[i])-mb
		aa += x * x
		bb += y * y
		ab += x * y
	}
	return ab / math.Sqrt(aa*bb)
}
