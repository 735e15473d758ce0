package testsize

import "testing"

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		value string
		want  int
	}{{"", 2}, {"full", 3}, {"other", 2}} {
		t.Setenv("CREDENCE_TESTS", c.value)
		if testing.Short() {
			c.want = 1
		}
		if got := Choose(1, 2, 3); got != c.want {
			t.Errorf("CREDENCE_TESTS=%q: %d, want %d", c.value, got, c.want)
		}
	}
}
