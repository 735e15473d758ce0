package plot

import (
	"image"
	"image/draw"
	"math"

	"golang.org/x/image/vector"
)

// fill draws the inside of closed lines, given in units of the figure. All lines
// that overlap must turn the same way.
func (r *raster) fill(lines [][]point, colour string, opacity float64) {
	box := emptyBox()
	for _, line := range lines {
		for _, p := range line {
			box.add(p)
		}
	}
	// Only the part of the image that is touched is worked on.
	left, top := int(math.Floor(box.lo.x*r.scale)), int(math.Floor(box.lo.y*r.scale))
	right, bottom := int(math.Ceil(box.hi.x*r.scale)), int(math.Ceil(box.hi.y*r.scale))
	if right <= left || bottom <= top {
		return
	}
	z := vector.NewRasterizer(right-left, bottom-top)
	for _, line := range lines {
		for i, p := range line {
			x, y := float32(p.x*r.scale-float64(left)), float32(p.y*r.scale-float64(top))
			if i == 0 {
				z.MoveTo(x, y)
			} else {
				z.LineTo(x, y)
			}
		}
		z.ClosePath()
	}
	z.DrawOp = draw.Over
	z.Draw(r.img, image.Rect(left, top, right, bottom), image.NewUniform(rgba(colour, opacity)), image.Point{})
}

// stroke draws lines of a width, with round joins and flat ends.
func (r *raster) stroke(lines [][]point, width float64, colour string, opacity float64) {
	var outline [][]point
	half := width / 2
	for _, line := range lines {
		for i := 1; i < len(line); i++ {
			a, b := line[i-1], line[i]
			length := math.Hypot(b.x-a.x, b.y-a.y)
			if length == 0 {
				continue
			}
			u, v := half*(b.x-a.x)/length, half*(b.y-a.y)/length
			outline = append(outline, []point{{a.x + v, a.y - u}, {b.x + v, b.y - u}, {b.x - v, b.y + u}, {a.x - v, a.y + u}})
			if i > 1 {
				outline = append(outline, circle(a, half, r.scale))
			}
		}
	}
	r.fill(outline, colour, opacity)
}

// circle returns a polygon that cannot be told from a circle at the scale. It
// turns like the sides of a stroke.
func circle(at point, radius, scale float64) []point {
	n := int(8 + 4*math.Sqrt(radius*scale)*2)
	line := make([]point, n)
	for i := range line {
		s, c := math.Sincos(2 * math.Pi * float64(i) / float64(n))
		line[i] = point{at.x + radius*c, at.y + radius*s}
	}
	return line
}

// dashes cuts a line into strokes and gaps of the given lengths in turn; nil
// leaves it whole.
func dashes(line []point, lengths []float64) [][]point {
	if len(lengths) == 0 || len(line) < 2 {
		return [][]point{line}
	}
	var parts [][]point
	part := []point{line[0]}
	turn, left := 0, lengths[0]
	for i := 1; i < len(line); i++ {
		from, to := line[i-1], line[i]
		length := math.Hypot(to.x-from.x, to.y-from.y)
		for length > left {
			share := left / length
			from = point{from.x + share*(to.x-from.x), from.y + share*(to.y-from.y)}
			length -= left
			if turn%2 == 0 {
				parts = append(parts, append(part, from))
			}
			turn++
			part, left = []point{from}, lengths[turn%len(lengths)]
		}
		left -= length
		part = append(part, to)
	}
	if turn%2 == 0 {
		parts = append(parts, part)
	}
	return parts
}

// bounds is the smallest rectangle around some points.
type bounds struct{ lo, hi point }

func emptyBox() bounds {
	return bounds{point{math.Inf(1), math.Inf(1)}, point{math.Inf(-1), math.Inf(-1)}}
}

func (b *bounds) add(p point) {
	b.lo.x, b.lo.y = min(b.lo.x, p.x), min(b.lo.y, p.y)
	b.hi.x, b.hi.y = max(b.hi.x, p.x), max(b.hi.y, p.y)
}
