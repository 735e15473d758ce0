package plot

import (
	"math"
	"reflect"
	"testing"
)

// TestTraceError compares the line with the curve at 20,000 places. Where the
// Curve is steep, what counts is the distance to its tangent.
func TestTraceError(t *testing.T) {
	for name, d := range goldenFigures(t) {
		f := &densityFigure{Density: d, levels: []float64{0.95}}
		f.layOut(FigureWidth)
		for i, c := range d.Curves {
			at := 1
			for j := range 20_000 {
				px := f.X.Start + (f.X.End-f.X.Start)*(float64(j)+0.5)/20_000
				for f.lines[i][at].X < px {
					at++
				}
				p, q := f.lines[i][at-1], f.lines[i][at]
				got := p.Y + (q.Y-p.Y)*(px-p.X)/(q.X-p.X)
				want := f.Y.Pixel(c.Mixture.PDF(f.X.value(px)))
				if want < f.Y.End && got < f.Y.End {
					continue
				}
				slope := (f.Y.Pixel(c.Mixture.PDF(f.X.value(px+1e-4))) - want) / 1e-4
				if e := math.Abs(got-want) / math.Hypot(1, slope); !(e < 2*traceError) {
					t.Errorf("%s, curve %d: the line is %.3f pixels off at %v", name, i, e, f.X.value(px))
					break
				}
			}
		}
	}
}

// TestSpikesAreSeen draws spikes far narrower than a pixel.
func TestSpikesAreSeen(t *testing.T) {
	for _, a := range []float64{1e4, 1e6, 1e8, 1e10, 1e12} {
		m := beta(t, []float64{0.5, 0.5}, []float64{a, 2}, []float64{2 * a, 2})
		f := &densityFigure{Density: Density{Curves: []Curve{{Mixture: m}}}}
		f.layOut(FigureWidth)
		highest := math.Inf(1)
		for _, p := range f.lines[0] {
			highest = min(highest, p.Y)
		}
		if want := max(f.Y.Pixel(m.PDF(1.0/3)), f.Y.End); highest > want+1 {
			t.Errorf("with a = %g the curve goes up to %v, want %v", a, highest, want)
		}
	}
}

func TestBelow(t *testing.T) {
	for _, c := range []struct {
		line   []Point
		pieces [][]Point
		gaps   []float64
	}{
		{[]Point{{0, 5}, {1, 5}}, [][]Point{{{0, 5}, {1, 5}}}, nil},
		{[]Point{{0, 4}, {1, 2}, {2, 4}}, [][]Point{{{0, 4}, {0.5, 3}}, {{1.5, 3}, {2, 4}}}, []float64{1}},
		{[]Point{{0, 2}, {1, 4}, {2, 2}}, [][]Point{{{0.5, 3}, {1, 4}, {1.5, 3}}}, []float64{0.25, 1.75}},
		{[]Point{{0, 2}, {1, 2}}, nil, []float64{0.5}},
	} {
		if pieces, gaps := below(c.line, 3); !reflect.DeepEqual(pieces, c.pieces) || !reflect.DeepEqual(gaps, c.gaps) {
			t.Errorf("%v below 3: %v and gaps %v, want %v and %v", c.line, pieces, gaps, c.pieces, c.gaps)
		}
	}
}

func TestBetween(t *testing.T) {
	line := []Point{{0, 0}, {2, 4}, {4, 0}}
	for _, c := range []struct {
		left, right float64
		want        []Point
	}{
		{1, 3, []Point{{1, 2}, {2, 4}, {3, 2}}},
		{-1, 9, line},
		{0.5, 1, []Point{{0.5, 1}, {1, 2}}},
		{2, 4, []Point{{2, 4}, {4, 0}}},
		{5, 6, nil},
	} {
		if got := between(line, c.left, c.right); !reflect.DeepEqual(got, c.want) {
			t.Errorf("between %v and %v: %v, want %v", c.left, c.right, got, c.want)
		}
	}
}

func TestWindow(t *testing.T) {
	for _, c := range []struct {
		name            string
		curves          []Curve
		lo, hi          float64
		lowest, highest float64 // between which the height must lie
	}{
		{"uniform", []Curve{{Mixture: one(t, 1, 1)}}, 0, 1, 1, 1},
		{"bell", []Curve{{Mixture: one(t, 2, 2)}}, 0, 1, 1.5, 1.5},
		{"poles", []Curve{{Mixture: one(t, 0.5, 0.5)}}, 0, 1, 3, 5},
		{"spike", []Curve{{Mixture: one(t, 1e6, 1e6)}}, 0.4985, 0.5015, 1128, 1129},
		{"uniform and a narrow peak", []Curve{{Mixture: one(t, 1, 1)}, {Mixture: one(t, 200, 200)}}, 0, 1, 15.9, 16},
		{"uniform and a spike", []Curve{{Mixture: one(t, 1, 1)}, {Mixture: one(t, 1e6, 1e6)}}, 0, 1, 4, 4},
	} {
		lo, hi := probabilities(c.curves, 0.001, nil)
		if math.Abs(lo-c.lo) > 1e-9 || math.Abs(hi-c.hi) > 1e-9 {
			t.Errorf("%s: shown from %v to %v, want %v to %v", c.name, lo, hi, c.lo, c.hi)
		}
		if h := densities(c.curves, lo, hi); !(h >= c.lowest-1e-9 && h <= c.highest+1e-9) {
			t.Errorf("%s: shown up to %v, want %v to %v", c.name, h, c.lowest, c.highest)
		}
	}
}
