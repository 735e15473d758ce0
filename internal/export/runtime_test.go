package export

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"credence/dataset"
	"credence/internal/onnx"
	"credence/model"
)

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
	t      *testing.T
	dir    string
	python string // interpreter
	cases  []*testCase
}

type testCase struct {
	name  string
	model *model.Model
	data  *dataset.Dataset
	alpha float64 // relative tolerance of parameters
}

func (s *suite) add(name string, m *model.Model, ds *dataset.Dataset) *testCase {
	c := &testCase{name, m, ds, tolerance}
	s.cases = append(s.cases, c)
	g, err := ONNX(m, "test")
	if err != nil {
		s.t.Fatalf("%s: %v", name, err)
	}
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
	return c
}

const program = `
import json, sys, numpy, onnx, onnxruntime
folder, out = sys.argv[1], {}
onnxruntime.set_default_logger_severity(3)
def plain(x): return [plain(v) for v in x] if isinstance(x, list) else x if isinstance(x, str) or x == x else None
for name in sys.argv[2:]:
    model = onnx.load(f"{folder}/{name}.onnx")
    onnx.checker.check_model(model, full_check=True)
    card = json.loads({p.key: p.value for p in model.metadata_props}["credence_card"])
    assert card["networks"] == 2 and "yes" in card["classes"], name
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
    none = session.run(names, {key: x[:0] for key, x in feed.items()})
    assert all(len(x) == 0 for x in none), name
    shapes = {o.name: o.shape for o in session.get_outputs()}
    for k, v in zip(names, session.run(names, feed)):
        assert list(v.shape)[1:] == list(shapes[k])[1:] and shapes[k][0] == "N", (name, k, v.shape, shapes[k])
json.dump(out, sys.stdout)
`

// compare runs the models with ONNX Runtime and checks that everything is what the models predict, within 1e-5.
func (s *suite) compare() {
	args := []string{"-c", program, s.dir}
	for _, c := range s.cases {
		args = append(args, c.name)
	}
	cmd := exec.Command(s.python, args...)
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
	near := func(j int, what string, got, want, tolerance float64) {
		e := math.Abs(got - want)
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
			near(j, "mean", got.Mean[j][i], a.Mean[i], tolerance)
			near(j, "probability", got.Probabilities[j][i], a.Mean[i], tolerance)
			if a.Dist != nil {
				near(j, "sd", got.SD[j][i], math.Sqrt(a.Variance[i]), tolerance)
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
			near(j, "weight", w, weight, tolerance)
			for i, x := range alpha {
				near(j, fmt.Sprintf("alpha %d of %d", i, k), math.Log1p(got.Alpha[j][k][i]), math.Log1p(x), c.alpha)
			}
			at++
		}
		if at != a.ReportedDist().K() {
			t.Errorf("item %d: %d components, want %d", j, at, a.ReportedDist().K())
		}
	}
	for i, x := range got.Single[0] {
		near(0, "mean alone", x, want[0].Mean[i], tolerance)
	}
	t.Logf("largest difference %.1e", worst)
}
