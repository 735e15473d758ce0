package budget

import (
	"errors"
	"sync"
	"testing"
)

func TestCheck(t *testing.T) {
	if err := Check(100, 100, "x", "a page"); err != nil {
		t.Error(err)
	}
	err := Check(1000, 1001, "x.csv", "line %d: a record", 3)
	if want := "reading x.csv: line 3: a record would take 1,001 bytes of memory, but 1,000 are allowed"; !errors.Is(err, ErrMemory) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	for memory, want := range map[int64]int64{0: Default, 1: Least, 1 << 40: 1 << 40} {
		if got := Of(memory); got != want {
			t.Errorf("%d: a limit of %d, want %d", memory, got, want)
		}
	}
}

// The memory retained may reach the limit, or a multiple of the bytes read.
func TestMeter(t *testing.T) {
	var read int64
	m := &Meter{File: "x", Limit: 1000, Read: func() int64 { return read }}
	if err := m.Keep(1000, func() string { return "ids" }); err != nil {
		t.Error(err)
	}
	if err := m.Keep(1, func() string { return "ids" }); !errors.Is(err, ErrMemory) {
		t.Errorf("got %v", err)
	}
	read = 1000
	if err := m.Keep(14_000, func() string { return "ids" }); err != nil {
		t.Error(err)
	}
	if err := m.Keep(1000, func() string { return "ids" }); !errors.Is(err, ErrMemory) {
		t.Errorf("got %v", err)
	}
}

func TestPool(t *testing.T) {
	p := NewShared(10)
	if _, err := p.Take(11, "x", "an image"); !errors.Is(err, ErrMemory) {
		t.Errorf("got %v", err)
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	taken, most := 0, 0
	for range 50 {
		all.Go(func() {
			back, err := p.Take(4, "x", "an image")
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			taken += 4
			most = max(most, taken)
			mu.Unlock()
			mu.Lock()
			taken -= 4
			mu.Unlock()
			back()
		})
	}
	all.Wait()
	if most > 8 {
		t.Errorf("%d of 10 bytes at once", most)
	}
}
