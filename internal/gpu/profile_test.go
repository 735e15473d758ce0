//go:build cuda

package gpu

import (
	"cmp"
	"maps"
	"os"
	"runtime"
	"slices"
	"testing"

	"credence/head"
	"credence/internal/cuda"
	"credence/nn"
	"credence/train"
)

// profiled returns a network on the device that has made a step, and where its inputs are.
func profiled(t *testing.T, name string) (*network, cuda.Memory) {
	t.Helper()
	if name != "resnet" {
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
	in := nn.Shape{3, 32, 32}
	h, err := head.Mixture{Components: 3}.New(head.Task{Classes: 2})
	if err != nil {
		t.Fatal(err)
	}
	s, err := train.NewStepper(open(t), makeNet(t, byNameOut(t, name, in, h.Outputs()), in), h, nn.OptimizerOptions{}, 128)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Step(inputs("", 128, in.Size()), batchOf(128, 2, false), nn.Step{}); err != nil {
		t.Fatal(err)
	}
	n := s.Trainer.(*trainer).network
	t.Cleanup(func() { runtime.KeepAlive(s) })
	return n, n.staged.at
}

// TestProfile reports how long each kernel of a training step takes, on a GPU.
func TestProfile(t *testing.T) {
	if os.Getenv(deviceEnv) == "" {
		t.Skip("needs a GPU")
	}
	for _, name := range []string{"cnn3d", "lenet5", "cnn2d", "resnet", "mlp"} {
		n, x := profiled(t, name)
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
			t.Logf("%-8s %-24s %2d calls %8.1f µs", name, k, calls[k], best[k]*1000)
			total += best[k]
		}
		t.Logf("%-8s all kernels %.1f µs", name, total*1000)
	}
}
