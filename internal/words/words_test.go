package words

import (
	"math"
	"testing"
)

func TestThousands(t *testing.T) {
	for n, want := range map[int]string{
		0: "0", 7: "7", -7: "-7", 999: "999", -999: "-999", 1000: "1,000", -1000: "-1,000", 12345: "12,345",
		999999: "999,999", -999999: "-999,999", 1000000: "1,000,000", math.MinInt32: "-2,147,483,648",
	} {
		if got := Thousands(n); got != want {
			t.Errorf("Thousands(%d) = %s, want %s", n, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 3: "3", 3.5: "3.5", 0.5: "0.5", 2687: "2,687", 2687.25: "2687.2", -1234: "-1,234",
		1e21: "1,000,000,000,000,000,000,000",
	} {
		if got := Count(x); got != want {
			t.Errorf("Count(%v) = %s, want %s", x, got, want)
		}
	}
	if got := Count(math.NaN()); got != "NaN" {
		t.Errorf("Count(NaN) = %s", got)
	}
}

func TestPlural(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Plural(0, "vote"), "0 votes"},
		{Plural(1, "vote"), "1 vote"},
		{Plural(1.5, "vote"), "1.5 votes"},
		{Plural(2687, "vote"), "2,687 votes"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestFewAndShape(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Few(nil), ""},
		{Few([]string{"a", "b"}), "a, b"},
		{Few([]string{"a", "b", "c", "d", "e", "f"}), "a, b, c, d, e, … (6 in all)"},
		{Shape([]int{3, 32, 32}), "3×32×32"},
		{Shape(nil), ""},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
