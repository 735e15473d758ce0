package words

import "testing"

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"epoch", "epochs", 1}, {"kitten", "sitting", 3}, {"", "abc", 3}, {"adma", "adam", 1}, {"abcdef", "badcfe", 3}, {"abc", "", 3}} {
		if got := Distance(c.a, c.b); got != c.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"na", "data", "epochs", "level", "class-weights", "by"}
	for name, want := range map[string]string{"epoch": "epochs", "dta": "data", "cv": "", "nb": "", "class_weight": "class-weights",
		"lvel": "level", "xyz": "", "": "", "bye": "by"} {
		if got := Nearest(name, names); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", name, got, want)
		}
	}
}
