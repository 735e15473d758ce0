// Command method trains, saves, loads and predicts with a layer and a method of its own.
package main

import (
	"context"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"
	"slices"

	"credence/dataset"
	"credence/head"
	"credence/model"
	"credence/nn"
	"credence/train"
)

// Gate is a layer: y = x · 2σ(s), one trained s per input, with a setting that is
// saved with the network.
type Gate struct {
	Start float64 // of s

	s *nn.Param
}

// Type is the layer's name in files.
func (*Gate) Type() string { return "gate" }

// Build returns the shape of the outputs and declares the parameters.
func (l *Gate) Build(b *nn.Builder, in nn.Shape) (nn.Shape, error) {
	l.s = b.Const("s", nn.Shape{in.Size()}, float32(l.Start))
	return in, nil
}

func (l *Gate) open(i int) float32 {
	return float32(1 / (1 + math.Exp(-float64(l.s.Value[i%l.s.Size()]))))
}

// Forward computes y from x.
func (l *Gate) Forward(_ *nn.Pass, y, x []float32) {
	for i, v := range x {
		y[i] = 2 * v * l.open(i)
	}
}

// Backward sets the gradient of s and, if dx is not nil, that of x.
func (l *Gate) Backward(_ *nn.Pass, dx, dy, _, x []float32) {
	clear(l.s.Grad)
	for i, g := range dy {
		o := l.open(i)
		l.s.Grad[i%l.s.Size()] += 2 * g * x[i] * o * (1 - o)
		if dx != nil {
			dx[i] = 2 * g * o
		}
	}
}

// Tempered is a method: softmax of the outputs times a trained sharpness,
//
//	p = softmax(t·z),    loss = −mean over votes of log p
type Tempered struct{}

// Name is what files call the method.
func (Tempered) Name() string { return "tempered" }

// New returns the head of one network.
func (Tempered) New(t head.Task) (head.Head, error) { return &tempered{classes: t.Classes}, nil }

type tempered struct {
	head.DefaultHead
	classes int
	t       *nn.Param
}

func (h *tempered) Outputs() int { return h.classes }

func (h *tempered) Start(head.Batch) []float32 { return make([]float32, h.classes) }

// Own declares the sharpness, which is trained and saved with the network.
func (h *tempered) Own() []nn.HeadParam {
	return []nn.HeadParam{{Name: "sharpness", Shape: nn.Shape{1}, Start: 1}}
}

func (h *tempered) Bind(own []*nn.Param) { h.t = own[0] }

func (h *tempered) Loss(grad, out []float32, b head.Batch, _ head.Step) head.Loss {
	votes, sum, dt := b.Counts.Votes(), 0.0, 0.0
	t := float64(h.t.Value[0])
	for j := range b.Items() {
		z, s := out[j*h.classes:(j+1)*h.classes], b.Counts.Item(j)
		p, m := probabilities(z, t), 0.0
		for _, v := range s {
			m += float64(v)
		}
		for i, v := range s {
			sum -= float64(v) * math.Log(p[i])
			g := (m*p[i] - float64(v)) / votes
			dt += g * float64(z[i])
			if grad != nil {
				grad[j*h.classes+i] = float32(g * t)
			}
		}
	}
	if grad != nil {
		h.t.Grad[0] = float32(dt)
	}
	return head.Loss{Mean: sum / votes, Over: votes, Votes: votes}
}

func (h *tempered) Criterion() head.Criterion { return &criterion{h: h} }

type criterion struct {
	h          *tempered
	sum, votes float64
}

func (c *criterion) Add(out []float32, b head.Batch) {
	loss := c.h.Loss(nil, out, b, head.Step{})
	c.sum += loss.Mean * loss.Votes
	c.votes += loss.Votes
}

func (c *criterion) Value() float64 { return c.sum / c.votes }

// Decode averages the networks' probabilities.
func (h *tempered) Decode(dst []head.Decoded, outputs []head.Output) {
	for j := range dst {
		a := head.Decoded{Mean: make([]float64, h.classes), Variance: make([]float64, h.classes)}
		for _, o := range outputs {
			for i, p := range probabilities(o.Raw[j*h.classes:(j+1)*h.classes], float64(o.Own[0][0])) {
				a.Mean[i] += p / float64(len(outputs))
			}
		}
		for i, p := range a.Mean {
			a.Variance[i] = p * (1 - p)
		}
		a.Uncertainty = 1 - slices.Max(a.Mean)
		dst[j] = a
	}
}

func probabilities(z []float32, t float64) []float64 {
	p, sum := make([]float64, len(z)), 0.0
	for i, v := range z {
		p[i] = math.Exp(t * (float64(v) - float64(slices.Max(z))))
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

func main() {
	ds := &dataset.Dataset{Classes: []string{"no", "yes"}, Features: []dataset.Feature{{Name: "size", Kind: dataset.Numeric}}}
	rows := &dataset.Memory{N: 60, W: 1}
	for i := range 60 {
		ds.Items = append(ds.Items, fmt.Sprint("nodule ", i))
		rows.Values = append(rows.Values, float32(i))
		yes := min(max((i-10)/10, 0), 3)
		ds.Counts = append(ds.Counts, float32(3-yes), float32(yes))
	}
	ds.Rows = rows

	result, err := train.Fit(context.Background(), ds, train.Options{
		Head:   Tempered{},
		Layers: nn.Seq(&Gate{Start: 0.5}, &nn.Dense{Out: 8}, &nn.ReLU{}, &nn.Dense{}),
		Epochs: 80, Ensemble: 2, Seed: 1,
	})
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "method")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.credence")
	if err := result.Model.Save(path); err != nil {
		log.Fatal(err)
	}
	_, err = model.Load(path)
	fmt.Println("without them:", err != nil)
	loaded, err := model.LoadWith(path, model.Extensions{
		Methods: []head.Method{Tempered{}},
		Layers:  []nn.Typed{&Gate{}},
	})
	if err != nil {
		log.Fatal(err)
	}
	net := loaded.Members[0]
	fmt.Println("trained:", net.Params[0].Name, net.Params[0].Value[0] != 0.5, net.Own[0].Name, net.Own[0].Value[0] != 1)
	few := ds.Select([]int{2, 57})
	before, err := result.Model.Predict(context.Background(), few, model.PredictOptions{})
	if err != nil {
		log.Fatal(err)
	}
	after, err := loaded.Predict(context.Background(), few, model.PredictOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for i := range after {
		fmt.Println(few.Items[i], "is rather a yes:", after[i].Mean[1] > 0.5, "the same:", slices.Equal(after[i].Mean, before[i].Mean))
	}
}
