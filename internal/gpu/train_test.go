//go:build cuda

package gpu

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"credence/internal/cuda"
	"credence/nn"
	"credence/train"
)

// losses trains a workload for a number of steps and returns the losses and the final weights. With a seed
// other than 0 the first weights are changed by a rounding each.
func losses(t *testing.T, e nn.Engine, name string, steps int, seed uint64) (list []float64, values []float32) {
	t.Helper()
	w, err := train.NewWorkload(e, name)
	if err != nil {
		t.Fatal(err)
	}
	if seed != 0 {
		r := rand.New(rand.NewPCG(seed, 0))
		for i := range w.Stepper.Net.Values {
			w.Stepper.Net.Values[i] *= float32(1 + 1e-7*r.NormFloat64())
		}
		if err := w.Stepper.Trainer.Push(); err != nil {
			t.Fatal(err)
		}
	}
	for range steps {
		list = append(list, w.Step())
	}
	if err := w.Stepper.Trainer.Pull(); err != nil {
		t.Fatal(err)
	}
	return list, w.Stepper.Net.Values
}

// apart returns the largest difference between two lists of losses.
func apart(a, b []float64) float64 {
	off := 0.0
	for i := range a {
		if d := math.Abs(a[i] - b[i]); !(d <= off) {
			off = d
		}
	}
	return off
}

// The losses of the first steps are those of the CPU, and a second run gives the same bits. Some
// workloads learn noise by heart in steps so large that roundings grow: there, losses may be as far from
// the CPU's as a few times what those change by when the first weights are rounded otherwise.
func TestLosses(t *testing.T) {
	steps, names := 3, []string{"mlp", "mlp-raters", "lenet5-raters"}
	if os.Getenv(deviceEnv) != "" {
		steps, names = 100, train.Workloads
	}
	e := open(t)
	for _, name := range names {
		want, _ := losses(t, nn.CPU{}, name, steps, 0)
		rounding := 0.0
		for seed := range uint64(2) {
			other, _ := losses(t, nn.CPU{}, name, steps, seed+1)
			rounding = max(rounding, apart(other, want))
		}
		got, values := losses(t, e, name, steps, 0)
		off := apart(got, want)
		t.Logf("%s: losses of %d steps differ by at most %.2g, those of other roundings by %.2g", name, steps, off, rounding)
		if !(off <= max(1e-4, 4*rounding)) {
			t.Errorf("%s: losses differ by %g", name, off)
		}
		again, same := losses(t, e, name, steps, 0)
		if !slices.Equal(got, again) || !slices.Equal(values, same) {
			t.Errorf("%s: a second run gives other bits", name)
		}
	}
}

// Optimizers, clipping and a checkpoint that moves from one engine to the other.
func TestOptimizers(t *testing.T) {
	in := nn.Shape{6}
	x := inputs("", 9, 6)
	for _, o := range []nn.OptimizerOptions{
		{Kind: "adam", Rate: 0.01, WeightDecay: 0.1, Clip: 0.05}, {Kind: "adamw", Rate: 0.01, WeightDecay: 0.1},
		{Kind: "sgd", Rate: 0.1, Momentum: 0.9, Nesterov: true, WeightDecay: 0.01, Clip: 0.1},
		{Kind: "sgd", Rate: 0.1, Momentum: 0.5, Schedule: nn.Schedule{Kind: "cosine", Total: 20, WarmUp: 3}},
	} {
		root := nn.Seq(&nn.Dense{Out: 7}, &nn.Tanh{}, &nn.Dense{Out: 3})
		engines := []nn.Engine{nn.CPU{}, open(t)}
		nets := []*nn.Network{makeNet(t, root, in), makeNet(t, root, in)}
		var trainers []nn.Trainer
		for i, e := range engines {
			tr, err := e.NewTrainer(nets[i], o, 9)
			if err != nil {
				t.Fatal(err)
			}
			trainers = append(trainers, tr)
		}
		for k := range 10 {
			if k == 6 { // both change sides
				for i := range trainers {
					if err := trainers[i].Pull(); err != nil {
						t.Fatal(err)
					}
				}
				a, b := trainers[0].State(), trainers[1].State()
				for i := range a.Moments {
					for j := range a.Moments[i] {
						a.Moments[i][j], b.Moments[i][j] = b.Moments[i][j], a.Moments[i][j]
					}
				}
				for j := range nets[0].Values {
					nets[0].Values[j], nets[1].Values[j] = nets[1].Values[j], nets[0].Values[j]
				}
				for _, tr := range trainers {
					if err := tr.Push(); err != nil {
						t.Fatal(err)
					}
				}
			}
			for _, tr := range trainers {
				if err := tr.Step(x, nn.Step{}, slopesOf(9)); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, tr := range trainers {
			if err := tr.Pull(); err != nil {
				t.Fatal(err)
			}
		}
		if d := far(nets[1].Values, nets[0].Values); !(d < 1e-5) {
			t.Errorf("%+v: weights differ by %g", o, d)
		}
		if trainers[0].Rate() != trainers[1].Rate() || trainers[0].State().Steps != trainers[1].State().Steps {
			t.Errorf("%+v: rates %v, steps %d and %d", o, trainers[1].Rate(), trainers[0].State().Steps, trainers[1].State().Steps)
		}
	}
}

// A predictor cuts what is too much for a batch, and samples what the CPU samples.
func TestPredictor(t *testing.T) {
	in := nn.Shape{5}
	root := nn.Seq(&nn.Dense{Out: 9}, &nn.ReLU{}, &nn.Dropout{Rate: 0.5}, &nn.Dense{Out: 2})
	net := makeNet(t, root, in)
	x := inputs("", 1500, 5)
	keys := make([]uint64, 1500)
	for i := range keys {
		keys[i] = uint64(i * i)
	}
	for _, pass := range []nn.Pass{{}, {Sample: keys, At: nn.Step{Seed: 4, Step: 2}}} {
		var outs [][]float32
		for _, e := range []nn.Engine{nn.CPU{}, open(t)} {
			p, err := e.NewPredictor(net, 1)
			if err != nil {
				t.Fatal(err)
			}
			one := pass
			one.Sample = one.Sample[:min(3, len(one.Sample))]
			if pass.Sample == nil {
				one.Sample = nil
			}
			if _, err := p.Forward(x[:15], one); err != nil {
				t.Fatal(err)
			}
			out, err := p.Forward(x, pass)
			if err != nil {
				t.Fatal(err)
			}
			outs = append(outs, slices.Clone(out))
		}
		if d := far(outs[1], outs[0]); !(d < 1e-5) {
			t.Errorf("outputs differ by %g", d)
		}
	}
}

// strange is a layer that no device but the CPU knows.
type strange struct{ nn.Flatten }

func TestRefusals(t *testing.T) {
	e := open(t)
	net := makeNet(t, nn.Seq(&strange{}, &nn.Dense{Out: 2}), nn.Shape{4})
	if _, err := e.NewTrainer(net, nn.OptimizerOptions{}, 3); err == nil || !strings.Contains(err.Error(), "no operation for layer strange on this device") {
		t.Errorf("a strange layer: %v", err)
	}
	if _, err := e.devices[0].NewArena().Values(1 << 38); !errors.Is(err, cuda.ErrMemory) || !strings.Contains(err.Error(), "OUT_OF_MEMORY") {
		t.Errorf("a terabyte: %v", err)
	}
	if _, err := Open(99); !errors.Is(err, cuda.ErrNoDevice) {
		t.Errorf("GPU 99: %v", err)
	}
	net = makeNet(t, nn.Seq(&nn.Dense{Out: 2}), nn.Shape{4})
	tr, err := e.NewTrainer(net, nn.OptimizerOptions{}, 3)
	if err != nil {
		t.Fatal(err)
	}
	if err := tr.Step(make([]float32, 16), nn.Step{}, slopesOf(4)); err == nil || !strings.Contains(err.Error(), "4 items in a step of at most 3") {
		t.Errorf("too many items: %v", err)
	}
	if err := tr.Step(make([]float32, 7), nn.Step{}, slopesOf(1)); err == nil {
		t.Error("7 inputs of 4 were taken")
	}
}
