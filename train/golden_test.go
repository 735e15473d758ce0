package train

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"

	"credence/head"
	"credence/internal/kernel"
	"credence/nn"
)

// netCase is one network of testdata/nets.json, computed in float64.
type netCase struct {
	Name       string          `json:"name"`
	Layers     json.RawMessage `json:"layers"`
	Components int             `json:"components"`
	Classes    int             `json:"classes"`
	InputShape []int           `json:"input_shape"`
	Input      []float32       `json:"input"`
	Counts     [][]float32     `json:"counts"`
	Output     [][]float64     `json:"output"`
	MeanNLL    float64         `json:"mean_nll"`
	Params     []struct {
		Name  string    `json:"name"`
		Shape []int     `json:"shape"`
		Value []float32 `json:"value"`
		Grad  []float64 `json:"grad"`
	} `json:"params"`
	InputGrad []float64 `json:"input_grad"`
}

// TestGoldenNets compares outputs, loss and all gradients of four networks to
// 2e-5 of the largest value of a tensor, on each instruction set, fused and
// apart.
func TestGoldenNets(t *testing.T) {
	raw, err := os.ReadFile("testdata/nets.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []netCase `json:"cases"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	now := kernel.Name()
	defer kernel.Use(now)
	for _, name := range kernel.Available() {
		if err := kernel.Use(name); err != nil {
			t.Fatal(err)
		}
		for _, c := range file.Cases {
			for _, apart := range []bool{false, true} {
				t.Run(fmt.Sprintf("kernel=%s/%s/apart=%v", name, c.Name, apart), func(t *testing.T) { checkNet(t, c, apart) })
			}
		}
	}
}

func checkNet(t *testing.T, c netCase, apart bool) {
	root, err := nn.Parse(c.Layers, 0)
	if err != nil {
		t.Fatal(err)
	}
	net, err := nn.New(root, c.InputShape[1:], nn.Options{Unfused: apart})
	if err != nil {
		t.Fatal(err)
	}
	h, err := head.Mixture{Components: c.Components}.New(head.Task{Classes: c.Classes})
	if err != nil {
		t.Fatal(err)
	}
	if len(net.Params) != len(c.Params) {
		t.Fatalf("%d parameters, want %d", len(net.Params), len(c.Params))
	}
	for i, p := range c.Params {
		if got := net.Params[i]; got.Name != p.Name || fmt.Sprint([]int(got.Shape)) != fmt.Sprint(p.Shape) {
			t.Fatalf("parameter %d is %s %v, want %s %v", i, got.Name, got.Shape, p.Name, p.Shape)
		}
		copy(net.Params[i].Value, p.Value)
	}
	votes := head.Counts{Classes: c.Classes}
	for _, s := range c.Counts {
		votes.Values = append(votes.Values, s...)
	}
	session, err := net.NewSession(1)
	if err != nil {
		t.Fatal(err)
	}
	out, err := session.Forward(c.Input, nn.Pass{Train: true})
	if err != nil {
		t.Fatal(err)
	}
	grad := make([]float32, len(out))
	loss := h.Loss(grad, out, head.Batch{Counts: votes}, nn.Step{}).Mean
	var want []float64
	for _, row := range c.Output {
		want = append(want, row...)
	}
	near(t, "outputs", out, want)
	if !(math.Abs(loss-c.MeanNLL) <= 2e-5*c.MeanNLL) {
		t.Errorf("loss %v, want %v", loss, c.MeanNLL)
	}
	dx := make([]float32, len(c.Input))
	if err := session.Backward(dx, grad); err != nil {
		t.Fatal(err)
	}
	for i, p := range c.Params {
		near(t, p.Name, net.Params[i].Grad, p.Grad)
	}
	near(t, "input gradient", dx, c.InputGrad)
}

func near(t *testing.T, what string, got []float32, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	worst, top := 0.0, 0.0
	for i, w := range want {
		top = math.Max(top, math.Abs(w))
		worst = math.Max(worst, math.Abs(float64(got[i])-w))
	}
	if !(worst <= 2e-5*top) {
		t.Errorf("%s: off by %.1e of %.1e", what, worst, top)
	}
}
