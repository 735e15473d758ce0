package train

import (
	"testing"
	"time"
)

// TestOutlook: five runs of 10 epochs of 100 items, two at a time.
func TestOutlook(t *testing.T) {
	var runs []*run
	for range 5 {
		runs = append(runs, &run{train: make([]int, 100), epochs: 10})
	}
	o := newOutlook(runs)
	for i, c := range []struct {
		run    int
		now    prospect
		want   time.Duration
		atMost bool
	}{
		{0, prospect{done: 0, speed: 0}, 0, true},                            // nothing is known
		{0, prospect{done: 5, speed: 50}, 90 * time.Second, true},            // 4500 items, one run
		{1, prospect{done: 5, speed: 50}, 40 * time.Second, true},            // 4000 items, two runs
		{0, prospect{done: 6, ended: true}, 38 * time.Second, false},         // 100 + 3·600, one run
		{2, prospect{done: 0, speed: 50}, 19 * time.Second, false},           // two runs again
		{1, prospect{done: 7, speed: 50}, 18 * time.Second, false},           // later than usual: 0 + 3·600
		{1, prospect{done: 7, least: 9, speed: 50}, 20 * time.Second, false}, // two more for sure
		{1, prospect{done: 8, ended: true}, 42 * time.Second, false},         // 7 epochs each
		{3, prospect{done: 7, ended: true}, 28 * time.Second, false},
		{4, prospect{done: 7, ended: true}, 14 * time.Second, false},
		{2, prospect{done: 7, speed: 50, least: 99}, 6 * time.Second, false}, // never beyond its epochs
		{2, prospect{done: 8, ended: true}, 0, true},
	} {
		left, atMost := o.update(c.run, c.now)
		if (left-c.want).Abs() > time.Millisecond || atMost != c.atMost {
			t.Errorf("%d: %v, at most %v, want %v, %v", i, left, atMost, c.want, c.atMost)
		}
	}
}
