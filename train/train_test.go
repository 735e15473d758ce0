package train

import (
	"fmt"
	"math"
	"runtime"
	"testing"
	"time"

	"credence/head"
	"credence/internal/kernel"
	"credence/internal/par"
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

// BenchmarkCores compares a step on one core and on two with a loop of multiply-adds that two cores do not share, in
// turn: efficiency is the time on one core over twice that on two.
func BenchmarkCores(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	timed := func(f func()) float64 {
		start := time.Now()
		f()
		return time.Since(start).Seconds()
	}
	for _, name := range []string{"lenet5", "cnn3d"} {
		b.Run(name, func(b *testing.B) {
			w := workload(b, name)
			steps := map[string]int{"lenet5": 50, "cnn3d": 1}[name]
			var step, peak [2]float64
			for i := range step {
				step[i], peak[i] = math.Inf(1), math.Inf(1)
			}
			loops := 0
			for b.Loop() {
				for i := range step {
					runtime.GOMAXPROCS(i + 1)
					w.Step()
					before := par.Loops()
					step[i] = min(step[i], timed(func() {
						for range steps {
							w.Step()
						}
					})/float64(steps))
					loops = int(par.Loops()-before) / steps
					peak[i] = min(peak[i], timed(func() { par.For(i+1, func(int) { kernel.Peak() }) }))
				}
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(step[0]*1e3, "ms-1-core")
			b.ReportMetric(step[1]*1e3, "ms-2-cores")
			b.ReportMetric(step[0]/step[1]/2, "efficiency")
			b.ReportMetric(peak[0]/peak[1], "efficiency-of-multiply-adds")
			b.ReportMetric(float64(loops), "loops/step")
		})
	}
}
