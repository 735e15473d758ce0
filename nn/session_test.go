package nn

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// runner is a network in a session of its own, for tests in which nothing fails.
type runner struct {
	*Network
	t testing.TB
	s *Session
}

func running(t testing.TB, net *Network) *runner {
	t.Helper()
	s, err := net.NewSession(1)
	if err != nil {
		t.Fatal(err)
	}
	return &runner{net, t, s}
}

func (r *runner) Forward(x []float32, train bool, at Step) []float32 {
	r.t.Helper()
	return r.run(x, Pass{Train: train, At: at})
}

func (r *runner) Sample(x []float32, keys []uint64, at Step) []float32 {
	r.t.Helper()
	return r.run(x, Pass{At: at, Sample: keys})
}

func (r *runner) run(x []float32, p Pass) []float32 {
	r.t.Helper()
	y, err := r.s.Forward(x, p)
	if err != nil {
		r.t.Fatal(err)
	}
	return y
}

func (r *runner) Backward(dx, dy []float32) {
	r.t.Helper()
	if err := r.s.Backward(dx, dy); err != nil {
		r.t.Fatal(err)
	}
}

// networks are small ones of every kind, for items that are cut into rows.
func networks(t testing.TB) map[string]*Network {
	t.Helper()
	list := map[string]*Network{}
	for name, in := range map[string]Shape{
		"cnn3d": {1, 40, 44, 36}, "cnn2d": {3, 70, 66}, "resnet": {2, 64, 60}, "lenet5": {1, 28, 28}, "mlp": {300},
	} {
		l, err := ByName(name, in, 6)
		if err != nil {
			t.Fatal(err)
		}
		if list[name], err = New(l, in, Options{Seed: 3}); err != nil {
			t.Fatal(err)
		}
	}
	return list
}

// wave fills n values.
func wave(n, from int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32((i*7919+from*31)%257)/64 - 2
	}
	return x
}

// TestSessions: sessions of one network work at the same time and give the bits
// that one alone gives; so do batches, whatever else is in them, and limits of
// cores.
func TestSessions(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	runtime.GOMAXPROCS(4)
	for name, net := range networks(t) {
		const items = 20
		size, out := net.In.Size(), net.Out.Size()
		x := wave(items*size, 1)
		want := slices.Clone(running(t, net).Forward(x, false, Step{}))
		var wg sync.WaitGroup
		for k := range 4 {
			wg.Go(func() {
				s, err := net.NewSession(1 + k)
				if err != nil {
					t.Error(err)
					return
				}
				for j := k; j < items; j += 4 {
					n := min(1+k, items-j)
					y, err := s.Forward(x[j*size:(j+n)*size], Pass{Cores: k})
					if err != nil || !slices.Equal(y, want[j*out:(j+n)*out]) {
						t.Errorf("%s: items %d to %d in session %d: other bits than among all items, %v", name, j, j+n, k, err)
						return
					}
				}
			})
		}
		wg.Wait()
	}
}

// TestCut: the pieces of a forward pass cover each row of each item once.
func TestCut(t *testing.T) {
	for _, items := range []int{1, 2, 3, 15, 16, 40} {
		for _, work := range []int{100, splitWork, 10 * splitWork, 1000 * splitWork} {
			for _, rows := range []int{1, 7, 324} {
				g := groups{work: work}
				g.split(items)
				var c cut
				c.split(&g, rows)
				seen := make([]int, items*rows)
				for i := range c.count {
					in, part := c.at(i)
					for j := in.lo; j < in.hi; j++ {
						for r := part.lo; r < part.hi; r++ {
							seen[j*rows+r]++
						}
					}
				}
				if slices.Min(seen) != 1 || slices.Max(seen) != 1 {
					t.Fatalf("%d items, %d rows, work %d: rows are visited %v times", items, rows, work, seen)
				}
				if work*items >= 64*splitWork && rows*items >= 64 && c.count < 12 {
					t.Errorf("%d items, %d rows, work %d: %d pieces", items, rows, work, c.count)
				}
			}
		}
	}
}

func TestSessionErrors(t *testing.T) {
	net, err := New(&Dense{Out: 2}, Shape{3}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := running(t, net).s
	for what, f := range map[string]func() error{
		"5 inputs are not a multiple of 3": func() error { _, err := s.Forward(make([]float32, 5), Pass{}); return err },
		"1 keys for 2 items":               func() error { _, err := s.Forward(make([]float32, 6), Pass{Sample: []uint64{1}}); return err },
		"3 gradients":                      func() error { return s.Backward(nil, make([]float32, 3)) },
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("error %v, want %q", err, what)
		}
	}
	if _, err := net.NewSession(1); err != nil || net.Grads != nil {
		t.Errorf("a network that is not trained has gradients, %v", err)
	}
	layer := &fickle{}
	if net, err = New(layer, Shape{3}, Options{}); err != nil {
		t.Fatal(err)
	}
	layer.changed = true
	if _, err := net.NewSession(1); err == nil || !strings.Contains(err.Error(), "tensor 0.other") {
		t.Errorf("a layer that changes its mind: %v", err)
	}
}

// fickle is a layer whose tensors differ from one Build to the next.
type fickle struct {
	scale
	changed bool
}

func (l *fickle) Build(b *Builder, in Shape) (Shape, error) {
	if l.changed {
		l.s = b.Const("other", Shape{1}, 0)
		return in, nil
	}
	return l.scale.Build(b, in)
}

// BenchmarkVolume runs one volume forward.
func BenchmarkVolume(b *testing.B) {
	in := Shape{1, 96, 96, 80}
	l, err := ByName("cnn3d", in, 9)
	if err != nil {
		b.Fatal(err)
	}
	net, err := New(l, in, Options{})
	if err != nil {
		b.Fatal(err)
	}
	x := wave(in.Size(), 1)
	for _, cores := range []int{1, 2} {
		b.Run(fmt.Sprintf("cores=%d", cores), func(b *testing.B) {
			r := running(b, net)
			for b.Loop() {
				r.run(x, Pass{Cores: cores})
			}
		})
	}
}
