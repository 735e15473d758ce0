package train

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"credence/model"
	"credence/nn"
)

// plain is a second engine, in float64 and without any of the first one's code:
// dense layers and ReLU, one after the other. It keeps weights and moments of its
// own, rounded to float32 after each step as a device might, so that training
// depends on Pull and Push.
type plain struct{}

func (plain) Name() string { return "plain float64" }

func (plain) NewPredictor(net *nn.Network, _ int) (nn.Predictor, error) { return newPlainNet(net) }

func (plain) NewTrainer(net *nn.Network, o nn.OptimizerOptions, _ int) (nn.Trainer, error) {
	p, err := newPlainNet(net)
	if err != nil {
		return nil, err
	}
	if o, err = o.Complete(); err != nil {
		return nil, err
	}
	t := &plainTrainer{plainNet: p, options: o}
	for i := range t.state.Moments {
		t.state.Moments[i] = make([]float32, len(net.Values))
		t.moments[i] = make([][]float64, len(p.tensors))
		for k, w := range p.tensors {
			t.moments[i][k] = make([]float64, len(w))
		}
	}
	return t, nil
}

// plainNet is a network as the engine keeps it.
type plainNet struct {
	net     *nn.Network
	relu    []bool      // whether a ReLU follows dense layer i
	tensors [][]float64 // weight [out, in] and bias [out] of each dense layer
	acts    [][]float64 // inputs of each dense layer, and the outputs
}

func newPlainNet(net *nn.Network) (*plainNet, error) {
	p := &plainNet{net: net}
	var walk func(l nn.Layer) error
	walk = func(l nn.Layer) error {
		switch l := l.(type) {
		case *nn.Sequential:
			for _, l := range l.Layers {
				if err := walk(l); err != nil {
					return err
				}
			}
		case *nn.Dense:
			p.relu = append(p.relu, false)
		case *nn.ReLU:
			p.relu[len(p.relu)-1] = true
		default:
			return fmt.Errorf("plain engine: no layer %T", l)
		}
		return nil
	}
	if err := walk(net.Layers()); err != nil {
		return nil, err
	}
	p.tensors = make([][]float64, len(net.Params))
	p.push()
	return p, nil
}

func (p *plainNet) push() {
	for k, param := range p.net.Params {
		p.tensors[k] = p.tensors[k][:0]
		for _, v := range param.Value {
			p.tensors[k] = append(p.tensors[k], float64(v))
		}
	}
}

func (p *plainNet) Forward(x []float32, _ nn.Pass) ([]float32, error) {
	in := p.net.In.Size()
	a := make([]float64, len(x))
	for i, v := range x {
		a[i] = float64(v)
	}
	p.acts = [][]float64{a}
	for i, relu := range p.relu {
		w, b := p.tensors[2*i], p.tensors[2*i+1]
		y := make([]float64, 0, len(a)/in*len(b))
		for ; len(a) > 0; a = a[in:] {
			for o := range b {
				sum := b[o]
				for k, v := range a[:in] {
					sum += w[o*in+k] * v
				}
				if relu {
					sum = max(sum, 0)
				}
				y = append(y, sum)
			}
		}
		a, in = y, len(b)
		p.acts = append(p.acts, a)
	}
	out := make([]float32, len(a))
	for i, v := range a {
		out[i] = float32(v)
	}
	return out, nil
}

// gradients returns the gradients of all tensors, from those of the outputs.
func (p *plainNet) gradients(grad []float32) [][]float64 {
	g := make([][]float64, len(p.tensors))
	dy := make([]float64, len(grad))
	for i, v := range grad {
		dy[i] = float64(v)
	}
	for i := len(p.relu) - 1; i >= 0; i-- {
		w, x, y := p.tensors[2*i], p.acts[i], p.acts[i+1]
		out := len(p.tensors[2*i+1])
		in := len(w) / out
		dw, db, dx := make([]float64, len(w)), make([]float64, out), make([]float64, len(x))
		for j := range len(y) / out {
			for o := range out {
				d := dy[j*out+o]
				if p.relu[i] && y[j*out+o] <= 0 {
					continue
				}
				db[o] += d
				for k := range in {
					dw[o*in+k] += d * x[j*in+k]
					dx[j*in+k] += d * w[o*in+k]
				}
			}
		}
		g[2*i], g[2*i+1], dy = dw, db, dx
	}
	return g
}

type plainTrainer struct {
	*plainNet
	options nn.OptimizerOptions
	state   nn.OptimizerState
	moments [2][][]float64
}

func (t *plainTrainer) Step(x []float32, at nn.Step, loss func(grad, out []float32)) error {
	out, err := t.Forward(x, nn.Pass{Train: true, At: at})
	if err != nil {
		return err
	}
	grad := make([]float32, len(out))
	loss(grad, out)
	g := t.gradients(grad)
	norm := 0.0
	for _, g := range g {
		for _, v := range g {
			norm += v * v
		}
	}
	scale, o := 1.0, t.options
	if norm = math.Sqrt(norm); o.Clip > 0 && norm > o.Clip {
		scale = o.Clip / norm
	}
	rate := t.Rate()
	t.state.Steps++
	n := float64(t.state.Steps)
	round := func(v float64) float64 { return float64(float32(v)) }
	for k, w := range t.tensors {
		for i := range w {
			m, v := &t.moments[0][k][i], &t.moments[1][k][i]
			d := scale * g[k][i]
			*m = round(o.Beta1**m + (1-o.Beta1)*d)
			*v = round(o.Beta2**v + (1-o.Beta2)*d*d)
			step := *m / (1 - math.Pow(o.Beta1, n)) / (math.Sqrt(*v/(1-math.Pow(o.Beta2, n))) + o.Epsilon)
			w[i] = round(w[i] - rate*o.WeightDecay*w[i] - rate*step)
		}
	}
	return nil
}

func (t *plainTrainer) Rate() float64 { return t.options.RateAt(t.state.Steps) }

func (t *plainTrainer) State() *nn.OptimizerState { return &t.state }

// each calls f with what the network and the state keep and what the engine
// keeps of it.
func (t *plainTrainer) each(f func(theirs []float32, mine []float64)) {
	for k, p := range t.net.Params {
		f(p.Value, t.tensors[k])
		at := 0 // of the parameter among all values
		for &t.net.Values[at] != &p.Value[0] {
			at++
		}
		for i, m := range t.state.Moments {
			f(m[at:at+p.Size()], t.moments[i][k])
		}
	}
}

func (t *plainTrainer) Pull() error {
	t.each(func(theirs []float32, mine []float64) {
		for i, v := range mine {
			theirs[i] = float32(v)
		}
	})
	return nil
}

func (t *plainTrainer) Push() error {
	t.each(func(theirs []float32, mine []float64) {
		for i, v := range theirs {
			mine[i] = float64(v)
		}
	})
	return nil
}

// plainFit returns the options of a fit for which the plain engine has all layers.
func plainFit() Options {
	o := quick()
	o.Epochs, o.Patience, o.Widths = 8, -1, nil
	o.Layers = nn.Seq(&nn.Dense{Out: 16}, &nn.ReLU{}, &nn.Dense{Out: 16}, &nn.ReLU{}, &nn.Dense{})
	return o
}

// TestEngine: an engine of another kind trains the mlp through Fit, with nearly
// the losses of the CPU's, and its model predicts nearly the same.
func TestEngine(t *testing.T) {
	ds := simulated(120, 3, 1)
	o := plainFit()
	want := fitted(t, ds, o)
	o.Engine = plain{}
	got := fitted(t, ds, o)
	if k := got.Model.Provenance.Kernel; k != "plain float64" {
		t.Errorf("the record says %q", k)
	}
	worst := 0.0
	compare := func(what string, got, want float64) {
		worst = max(worst, math.Abs(got-want)/math.Abs(want))
		if !(math.Abs(got-want) <= 1e-5*math.Abs(want)) {
			t.Errorf("%s: %v on the second engine, %v on the CPU", what, got, want)
		}
	}
	for i, r := range want.Model.Provenance.Runs {
		for j, e := range r.History {
			other := got.Model.Provenance.Runs[i].History[j]
			compare(fmt.Sprintf("run %d, epoch %d: loss", i, e.Epoch), other.Loss, e.Loss)
			if e.HeldOut != nil {
				compare(fmt.Sprintf("run %d, epoch %d: held-out loss", i, e.Epoch), *other.HeldOut, *e.HeldOut)
			}
		}
	}
	means := func(m *model.Model, e nn.Engine) []float64 {
		t.Helper()
		m.Engine = e
		decoded, err := m.Predict(context.Background(), ds, model.PredictOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var list []float64
		for _, a := range decoded {
			list = append(list, a.Mean[0])
		}
		return list
	}
	first, one, other := means(want.Model, nil), means(got.Model, nil), means(got.Model, plain{})
	for i := range first {
		compare(fmt.Sprintf("mean of item %d by another model", i), other[i], first[i])
		compare(fmt.Sprintf("mean of item %d", i), other[i], one[i])
	}
	t.Logf("largest difference %.1e", worst)
	if worst == 0 {
		t.Error("no difference at all: was it the second engine?")
	}
}

// TestEngineResume: checkpoints hold what an engine keeps elsewhere, and belong to
// their engine.
func TestEngineResume(t *testing.T) {
	ds := simulated(90, 3, 1)
	o := plainFit()
	o.Epochs, o.Engine = 4, plain{}
	want := encoded(t, fitted(t, ds, o).Model)
	o.Checkpoint, o.Resume, o.Memory = filepath.Join(t.TempDir(), "checkpoint"), true, 1
	got, stops := interrupted(t, ds, o, 200)
	if stops == 0 || !bytes.Equal(encoded(t, got), want) {
		t.Errorf("stopped %d times and resumed: another model", stops)
	}
	o.Engine = nil
	if _, err := Fit(t.Context(), ds, o); err == nil || !strings.Contains(err.Error(), "then plain float64") {
		t.Errorf("resumed on another engine: %v", err)
	}
}

// TestEngineRefuses: an engine returns an error for layers it cannot run.
func TestEngineRefuses(t *testing.T) {
	o := plainFit()
	o.Engine, o.Layers = plain{}, nn.Seq(&nn.Dropout{Rate: 0.5}, o.Layers)
	if _, err := Fit(t.Context(), simulated(60, 3, 1), o); err == nil || !strings.Contains(err.Error(), "no layer *nn.Dropout") {
		t.Errorf("error %v", err)
	}
}
