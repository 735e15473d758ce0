//go:build cuda

package gpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"credence/head"
	"credence/nn"
	"credence/train"
)

// scored are networks and whether one block holds an item of them.
var scored = map[string]struct {
	in    nn.Shape
	items bool
	root  func(out int) nn.Layer
}{
	"lenet5": {nn.Shape{1, 28, 28}, true, func(out int) nn.Layer { l, _ := nn.ByName("lenet5", nn.Shape{1, 28, 28}, out); return l }},
	"mlp":    {nn.Shape{7}, true, func(out int) nn.Layer { l, _ := nn.ByName("mlp", nn.Shape{7}, out, 37, 16); return l }},
	"cnn2d":  {nn.Shape{3, 9, 8}, false, func(out int) nn.Layer { l, _ := nn.ByName("cnn2d", nn.Shape{3, 9, 8}, out, 5, 6); return l }},
	"dropout": {nn.Shape{5}, false, func(out int) nn.Layer {
		return nn.Seq(&nn.Dense{Out: 20}, &nn.ReLU{}, &nn.Dropout{Rate: 0.3}, &nn.Dense{Out: out})
	}},
	"too large": {nn.Shape{1, 40, 40}, false, func(out int) nn.Layer {
		return nn.Seq(&nn.Conv{Out: 8, Kernel: nn.Ints{3}}, &nn.ReLU{}, &nn.Flatten{}, &nn.Dense{Out: out})
	}},
	"kernels of 3": {nn.Shape{2, 11, 13}, true, func(out int) nn.Layer {
		return nn.Seq(&nn.Conv{Out: 5, Kernel: nn.Ints{3}, Pad: nn.Ints{1}}, &nn.ReLU{}, &nn.MaxPool{Size: nn.Ints{2}},
			&nn.Conv{Out: 9, Kernel: nn.Ints{3}, Pad: nn.Ints{1}, NoBias: true}, &nn.ReLU{}, &nn.MaxPool{Size: nn.Ints{2}}, &nn.Flatten{}, &nn.Dense{Out: out})
	}},
	"strides": {nn.Shape{9, 14, 12}, true, func(out int) nn.Layer {
		return nn.Seq(&nn.Conv{Out: 10, Kernel: nn.Ints{3, 2}, Stride: nn.Ints{2, 1}, Pad: nn.Ints{1}},
			&nn.Conv{Out: 11, Kernel: nn.Ints{2}, Dilation: nn.Ints{2}}, &nn.ReLU{}, &nn.MaxPool{Size: nn.Ints{1, 3}}, &nn.Flatten{},
			&nn.Dense{Out: 10, NoBias: true}, &nn.ReLU{}, &nn.Dense{Out: out})
	}},
	"volumes": {nn.Shape{1, 7, 8, 9}, true, func(out int) nn.Layer {
		return nn.Seq(&nn.Conv{Out: 3, Kernel: nn.Ints{3}, Pad: nn.Ints{1}}, &nn.ReLU{}, &nn.MaxPool{Size: nn.Ints{2}},
			&nn.Conv{Out: 4, Kernel: nn.Ints{2}}, &nn.Flatten{}, &nn.Dense{Out: out})
	}},
}

// batchOf draws votes: none, few, many, and with weights where asked.
func batchOf(items, classes int, weighted bool) head.Batch {
	r := rand.New(rand.NewPCG(9, uint64(classes)))
	b := head.Batch{Counts: head.Counts{Classes: classes, Values: make([]float32, items*classes)}}
	for j := range items {
		for range []int{2, 0, 1, 40, 3, 200, 5}[j%7] {
			b.Counts.Values[j*classes+r.IntN(1+r.IntN(classes))]++
		}
		if weighted {
			b.Weights = append(b.Weights, 0.25+r.Float64())
		}
	}
	return b
}

// step makes a stepper of a mixture on an engine.
func stepper(t *testing.T, e nn.Engine, name string, m head.Mixture, classes, batch int, o nn.OptimizerOptions) *train.Stepper {
	t.Helper()
	h, err := m.New(head.Task{Classes: classes})
	if err != nil {
		t.Fatal(err)
	}
	c := scored[name]
	s, err := train.NewStepper(e, makeNet(t, c.root(h.Outputs()), c.in), h, o, batch)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Losses, counts of clamped values and gradients are the CPU's, whether a step is a kernel for each
// layer or one for each item, clipped or not.
func TestMixtureLoss(t *testing.T) {
	const items = 7
	e := open(t)
	for name, c := range scored {
		for _, o := range []nn.OptimizerOptions{{Kind: "sgd", Rate: 1}, {Kind: "sgd", Rate: 1, Clip: 0.01}} {
			for _, k := range []struct {
				classes int
				method  head.Mixture
			}{{2, head.Mixture{Components: 3}}, {5, head.Mixture{Components: 2, Limit: 0.2}}, {3, head.Mixture{Components: 1}}} {
				t.Run(fmt.Sprint(name, o.Clip, k), func(t *testing.T) {
					x := inputs("", items, c.in.Size())
					votes := batchOf(items, k.classes, k.classes == 3)
					var losses []head.Loss
					var moved [][]float32
					var clamped [][2]int64
					for _, e := range []nn.Engine{nn.CPU{}, e} {
						s := stepper(t, e, name, k.method, k.classes, items+1, o)
						loss, by := oneStep(t, s, x, votes, nn.Step{Seed: 3, Step: 4})
						losses, moved = append(losses, loss), append(moved, by)
						outside, seen := s.Head.(interface{ Clamped() (int64, int64) }).Clamped()
						clamped = append(clamped, [2]int64{outside, seen})
						if g, ok := s.Trainer.(*trainer); ok {
							if g.scoring == nil || (g.scoring.items != nil) != c.items {
								t.Errorf("the loss %v was not computed as it should be", g.scoring)
							}
						}
					}
					if d := math.Abs(losses[0].Mean - losses[1].Mean); !(d < 1e-5*losses[0].Mean) || losses[0].Over != losses[1].Over || losses[0].Votes != losses[1].Votes {
						t.Errorf("loss %+v, want %+v", losses[1], losses[0])
					}
					if d := far(moved[1], moved[0]); !(d < 1e-4) {
						t.Errorf("gradients differ by %g of the largest", d)
					}
					if clamped[0] != clamped[1] {
						t.Errorf("%d clamped, want %d", clamped[1], clamped[0])
					}
				})
			}
		}
	}
}

// oneStep makes a step, and returns its loss and what it took off the weights.
func oneStep(t *testing.T, s *train.Stepper, x []float32, b head.Batch, at nn.Step) (head.Loss, []float32) {
	t.Helper()
	by := slices.Clone(s.Net.Values)
	loss, err := s.Step(x, b, at)
	if err == nil {
		err = s.Trainer.Pull()
	}
	if err != nil {
		t.Fatal(err)
	}
	for i := range by {
		by[i] -= s.Net.Values[i]
	}
	return loss, by
}

// Gradients are the slopes of the losses, both found on the device.
func TestFiniteDifferences(t *testing.T) {
	const items, h = 6, 4e-3
	for _, name := range []string{"mlp", "kernels of 3", "cnn2d"} {
		c := scored[name]
		x, votes := inputs("", items, c.in.Size()), batchOf(items, 3, false)
		at := func(move map[int]float32) (float64, []float32) {
			s := stepper(t, open(t), name, head.Mixture{Components: 2}, 3, items, nn.OptimizerOptions{Kind: "sgd", Rate: 1})
			for i, d := range move {
				s.Net.Values[i] += d
			}
			if err := s.Trainer.Push(); err != nil {
				t.Fatal(err)
			}
			loss, by := oneStep(t, s, x, votes, nn.Step{})
			return loss.Mean, by
		}
		_, grad := at(nil)
		top := 0.0
		for _, g := range grad {
			top = max(top, math.Abs(float64(g)))
		}
		r := rand.New(rand.NewPCG(1, 1))
		wrong, tried := 0, 0
		for tried < 24 {
			i := r.IntN(len(grad))
			if math.Abs(float64(grad[i])) < 0.02*top {
				continue
			}
			tried++
			up, _ := at(map[int]float32{i: h})
			down, _ := at(map[int]float32{i: -h})
			if d := math.Abs((up-down)/(2*h) - float64(grad[i])); !(d < 0.02*top) {
				wrong++
			}
		}
		if wrong > 1 { // where a ReLU or a maximum turns, there is no slope
			t.Errorf("%s: %d of %d gradients are no slopes", name, wrong, tried)
		}
	}
}

// What a device does not compute, the CPU does: fractions of votes, many votes of an item, raters.
func TestLossOnCPU(t *testing.T) {
	for name, change := range map[string]func(b *head.Batch){
		"fractions":  func(b *head.Batch) { b.Counts.Values[0] += 0.5 },
		"many votes": func(b *head.Batch) { b.Counts.Values[0] = 300 },
	} {
		votes := batchOf(4, 2, false)
		change(&votes)
		x := inputs("", 4, 7)
		var losses []float64
		for _, e := range []nn.Engine{nn.CPU{}, open(t)} {
			s := stepper(t, e, "mlp", head.Mixture{}, 2, 4, nn.OptimizerOptions{})
			loss, err := s.Step(x, votes, nn.Step{})
			if err != nil {
				t.Fatal(err)
			}
			losses = append(losses, loss.Mean)
			if g, ok := s.Trainer.(*trainer); ok && g.scoring != nil {
				t.Errorf("%s: the device computed the loss", name)
			}
		}
		if math.Abs(losses[0]-losses[1]) > 1e-5*losses[0] {
			t.Errorf("%s: losses %v", name, losses)
		}
	}
}
