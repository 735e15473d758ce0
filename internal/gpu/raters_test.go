//go:build cuda

package gpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"credence/head"
	"credence/nn"
	"credence/train"
)

// ratedBatch draws votes by raters: none, few or many of an item, up to most.
func ratedBatch(items, raters, most int, weighted bool) head.Batch {
	r := rand.New(rand.NewPCG(8, uint64(most)))
	b := head.Batch{Counts: head.Counts{Classes: 2, Values: make([]float32, items*2)}}
	for j := range items {
		for range []int{3, 0, 1, most, 5, 2}[j%6] {
			c := r.IntN(2)
			b.Counts.Values[2*j+c]++
			b.Ratings = append(b.Ratings, head.Rating{Item: int32(j), Rater: int32(r.IntN(raters)), Class: int32(c)})
		}
		if weighted {
			b.Weights = append(b.Weights, 0.25+r.Float64())
		}
	}
	return b
}

// ratedStepper makes a stepper of a mixture with raters who have biases and guess rates.
func ratedStepper(t *testing.T, e nn.Engine, name string, m head.Mixture, raters, batch int) *train.Stepper {
	t.Helper()
	h, err := m.WithRaters().New(head.Task{Classes: 2, Raters: raters})
	if err != nil {
		t.Fatal(err)
	}
	c := scored[name]
	net, err := nn.New(c.root(h.Outputs()), c.in, nn.Options{Seed: 5, Own: h.Own()})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, p := range net.Params {
		for i := range p.Value {
			p.Value[i] += float32(0.3 * r.NormFloat64())
		}
	}
	s, err := train.NewStepper(e, net, h, nn.OptimizerOptions{Kind: "sgd", Rate: 1e-3}, batch)
	if err != nil {
		t.Fatal(err)
	}
	h.Bind(net.Own)
	for i := range raters {
		net.Own[0].Value[i] = float32(-4 + 2*r.NormFloat64()) // logit of the guess rate
		net.Own[3].Value[i] = float32(r.NormFloat64())        // bias
	}
	return s
}

// Losses, gradients and what is learned of raters are the CPU's, over two epochs, whether a step is a kernel for
// each layer or one for each item.
func TestRaterLoss(t *testing.T) {
	const items, raters = 13, 7
	for _, name := range []string{"mlp", "kernels of 3", "cnn2d"} {
		for _, m := range []head.Mixture{{Components: 3}, {Components: 12}, {Components: 2, Limit: 0.2}, {Components: 1, Limit: 12}} {
			t.Run(fmt.Sprint(name, m), func(t *testing.T) {
				c := scored[name]
				x := inputs("", items, c.in.Size())
				votes := ratedBatch(items, raters, raterVotes, m.Components == 2)
				var steppers []*train.Stepper
				for _, e := range []nn.Engine{nn.CPU{}, open(t)} {
					steppers = append(steppers, ratedStepper(t, e, name, m, raters, items+1))
				}
				for step := range 4 {
					at := nn.Step{Seed: 3, Epoch: uint64(step / 2), Step: uint64(step)}
					var losses []head.Loss
					var moved [][]float32
					for _, s := range steppers {
						loss, by := oneStep(t, s, x, votes, at)
						losses, moved = append(losses, loss), append(moved, by)
					}
					if d := math.Abs(losses[0].Mean - losses[1].Mean); !(d < 1e-5*losses[0].Mean) || losses[0].Over != losses[1].Over || losses[0].Votes != losses[1].Votes {
						t.Errorf("loss %+v, want %+v", losses[1], losses[0])
					}
					// Later steps begin with weights and raters that differ by roundings, which steps enlarge.
					if d := far(moved[1], moved[0]); !(d < 1e-4 || step > 0 && d < 2e-3) {
						t.Errorf("step %d: gradients differ by %g of the largest", step, d)
					}
				}
				g := steppers[1].Trainer.(*trainer)
				if g.scoring == nil || !g.scoring.loss.raters || (g.scoring.items != nil) != (c.items && m.Components < 12) {
					t.Errorf("the loss %v was not computed as it should be", g.scoring)
				}
				for k, p := range steppers[0].Net.Own {
					if d := far(steppers[1].Net.Own[k].Value, p.Value); !(d < 1e-4) {
						t.Errorf("%s differs by %g of the largest", p.Name, d)
					}
				}
				var clamped [2][2]int64
				for i, s := range steppers {
					clamped[i][0], clamped[i][1] = s.Head.(interface{ Clamped() (int64, int64) }).Clamped()
				}
				if clamped[0] != clamped[1] {
					t.Errorf("%d clamped, want %d", clamped[1], clamped[0])
				}
			})
		}
	}
}

// Votes without a rater, and more votes of an item than a kernel takes, are left to the CPU.
func TestRaterLossOnCPU(t *testing.T) {
	const items, raters = 6, 5
	for name, votes := range map[string]head.Batch{
		"unnamed": func() head.Batch {
			b := ratedBatch(items, raters, 4, false)
			b.Counts.Values[0]++
			return b
		}(),
		"many votes": ratedBatch(items, raters, raterVotes+1, false),
	} {
		x := inputs("", items, 7)
		var losses []float64
		for _, e := range []nn.Engine{nn.CPU{}, open(t)} {
			s := ratedStepper(t, e, "mlp", head.Mixture{Components: 2}, raters, items)
			loss, _ := oneStep(t, s, x, votes, nn.Step{})
			losses = append(losses, loss.Mean)
			if g, ok := s.Trainer.(*trainer); ok && g.scoring != nil {
				t.Errorf("%s: the device computed the loss", name)
			}
		}
		if !(math.Abs(losses[0]-losses[1]) <= 1e-5*losses[0]) {
			t.Errorf("%s: losses %v", name, losses)
		}
	}
}
