package train

import (
	"bytes"
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"credence/model"
	"credence/nn"
)

// busy counts the goroutines that work on layers of type countingLayer, and mostBusy is their largest number.
var busy, mostBusy atomic.Int32

// countingLayer is a layer that leaves its input unchanged and counts the goroutines that compute it.
type countingLayer struct{ width int }

func (*countingLayer) Type() string { return "counting" }

func (c *countingLayer) Build(_ *nn.Builder, in nn.Shape) (nn.Shape, error) {
	c.width = in.Size()
	return in, nil
}

func (c *countingLayer) Forward(p *nn.Pass, y, x []float32) { c.copy(p, y, x) }

func (c *countingLayer) Backward(p *nn.Pass, dx, dy, _, _ []float32) {
	if dx != nil {
		c.copy(p, dx, dy)
	}
}

func (c *countingLayer) copy(p *nn.Pass, to, from []float32) {
	p.For(p.Items, func(i int) {
		n := busy.Add(1)
		for most := mostBusy.Load(); n > most && !mostBusy.CompareAndSwap(most, n); most = mostBusy.Load() {
		}
		time.Sleep(time.Microsecond)
		copy(to[i*c.width:(i+1)*c.width], from[i*c.width:])
		busy.Add(-1)
	})
}

// TestThreads: a fit and a prediction use no more goroutines than requested, below the number of cores, and give the
// same bytes on any number.
func TestThreads(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	ds := simulated(90, 3, 2)
	o := quick()
	o.Ensemble, o.Epochs, o.Widths = 3, 2, nil
	o.Layers = nn.Seq(&nn.Dense{Out: 8}, &nn.ReLU{}, &countingLayer{}, &nn.Dense{})
	var want []byte
	for _, o.Threads = range []int{1, 2, 3, 4, 9, 0} {
		mostBusy.Store(0)
		res := fitted(t, ds, o)
		most := int(mostBusy.Swap(0))
		if limit := min(o.Threads, 4); most < 1 || limit > 0 && most > limit {
			t.Errorf("%d threads: %d goroutines at once", o.Threads, most)
		}
		got := encoded(t, res.Model)
		if want == nil {
			want = got
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%d threads give another model than one", o.Threads)
		}
		if _, err := res.Model.Predict(context.Background(), ds, model.PredictOptions{Threads: o.Threads}); err != nil {
			t.Fatal(err)
		}
		if limit := min(o.Threads, 4); limit > 0 && int(mostBusy.Load()) > limit {
			t.Errorf("%d threads: %d goroutines predict at once", o.Threads, mostBusy.Load())
		}
	}
}
