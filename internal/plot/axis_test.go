package plot

import (
	"slices"
	"strings"
	"testing"
)

func TestTickLabels(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		want   string
	}{
		{0, 1, "0.0 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1.0"},
		{0, 100, "0 10 20 30 40 50 60 70 80 90 100"},
		{-1, 2, "-1.0 -0.5 0.0 0.5 1.0 1.5 2.0"},
		{0.4985, 0.5015, "0.4985 0.4990 0.4995 0.5000 0.5005 0.5010 0.5015"},
		{0, 5e-9, "0 1×10⁻⁹ 2×10⁻⁹ 3×10⁻⁹ 4×10⁻⁹ 5×10⁻⁹"},
		{0, 3e7, "0 0.5×10⁷ 1.0×10⁷ 1.5×10⁷ 2.0×10⁷ 2.5×10⁷ 3.0×10⁷"},
		{0.999999995, 1, "0.999999995 0.999999996 0.999999997 0.999999998 0.999999999 1.000000000"},
	} {
		a := Horizontal(c.lo, c.hi, 50, 700)
		var labels []string
		for _, v := range a.Ticks() {
			labels = append(labels, a.Label(v))
		}
		if got := strings.Join(labels, " "); got != c.want {
			t.Errorf("labels from %v to %v: %s, want %s", c.lo, c.hi, got, c.want)
		}
	}
}

func TestNarrowAxisHasFewerTicks(t *testing.T) {
	for _, width := range []float64{30, 100, 200, 400, 800} {
		a := Horizontal(0.49985, 0.50015, 0, width)
		ticks := a.Ticks()
		for i := 1; i < len(ticks); i++ {
			if d := a.Pixel(ticks[i]) - a.Pixel(ticks[i-1]); d < a.labelWidth() {
				t.Errorf("at a width of %v labels %v wide stand %v apart", width, a.labelWidth(), d)
			}
		}
	}
}

func TestProbability(t *testing.T) {
	whole, part := Horizontal(0, 1, 50, 700), Horizontal(0, 5e-9, 50, 700)
	for _, c := range []struct {
		a    Axis
		v    float64
		want string
	}{
		{whole, 0, "0.00"}, {whole, 1, "1.00"}, {whole, 0.4567, "0.46"}, {whole, 0.005, "0.01"},
		{whole, 0.0034, "0.0034"}, {whole, 0.9961, "0.9961"}, {whole, 1e-7, "<0.0001"}, {whole, 1 - 1e-7, ">0.9999"},
		{part, 2.34e-9, "2.3×10⁻⁹"}, {part, 0, "0"}, {part, 1e-11, "0.010×10⁻⁹"}, {part, 1e-20, "<0.001×10⁻⁹"},
	} {
		if got := c.a.probability(c.v); got != c.want {
			t.Errorf("%v on an axis with steps of %v: %s, want %s", c.v, c.a.step, got, c.want)
		}
	}
}

func TestAxisInverse(t *testing.T) {
	a := Vertical(-2, 3, 300, 100)
	if a.Pixel(-2) != 300 || a.Pixel(3) != 100 {
		t.Errorf("the ends are at %v and %v", a.Pixel(-2), a.Pixel(3))
	}
	for _, v := range []float64{-2, -1, 0, 0.5, 3} {
		if got := a.value(a.Pixel(v)); got != v {
			t.Errorf("value(at(%v)) = %v", v, got)
		}
	}
}

func TestFit(t *testing.T) {
	for _, c := range []struct {
		s     string
		width float64
		want  string
	}{
		{"short", 100, "short"}, {" two\n words ", 100, "two words"}, {"a long label", 60, "a long l…"}, {"W", 1, "…"}, {"", 10, ""},
	} {
		if got := Fit(c.s, 12, c.width); got != c.want {
			t.Errorf("fit(%q, %v) = %q, want %q", c.s, c.width, got, c.want)
		}
	}
	if got, want := wrap("one two three four", 12, 60), []string{"one two", "three four"}; !slices.Equal(got, want) {
		t.Errorf("wrapped to %q, want %q", got, want)
	}
	if got := wrap(" ", 12, 60); got != nil {
		t.Errorf("nothing wrapped to %q", got)
	}
}
