//go:build cuda

package gpu

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"credence/head"
	"credence/internal/cuda"
	"credence/nn"
	"credence/train"
)

// profiles are the networks of TestProfile: the benchmarks, and others for images of a size.
var profiles = []struct {
	network     string
	side, batch int // 0 means a benchmark
}{
	{"cnn3d", 0, 0}, {"lenet5", 0, 0}, {"mlp", 0, 0}, {"cnn2d", 0, 0},
	{"resnet", 32, 128}, {"cnn2d", 224, 64}, {"resnet", 224, 64},
}

// profiled returns a network on the device that has made a step, and where its inputs are.
func profiled(t *testing.T, name string, side, batch int) (*network, cuda.Memory) {
	t.Helper()
	if side == 0 {
		w, err := train.NewWorkload(open(t), name)
		if err != nil {
			t.Fatal(err)
		}
		w.Step()
		n := w.Stepper.Trainer.(*trainer).network
		t.Cleanup(func() { runtime.KeepAlive(w) })
		for _, s := range n.slots {
			return n, s.at
		}
	}
	in := nn.Shape{3, side, side}
	h, err := head.Mixture{Components: 3}.New(head.Task{Classes: 2})
	if err != nil {
		t.Fatal(err)
	}
	s, err := train.NewStepper(open(t), makeNet(t, byNameOut(t, name, in, h.Outputs()), in), h, nn.OptimizerOptions{}, batch)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Step(inputs("", batch, in.Size()), batchOf(batch, 2, false), nn.Step{}); err != nil {
		t.Fatal(err)
	}
	n := s.Trainer.(*trainer).network
	t.Cleanup(func() { runtime.KeepAlive(s) })
	return n, n.staged.at
}

// stepTime returns the milliseconds of a step whose inputs are on the device, the best of several rounds.
func stepTime(t *testing.T, n *network, x cuda.Memory) float64 {
	t.Helper()
	key := graphKey{x: x, items: n.batch, mode: training, loss: n.scoring.loss}
	best := math.Inf(1)
	for range 5 {
		const steps = 20
		begin := time.Now()
		for range steps {
			if err := n.run(key); err != nil {
				t.Fatal(err)
			}
		}
		if err := n.stream.Synchronize(); err != nil {
			t.Fatal(err)
		}
		best = min(best, time.Since(begin).Seconds()*1000/steps)
	}
	return best
}

// TestProfile reports how long each kernel of a training step takes, on a GPU.
func TestProfile(t *testing.T) {
	if os.Getenv(deviceEnv) == "" {
		t.Skip("needs a GPU")
	}
	t.Logf("kernels: %s", open(t).devices[0].Image)
	for _, p := range profiles {
		n, x := profiled(t, p.network, p.side, p.batch)
		name := p.network
		if p.side > 0 {
			name = fmt.Sprintf("%s-%d", name, p.side)
		}
		items := n.batch
		begin, _ := n.device.NewEvent()
		end, _ := n.device.NewEvent()
		best, calls := map[string]float32{}, map[string]int{}
		for range 20 {
			sum := map[string]float32{}
			clear(calls)
			r := &recorder{stream: n.stream, items: items, mode: training, watch: func(kernel string, run func() error) error {
				if err := n.stream.Mark(begin); err != nil {
					return err
				}
				if err := run(); err != nil {
					return err
				}
				if err := n.stream.Mark(end); err != nil {
					return err
				}
				if err := n.stream.Synchronize(); err != nil {
					return err
				}
				ms, err := end.Since(begin)
				sum[kernel] += ms
				calls[kernel]++
				return err
			}}
			n.scoring.record(r, n, x)
			if r.err != nil {
				t.Fatal(r.err)
			}
			for k, ms := range sum {
				if b, ok := best[k]; !ok || ms < b {
					best[k] = ms
				}
			}
		}
		total := float32(0)
		for _, k := range slices.SortedFunc(maps.Keys(best), func(a, b string) int { return cmp.Compare(best[b], best[a]) }) {
			t.Logf("%-10s %-24s %2d calls %8.1f µs", name, k, calls[k], best[k]*1000)
			total += best[k]
		}
		t.Logf("%-10s all kernels %.1f µs, a step of %d items %.3f ms", name, total*1000, items, stepTime(t, n, x))
	}
}
