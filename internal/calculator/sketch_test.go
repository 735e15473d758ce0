package calculator

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"credence/mixture"
)

func beta(t *testing.T, weights, a, b []float64) *mixture.Beta {
	t.Helper()
	m, err := mixture.NewBeta(weights, a, b)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestSketch draws difficult shapes at many widths: no line is too long, every
// column is drawn, and the masses of the columns add up to one.
func TestSketch(t *testing.T) {
	for name, f := range map[string]*mixture.Beta{
		"uniform":    beta(t, []float64{1}, []float64{1}, []float64{1}),
		"two poles":  beta(t, []float64{1}, []float64{0.3}, []float64{0.2}),
		"only poles": beta(t, []float64{1}, []float64{1e-3}, []float64{1e-3}),
		"bimodal":    beta(t, []float64{0.5, 0.5}, []float64{30, 3}, []float64{4, 25}),
		"spike":      beta(t, []float64{1}, []float64{1e6}, []float64{1e6}),
		"needle":     beta(t, []float64{1}, []float64{1e12}, []float64{1e15}),
		"at zero":    beta(t, []float64{1}, []float64{0.4}, []float64{1e8}),
		"at one":     beta(t, []float64{1}, []float64{1e7}, []float64{1e-3}),
	} {
		for _, width := range []int{40, 72, 80, 133} {
			var b bytes.Buffer
			drawDensity(&b, f, []float64{0.5, 0.999}, width)
			lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
			if want := sketchRows + 2 + 4 + 1; len(lines) != want {
				t.Errorf("%s at width %d: %d lines, want %d", name, width, len(lines), want)
			}
			for _, l := range lines[:len(lines)-1] { // the legend may be longer
				if n := utf8.RuneCountInString(l); n > width {
					t.Errorf("%s at width %d: line of %d characters: %s", name, width, n, l)
				}
			}
			if !strings.ContainsAny(lines[0], "▁▂▃▄▅▆▇█▲") {
				t.Errorf("%s at width %d: nothing reaches the top:\n%s", name, width, &b)
			}
			a := newAxis(width-15, f)
			total := 0.0
			for _, h := range heights(f, a) {
				total += h * (a.hi - a.lo) / float64(a.n)
			}
			if !(total > 0.998 && total < 1+1e-9) {
				t.Errorf("%s at width %d: the sketch holds a mass of %v", name, width, total)
			}
		}
	}
}

func TestAxis(t *testing.T) {
	a := axis{0, 1, 0.2, 30}
	ruler, labels := a.lines()
	if want := "┴─────┴─────┴─────┴─────┴────┴"; ruler != want {
		t.Errorf("ruler\n%s\nwant\n%s", ruler, want)
	}
	if want := "0.0  0.2   0.4   0.6   0.8 1.0"; labels != want {
		t.Errorf("labels\n%s\nwant\n%s", labels, want)
	}
	for x, want := range map[float64]int{-1: 0, 0: 0, 0.5: 15, 0.99: 29, 1: 29, 2: 29} {
		if got := a.column(x); got != want {
			t.Errorf("column of %v = %d, want %d", x, got, want)
		}
	}
	for x, want := range map[float64]float64{0.5: 0.5, 0.49: 0.2, 0.11: 0.1, 3: 2, 1: 1} {
		if got := niceStep(x); math.Abs(got-want) > 1e-12 {
			t.Errorf("step of %v = %v, want %v", x, got, want)
		}
	}
}

func TestBar(t *testing.T) {
	for _, c := range []struct {
		v         float64
		row, rows int
		want      rune
	}{
		{0, 0, 1, ' '}, {0.5, 0, 1, '▄'}, {1, 0, 1, '█'}, {9, 0, 1, '█'},
		{0.5, 0, 2, '█'}, {0.5, 1, 2, ' '}, {1, 1, 2, '█'}, {1.2, 1, 2, '▲'}, {1.2, 0, 2, '█'},
	} {
		if got := bar(c.v, c.row, c.rows); got != c.want {
			t.Errorf("bar of %v at row %d of %d = %q, want %q", c.v, c.row, c.rows, got, c.want)
		}
	}
}

func TestPrecision(t *testing.T) {
	p := precision{4, 2}
	for _, c := range []struct {
		x, y float64
		want string
	}{
		{0, 1, "0"}, {1, 0, "1"}, {0.25, 0.75, "0.2500"}, {0.001, 0.999, "0.0010"}, {0.00034, 0.99966, "3.4e-4"},
		{0.99966, 0.00034, "0.9997"}, {1 - 1e-9, 1e-9, "1-1.0e-9"}, {1, 1e-300, "1-1.0e-300"}, {1e-300, 1, "1.0e-300"},
	} {
		if got := p.probability(c.x, c.y); got != c.want {
			t.Errorf("probability %v is written %q, want %q", c.x, got, c.want)
		}
	}
}
