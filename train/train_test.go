package train

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"credence/head"
	"credence/nn"
)

func workload(t testing.TB, name string) *Workload {
	t.Helper()
	w, err := NewWorkload(nil, name)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestStepTrains: the loss on one fixed batch falls.
func TestStepTrains(t *testing.T) {
	for name, steps := range map[string]int{"mlp": 60, "lenet5": 15} {
		w := workload(t, name)
		first := w.Step()
		last := first
		for range steps {
			last = w.Step()
		}
		if !(last < 0.9*first) {
			t.Errorf("%s: loss %v after %d steps, %v before", name, last, steps, first)
		}
	}
}

// TestStepThreads: a run gives the same bits on one thread and on several.
func TestStepThreads(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, name := range []string{"mlp", "lenet5"} {
		var want []float32
		for _, threads := range []int{1, 2, 3} {
			runtime.GOMAXPROCS(threads)
			w := workload(t, name)
			for range 5 {
				w.Step()
			}
			if threads == 1 {
				want = w.Stepper.Net.Values
				continue
			}
			for i, v := range w.Stepper.Net.Values {
				if v != want[i] {
					t.Fatalf("%s: parameter %d is %v on %d threads, %v on one", name, i, v, threads, want[i])
				}
			}
		}
	}
}

func TestWorkloadTime(t *testing.T) {
	if got := workload(t, "mlp").Time(20 * time.Millisecond); got.Steps < 5 || got.PerStep <= 0 || got.AllocsPerStep != 0 {
		t.Errorf("%+v", got)
	}
}

func TestNewStepperRefuses(t *testing.T) {
	net, err := nn.New(&nn.Dense{Out: 3}, nn.Shape{2}, nn.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h, err := head.Softmax{}.New(head.Task{Classes: 2})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewStepper(nil, net, h, nn.OptimizerOptions{}, 4); err == nil {
		t.Error("3 outputs for 2 classes: no error")
	}
	if _, err := NewWorkload(nil, "none"); err == nil {
		t.Error("unknown workload: no error")
	}
}

func BenchmarkStep(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, name := range Workloads {
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/threads=%d", name, threads), func(b *testing.B) {
				runtime.GOMAXPROCS(threads)
				w := workload(b, name)
				w.Step()
				for b.Loop() {
					w.Step()
				}
			})
		}
	}
}
