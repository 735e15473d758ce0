package figures

import (
	"image/color"
	"math"
	"slices"

	"credence/internal/plot"
)

// contours returns the lines along which the field of values [rows][columns]
// has the given level, as places in units of the grid (column, row). Between the
// nodes the field is linear along the sides of a square; where two lines cross a
// square, its mean decides how they are joined (marching squares, Maple 2003).
func contours(values [][]float64, level float64) [][]plot.Point {
	type side struct{ row, column, down int } // from a node to the right, or down: 0 or 1
	next := map[side][]side{}
	place := map[side]plot.Point{}
	var sides []side // in order, so that lines are the same on every run
	join := func(a, b side) {
		for _, s := range []side{a, b} {
			if _, seen := place[s]; !seen {
				sides = append(sides, s)
				from := values[s.row][s.column]
				to := values[s.row+s.down][s.column+1-s.down]
				t := (level - from) / (to - from)
				place[s] = xy(float64(s.column)+t*float64(1-s.down), float64(s.row)+t*float64(s.down))
			}
		}
		next[a], next[b] = append(next[a], b), append(next[b], a)
	}
	for i := range len(values) - 1 {
		for j := range len(values[i]) - 1 {
			corner := [4]float64{values[i][j], values[i][j+1], values[i+1][j+1], values[i+1][j]}
			around := [4]side{{i, j, 0}, {i, j + 1, 1}, {i + 1, j, 0}, {i, j, 1}}
			var cut []side
			for k, s := range around {
				if (corner[k] >= level) != (corner[(k+1)%4] >= level) {
					cut = append(cut, s)
				}
			}
			switch len(cut) {
			case 2:
				join(cut[0], cut[1])
			case 4:
				middle := (corner[0] + corner[1] + corner[2] + corner[3]) / 4
				if (middle >= level) == (corner[0] >= level) {
					join(cut[0], cut[1]) // corners 0 and 2 are connected
					join(cut[2], cut[3])
				} else {
					join(cut[3], cut[0])
					join(cut[1], cut[2])
				}
			}
		}
	}
	var lines [][]plot.Point
	done := map[side]bool{}
	follow := func(from side) {
		var line []plot.Point
		for at, ok := from, true; ok; {
			done[at] = true
			line = append(line, place[at])
			ok = false
			for _, n := range next[at] {
				if !done[n] {
					at, ok = n, true
					break
				}
			}
			if !ok && len(line) > 2 && slices.Contains(next[at], from) {
				line = append(line, place[from]) // it is closed
			}
		}
		lines = append(lines, line)
	}
	for _, s := range sides { // open lines begin at the edge
		if len(next[s]) == 1 && !done[s] {
			follow(s)
		}
	}
	for _, s := range sides {
		if !done[s] {
			follow(s)
		}
	}
	return lines
}

// bilinear returns the field between its nodes, at a place in units of the grid.
func bilinear(values [][]float64, x, y float64) float64 {
	rows, columns := len(values), len(values[0])
	i := min(max(int(math.Floor(y)), 0), rows-2)
	j := min(max(int(math.Floor(x)), 0), columns-2)
	s, t := x-float64(j), y-float64(i)
	return (1-t)*((1-s)*values[i][j]+s*values[i][j+1]) + t*((1-s)*values[i+1][j]+s*values[i+1][j+1])
}

// colorAnchors are every 32nd color of viridis (Smith and van der Walt 2015),
// from dark blue to yellow. Its lightness rises evenly, so equal steps of a
// number look like equal steps, also to the color-blind and in gray print.
var colorAnchors = [9][3]float64{
	{68, 1, 84}, {71, 44, 122}, {59, 81, 139}, {44, 113, 142}, {33, 144, 141},
	{39, 173, 129}, {92, 200, 99}, {170, 220, 50}, {253, 231, 37},
}

// colorSteps is the number of colors of a field.
const colorSteps = 64

// colorOf returns the color of a share of the scale; shares outside of 0 to 1
// have those of its ends.
func colorOf(share float64) color.RGBA {
	at := min(max(share, 0), 1) * float64(len(colorAnchors)-1)
	i := min(int(at), len(colorAnchors)-2)
	t := at - float64(i)
	part := func(k int) uint8 {
		return uint8(math.Round((1-t)*colorAnchors[i][k] + t*colorAnchors[i+1][k]))
	}
	return color.RGBA{part(0), part(1), part(2), 255}
}

// palette returns the colors of a field, from low to high.
func palette() color.Palette {
	p := make(color.Palette, colorSteps)
	for i := range p {
		p[i] = colorOf(float64(i) / (colorSteps - 1))
	}
	return p
}

// colorStep returns the place of v in the palette of a scale from lo to hi.
func colorStep(v, lo, hi float64) uint8 {
	if !(v > lo) { // also for NaN
		return 0
	}
	return uint8(min((v-lo)/(hi-lo)*colorSteps, colorSteps-1))
}
