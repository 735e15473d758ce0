//go:build cuda

package gpu

import (
	"cmp"
	"maps"
	"os"
	"slices"
	"testing"

	"credence/nn"
)

// TestProfile tells how long each kernel of a training step takes, on a GPU.
func TestProfile(t *testing.T) {
	if os.Getenv(deviceEnv) == "" {
		t.Skip("needs a GPU")
	}
	for _, c := range []struct {
		name  string
		in    nn.Shape
		items int
	}{
		{"cnn3d", nn.Shape{1, 96, 96, 80}, 16}, {"lenet5", nn.Shape{1, 28, 28}, 64}, {"cnn2d", nn.Shape{3, 32, 32}, 128},
		{"resnet", nn.Shape{3, 32, 32}, 128},
	} {
		net := makeNet(t, byName(t, c.name, c.in), c.in)
		made, err := open(t).NewTrainer(net, nn.OptimizerOptions{Clip: 5}, c.items)
		if err != nil {
			t.Fatal(err)
		}
		n := made.(*trainer).network
		if err := made.Step(inputs("", c.items, c.in.Size()), nn.Step{}, slopesOf(c.items)); err != nil {
			t.Fatal(err)
		}
		begin, _ := n.device.NewEvent()
		end, _ := n.device.NewEvent()
		best, calls := map[string]float32{}, map[string]int{}
		for range 20 {
			sum := map[string]float32{}
			clear(calls)
			r := &recorder{stream: n.stream, items: c.items, mode: training, watch: func(kernel string, run func() error) error {
				if err := n.stream.Mark(begin); err != nil {
					return err
				}
				if err := run(); err != nil {
					return err
				}
				if err := n.stream.Mark(end); err != nil {
					return err
				}
				if err := end.Synchronize(); err != nil {
					return err
				}
				ms, err := end.Since(begin)
				sum[kernel] += ms
				calls[kernel]++
				return err
			}}
			n.root.forward(r, n.out, n.staged.at)
			n.steps.backward(r, n, n.staged.at)
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
			t.Logf("%-8s %-24s %2d calls %8.1f µs", c.name, k, calls[k], best[k]*1000)
			total += best[k]
		}
		t.Logf("%-8s all kernels %.1f µs", c.name, total*1000)
	}
}
