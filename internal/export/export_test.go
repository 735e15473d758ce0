package export

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"credence/calibrate"
	"credence/dataset"
	"credence/head"
	"credence/internal/onnx"
	"credence/internal/python"
	"credence/internal/rng"
	"credence/model"
	"credence/nn"
)

// data returns n items with the given features and values drawn at random, some of them missing or unknown.
func data(n int, features ...dataset.Feature) *dataset.Dataset {
	r := rand.New(rng.New(1, "export.test"))
	ds := &dataset.Dataset{Classes: []string{"no", "maybe", "yes"}, Features: features}
	width := 0
	for _, f := range features {
		width += f.Width()
	}
	rows := &dataset.Memory{N: n, W: width}
	for j := range n {
		ds.Items = append(ds.Items, fmt.Sprint("item ", j))
		for _, f := range features {
			for range f.Width() {
				x := float32(50 + 10*r.NormFloat64())
				if f.Kind == dataset.Categorical {
					x = float32(r.IntN(len(f.Levels)+1) - 1)
				}
				if r.IntN(20) == 0 {
					x = float32(math.NaN())
				}
				rows.Values = append(rows.Values, x)
			}
		}
	}
	ds.Rows, ds.Counts = rows, make([]float32, 3*n)
	return ds
}

// newModel returns a model of random networks for the items of ds.
func newModel(t testing.TB, ds *dataset.Dataset, method head.Method, layers func(in nn.Shape, out int) nn.Layer) *model.Model {
	t.Helper()
	all := make([]int, ds.Len())
	for i := range all {
		all[i] = i
	}
	tr, err := dataset.Fit(ds, all, dataset.TransformOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m := &model.Model{Classes: ds.Classes, Method: method, Transform: tr}
	h, err := m.Head()
	if err != nil {
		t.Fatal(err)
	}
	in := model.InputShape(tr)
	for i := range uint64(2) {
		net, err := nn.New(layers(in, h.Outputs()), in, nn.Options{Seed: 3, Member: i})
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rng.New(2, "export.test", i))
		for _, s := range net.States {
			for k := range s.Value {
				s.Value[k] = 0.5 + r.Float32()
			}
		}
		for _, p := range net.Params {
			if strings.HasSuffix(p.Name, "bias") {
				for k := range p.Value {
					p.Value[k] = float32(r.NormFloat64())
				}
			}
		}
		m.Members = append(m.Members, net)
	}
	return m
}

// columns are the values of the inputs of a graph, by name.
func columns(ds *dataset.Dataset, g *onnx.Graph) map[string]any {
	in := map[string]any{}
	row := make([]float32, ds.Rows.Width())
	for k, f := range ds.Features {
		at := 0
		for _, before := range ds.Features[:k] {
			at += before.Width()
		}
		var values []any
		for j := range ds.Len() {
			if err := ds.Rows.ReadRow(j, row); err != nil {
				panic(err)
			}
			for _, x := range row[at : at+f.Width()] {
				switch {
				case f.Kind == dataset.Categorical && x != x:
					values = append(values, "")
				case f.Kind == dataset.Categorical && x < 0:
					values = append(values, "never seen")
				case f.Kind == dataset.Categorical:
					values = append(values, f.Levels[int(x)])
				case x != x:
					values = append(values, nil)
				default:
					values = append(values, x)
				}
			}
		}
		in[g.Inputs[k].Name] = map[string]any{"shape": append([]int{ds.Len()}, g.Inputs[k].Dims[1:]...), "values": values}
	}
	return in
}

// results are the outputs that ONNX Runtime computes.
type results struct {
	Label         []string
	Probabilities [][]float64
	Mean, SD      [][]float64
	Weights       [][]float64
	Alpha         [][][]float64
	// Single has the means of the first item, alone in its batch.
	Single [][]float64
}

// suite has models to compare with ONNX Runtime in one process.
type suite struct {
	t     *testing.T
	dir   string
	cases []*testCase
}

type testCase struct {
	name  string
	model *model.Model
	data  *dataset.Dataset
}

func (s *suite) add(name string, m *model.Model, ds *dataset.Dataset) {
	s.cases = append(s.cases, &testCase{name, m, ds})
	g, err := ONNX(m)
	if err != nil {
		s.t.Fatalf("%s: %v", name, err)
	}
	g.Producer, g.Version = "credence", "test"
	g.Metadata = [][2]string{{"credence_card", "{}"}}
	file, err := g.Marshal()
	if err != nil {
		s.t.Fatalf("%s: %v", name, err)
	}
	in, err := json.Marshal(columns(ds, g))
	if err != nil {
		s.t.Fatal(err)
	}
	for ext, text := range map[string][]byte{".onnx": file, ".json": in} {
		if err := os.WriteFile(filepath.Join(s.dir, name+ext), text, 0o666); err != nil {
			s.t.Fatal(err)
		}
	}
}

const program = `
import json, sys, numpy, onnx, onnxruntime
folder, out = sys.argv[1], {}
onnxruntime.set_default_logger_severity(3)
def plain(x): return [plain(v) for v in x] if isinstance(x, list) else x if isinstance(x, str) or x == x else None
for name in sys.argv[2:]:
    model = onnx.load(f"{folder}/{name}.onnx")
    onnx.checker.check_model(model, full_check=True)
    assert {p.key: p.value for p in model.metadata_props} == {"credence_card": "{}"}, name
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(f"{folder}/{name}.onnx", options, providers=["CPUExecutionProvider"])
    feed, one = {}, {}
    for key, x in json.load(open(f"{folder}/{name}.json")).items():
        text = any(isinstance(v, str) for v in x["values"])
        feed[key] = numpy.array(x["values"], dtype=object if text else numpy.float32).reshape(x["shape"])
        one[key] = feed[key][:1]
    names = [o.name for o in session.get_outputs()]
    out[name] = {k: plain(v.tolist()) for k, v in zip(names, session.run(names, feed))}
    out[name]["single"] = session.run(["mean"], one)[0].tolist()
    shapes = {o.name: o.shape for o in session.get_outputs()}
    for k, v in zip(names, session.run(names, feed)):
        assert list(v.shape)[1:] == list(shapes[k])[1:] and shapes[k][0] == "N", (name, k, v.shape, shapes[k])
json.dump(out, sys.stdout)
`

// compare runs the models with ONNX Runtime and checks that everything is what the models predict, within 1e-5.
func (s *suite) compare() {
	interpreter := python.Interpreter(s.t, "numpy", "onnx", "onnxruntime")
	args := []string{"-c", program, s.dir}
	for _, c := range s.cases {
		args = append(args, c.name)
	}
	cmd := exec.Command(interpreter, args...)
	var messages strings.Builder
	cmd.Stderr = &messages
	text, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("%v\n%s", err, messages.String())
	}
	var all map[string]*results
	if err := json.Unmarshal(text, &all); err != nil {
		s.t.Fatal(err)
	}
	for _, c := range s.cases {
		s.t.Run(c.name, func(t *testing.T) { c.check(t, all[c.name]) })
	}
}

const tolerance = 1e-5

func (c *testCase) check(t *testing.T, got *results) {
	want, err := c.model.Predict(context.Background(), c.data, model.PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	worst := 0.0
	near := func(j int, what string, got, want, scale float64) {
		e := math.Abs(got-want) / scale
		if !(e <= tolerance) {
			t.Errorf("item %d, %s: %v, want %v", j, what, got, want)
		}
		worst = max(worst, e)
	}
	for j := range want {
		a := &want[j]
		if got.Label[j] != c.model.Classes[a.Top()] {
			t.Errorf("item %d: label %s, want %s", j, got.Label[j], c.model.Classes[a.Top()])
		}
		for i := range a.Mean {
			near(j, "mean", got.Mean[j][i], a.Mean[i], 1)
			near(j, "probability", got.Probabilities[j][i], a.Mean[i], 1)
			if a.Dist != nil {
				near(j, "sd", got.SD[j][i], math.Sqrt(a.Variance[i]), 1)
			}
		}
		if a.Dist == nil {
			continue
		}
		at := 0
		for k, w := range got.Weights[j] {
			if w == 0 {
				continue
			}
			weight, alpha := a.ReportedDist().Component(at)
			near(j, "weight", w, weight, 1)
			for i, x := range alpha {
				near(j, fmt.Sprintf("alpha %d of %d", i, k), got.Alpha[j][k][i], x, max(x, 1))
			}
			at++
		}
		if at != a.ReportedDist().K() {
			t.Errorf("item %d: %d components, want %d", j, at, a.ReportedDist().K())
		}
	}
	for i, x := range got.Single[0] {
		near(0, "mean alone", x, want[0].Mean[i], 1)
	}
	t.Logf("largest difference %.1e", worst)
}

var mixtureOf3 = head.Mixture{Components: 3, Limit: 20}

// TestNetworks compares every network by name, and every layer, with what the models predict.
func TestNetworks(t *testing.T) {
	s := &suite{t: t, dir: t.TempDir()}
	table := []dataset.Feature{{Name: "age", Kind: dataset.Numeric}, {Name: "mean", Kind: dataset.Numeric}}
	shapes := map[string][]int{"lenet5": {1, 28, 28}, "cnn2d": {3, 9, 8}, "resnet": {3, 12, 12}, "cnn3d": {1, 24, 25, 29}}
	for _, name := range nn.Names {
		features := table
		if shape := shapes[name]; shape != nil {
			features = []dataset.Feature{{Name: "image", Kind: dataset.Tensor, Shape: shape}}
		}
		ds := data(6, features...)
		s.add(name, newModel(t, ds, mixtureOf3, func(in nn.Shape, out int) nn.Layer {
			l, err := nn.ByName(name, in, out)
			if err != nil {
				t.Fatal(err)
			}
			return l
		}), ds)
	}
	image := data(6, dataset.Feature{Name: "image", Kind: dataset.Tensor, Shape: []int{2, 10, 9}})
	s.add("layers", newModel(t, image, mixtureOf3, func(_ nn.Shape, out int) nn.Layer {
		return nn.Seq(
			&nn.Conv{Out: 4, Kernel: nn.Ints{3, 2}, Stride: nn.Ints{1, 2}, Pad: nn.Ints{2, 1}, Dilation: nn.Ints{2, 1}, NoBias: true}, &nn.GELU{},
			&nn.Concat{Branches: []nn.Layer{&nn.Conv{Out: 2, Kernel: nn.Ints{1}}, nn.Seq(&nn.Tanh{}, &nn.LayerNorm{})}},
			&nn.AvgPool{Size: nn.Ints{3}, Stride: nn.Ints{2}, Pad: nn.Ints{1}}, &nn.Residual{Body: nn.Seq(&nn.Sigmoid{}, &nn.Dropout{Rate: 0.5})},
			&nn.MaxPool{Size: nn.Ints{2}, Stride: nn.Ints{1}, Pad: nn.Ints{1}}, &nn.GlobalPool{Max: true}, &nn.BatchNorm{}, &nn.Dense{Out: out, NoBias: true})
	}), image)
	line := data(6, dataset.Feature{Name: "series", Kind: dataset.Tensor, Shape: []int{12}})
	s.add("vector", newModel(t, line, head.Softmax{}, func(_ nn.Shape, out int) nn.Layer {
		return nn.Seq(&nn.Dense{Out: 8}, &nn.LayerNorm{}, &nn.ReLU{}, &nn.Dense{Out: out})
	}), line)
	s.compare()
}

// TestFeatures compares tables with numbers and categories, missing and unknown ones among them, vectors and images in
// one model, and votes of judges.
func TestFeatures(t *testing.T) {
	s := &suite{t: t, dir: t.TempDir()}
	var many []string
	for i := range 9 {
		many = append(many, fmt.Sprint("level ", i))
	}
	mixed := data(80,
		dataset.Feature{Name: "site", Kind: dataset.Categorical, Levels: []string{"a", "b"}},
		dataset.Feature{Name: "age", Kind: dataset.Numeric},
		dataset.Feature{Name: "scan", Kind: dataset.Tensor, Shape: []int{1, 6, 5}},
		dataset.Feature{Name: "code", Kind: dataset.Categorical, Levels: many},
		dataset.Feature{Name: "alpha", Kind: dataset.Tensor, Shape: []int{3}},
		dataset.Feature{Name: "label", Kind: dataset.Numeric},
		dataset.Feature{Name: "flag", Kind: dataset.Categorical, Levels: []string{"False", "True"}})
	s.add("mixed", newModel(t, mixed, mixtureOf3, func(in nn.Shape, out int) nn.Layer {
		dense := in.Size() - 30 - 1
		return nn.Seq(&nn.Concat{Inputs: []nn.Shape{{dense}, {1}, {1, 6, 5}}, Branches: []nn.Layer{
			nn.Seq(), nn.Seq(&nn.Embedding{Sizes: nn.Ints{11}, Width: 4}), nn.Seq(&nn.Conv{Out: 2, Kernel: nn.Ints{3}}, &nn.ReLU{}),
		}}, &nn.Dense{Out: 16}, &nn.ReLU{}, &nn.Dense{Out: out})
	}), mixed)
	judged := data(80,
		dataset.Feature{Name: "gpt", Kind: dataset.Categorical, Levels: []string{"no", "yes"}, Judge: true},
		dataset.Feature{Name: "age", Kind: dataset.Numeric},
		dataset.Feature{Name: "llama", Kind: dataset.Categorical, Levels: []string{"maybe", "no"}, Judge: true})
	s.add("judges", newModel(t, judged, mixtureOf3, mlp), judged)
	s.compare()
}

func mlp(_ nn.Shape, out int) nn.Layer { return nn.Seq(&nn.Dense{Out: 16}, &nn.ReLU{}, &nn.Dense{Out: out}) }

// TestCalibration compares every way in which distributions are calibrated.
func TestCalibration(t *testing.T) {
	s := &suite{t: t, dir: t.TempDir()}
	ds := data(60, dataset.Feature{Name: "age", Kind: dataset.Numeric}, dataset.Feature{Name: "site", Kind: dataset.Categorical, Levels: []string{"a", "b", "c"}})
	place := &calibrate.Place{Members: 2, Center: []float64{0, 0, 0.3, 0.2, 0.3, 0}, Spread: []float64{1, 0.2, 0.4, 0.4, 0.5, 0}, Level: []float64{1, 0.3, 0.1, -0.2, 0.3, 0, 0},
		Residual: 0.5, Slopes: []float64{0.5, 0.3, -0.4, 0.1, 0.2, 0, 0.6}, Shift: -0.1, Posterior: make([]float64, 49)}
	for i := range 7 {
		place.Posterior[i*8] = 0.05
	}
	for name, c := range map[string]*calibrate.Calibration{
		"as_is":        {Scale: 1, Resolution: 0.01},
		"narrow":       {Scale: 0.3},
		"wide":         {Scale: 2.5},
		"widest":       {Scale: 1000},
		"concentrated": {Scale: 0.9, Shape: calibrate.Concentrate, RatioSE: 0.1},
		"moved":        {Scale: 0.2, Shape: calibrate.Concentrate, RatioSE: 0.05},
		"averaged":     {Scale: 0.8, ScaleSE: 0.4, Shape: calibrate.Concentrate, RatioSE: 0.4},
		"place":        {Scale: 0.9, Shape: calibrate.Concentrate, RatioSE: 0.05, Place: place},
		"place_old":    {Scale: 1.1, Place: place},
	} {
		m := newModel(t, ds, head.Mixture{Components: 4, Limit: 6}, mlp)
		m.Calibration = c
		s.add(name, m, ds)
	}
	later := newModel(t, ds, mixtureOf3, mlp)
	later.Recalibration = &calibrate.Recalibration{Shift: []float64{0.4, 0, -0.3}, Concentration: 0.7, Feature: "site", Levels: []string{"c", "a"},
		Shifts: [][]float64{{0.1, 0.2, 0.3}, {-0.5, 0, 0.5}}}
	s.add("later", later, ds)
	s.compare()
}
