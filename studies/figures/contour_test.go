package figures

import (
	"math"
	"testing"

	"credence/internal/plot"
)

// TestContoursOfACone: the level lines of a cone are circles, closed, at the
// right distance up to the error of linear interpolation.
func TestContoursOfACone(t *testing.T) {
	const n = 61
	var values [][]float64
	for i := range n {
		var row []float64
		for j := range n {
			row = append(row, math.Hypot(float64(j)-30, float64(i)-30))
		}
		values = append(values, row)
	}
	lines := contours(values, 20)
	if len(lines) != 1 {
		t.Fatalf("%d lines, want one circle", len(lines))
	}
	line := lines[0]
	if line[0] != line[len(line)-1] || len(line) < 100 {
		t.Errorf("a line of %d places from %v to %v is not closed", len(line), line[0], line[len(line)-1])
	}
	for _, p := range line {
		if r := math.Hypot(p.X-30, p.Y-30); math.Abs(r-20) > 0.02 {
			t.Errorf("%v is %v from the center, want 20", p, r)
		}
	}
	// A circle that leaves the grid is cut into four arcs, one in each corner.
	if arcs := contours(values, 35); len(arcs) != 4 {
		t.Errorf("%d arcs, want 4", len(arcs))
	}
	if none := contours(values, 100); len(none) != 0 {
		t.Errorf("%d lines above all values", len(none))
	}
}

// TestContoursOfASaddle: a square whose opposite corners are high is cut by two
// lines, which do not cross.
func TestContoursOfASaddle(t *testing.T) {
	for _, c := range []struct {
		level float64
		near  plot.Point // a corner that a line goes around
	}{{0.4, xy(1, 0)}, {0.6, xy(0, 0)}} {
		lines := contours([][]float64{{1, 0}, {0, 1}}, c.level)
		if len(lines) != 2 || len(lines[0]) != 2 {
			t.Fatalf("lines %v", lines)
		}
		around := false
		for _, l := range lines {
			middle := xy((l[0].X+l[1].X)/2, (l[0].Y+l[1].Y)/2)
			around = around || math.Hypot(middle.X-c.near.X, middle.Y-c.near.Y) < 0.5
		}
		if !around {
			t.Errorf("level %v: lines %v, want one around %v", c.level, lines, c.near)
		}
	}
}

// TestColorsRise: lightness (CIE L*) rises evenly over the scale, by the
// definition of the color map; 2 units are below what an eye sees.
func TestColorsRise(t *testing.T) {
	lightness := func(share float64) float64 {
		c := colorOf(share)
		linear := func(v uint8) float64 {
			if x := float64(v) / 255; x <= 0.04045 {
				return x / 12.92
			} else {
				return math.Pow((x+0.055)/1.055, 2.4)
			}
		}
		y := 0.2126*linear(c.R) + 0.7152*linear(c.G) + 0.0722*linear(c.B)
		return 116*math.Cbrt(y) - 16
	}
	lo, hi := lightness(0), lightness(1)
	for i := 1; i < 100; i++ {
		s := float64(i) / 100
		if l, want := lightness(s), lo+s*(hi-lo); math.Abs(l-want) > 3 {
			t.Errorf("lightness %.1f at %v, want %.1f", l, s, want)
		}
		if lightness(s) <= lightness(s-0.01)-0.3 {
			t.Errorf("lightness falls at %v", s)
		}
	}
	if colorOf(-1) != colorOf(0) || colorOf(2) != colorOf(1) {
		t.Error("shares outside of the scale have colors of their own")
	}
	if colorStep(math.NaN(), 0, 1) != 0 || colorStep(5, 0, 1) != colorSteps-1 || colorStep(0.5, 0, 1) != colorSteps/2 {
		t.Error("a step of the palette is wrong")
	}
}
