package nn

import "testing"

// TestTiles: tiles cover each element once, and there are neither too many nor
// too few of them.
func TestTiles(t *testing.T) {
	for _, c := range []struct{ m, n, k, least, most int }{
		{64, 64, 2, 1, 1}, {64, 64, 64, 1, 1}, {64, 30, 64, 1, 1}, {64, 120, 400, 8, 23},
		{16, 9, 12288, 1, 13}, {1024, 1024, 1024, 64, 64}, {1, 1000, 1000, 1, 1}, {1, 1000, 2000, 8, 15}, {2000, 1, 1000, 8, 15},
		{1, 1, 1, 1, 1}, {37, 53, 100000, 10, 64},
	} {
		ti := tile(c.m, c.n, c.k, 16)
		if ti.count < c.least || ti.count > c.most {
			t.Errorf("%+v: %d tiles, want %d to %d", c, ti.count, c.least, c.most)
		}
		seen := make([]int, c.m*c.n)
		for i := range ti.count {
			r0, rows, c0, cols := ti.at(i)
			for r := r0; r < r0+rows; r++ {
				for q := c0; q < c0+cols; q++ {
					seen[r*c.n+q]++
				}
			}
		}
		for i, n := range seen {
			if n != 1 {
				t.Fatalf("%+v: element %d is in %d tiles", c, i, n)
			}
		}
	}
}
