package export

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"credence/calibrate"
	"credence/dataset"
	"credence/head"
	"credence/internal/python"
	"credence/internal/rng"
	"credence/model"
	"credence/nn"
	"credence/tree"
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

var mixtureOf3 = head.Mixture{Components: 3, Limit: 20}

// TestONNXRuntime compares what ONNX Runtime computes with what the models predict: every network by name and every layer,
// every kind of feature, every calibration, and models with raters.
func TestONNXRuntime(t *testing.T) {
	s := &suite{t: t, dir: t.TempDir(), python: python.Interpreter(t, "numpy", "onnx", "onnxruntime")}
	s.addNetworks()
	s.addFeatures()
	s.addCalibration()
	s.addRaters()
	s.addTrees()
	s.compare()
}

// addNetworks adds every network by name, and one of every layer.
func (s *suite) addNetworks() {
	t := s.t
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
}

// addFeatures adds tables with numbers and categories, missing and unknown ones among them, vectors and images in
// one model, and votes of judges.
func (s *suite) addFeatures() {
	t := s.t
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
}

func mlp(_ nn.Shape, out int) nn.Layer {
	return nn.Seq(&nn.Dense{Out: 16}, &nn.ReLU{}, &nn.Dense{Out: out})
}

// addCalibration adds every way in which distributions are calibrated.
func (s *suite) addCalibration() {
	t := s.t
	ds := data(60, dataset.Feature{Name: "age", Kind: dataset.Numeric}, dataset.Feature{Name: "site", Kind: dataset.Categorical, Levels: []string{"a", "b", "c"}})
	place := &calibrate.Place{Members: 2, Center: []float64{0, 0, 0.3, 0.2, 0.3, 0}, Spread: []float64{1, 0.2, 0.4, 0.4, 0.5, 0},
		Level:    []float64{1, 0.3, 0.1, -0.2, 0.3, 0, 0},
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
		"centered":     {Scale: 0.1, ScaleSE: 0.4, ScaleCenter: -0.2, Shape: calibrate.Concentrate, RatioSE: 0.4},
		"no spread":    {Scale: 0.1, ScaleSE: 0.4, ScaleCenter: -0.8, Shape: calibrate.Concentrate, RatioSE: 0.4},
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
}

// ratersOf returns a rater model of random raters.
func ratersOf(t *testing.T, classes, raters int, ordered bool) *head.RaterModel {
	t.Helper()
	r := rand.New(rng.New(7, "export.raters"))
	c := &head.RaterModel{Classes: classes, Ordered: ordered}
	for range raters {
		c.Votes, c.GuessLogit, c.GuessLogitSE = append(c.Votes, 10+50*r.Float64()), append(c.GuessLogit, -4+3*r.Float64()), append(c.GuessLogitSE, 0.1)
		if classes == 2 || ordered {
			c.Bias, c.BiasSE = append(c.Bias, 2*r.NormFloat64()), append(c.BiasSE, 0.1)
		}
		if ordered {
			c.LogScale, c.LogScaleSE = append(c.LogScale, 0.1), append(c.LogScaleSE, 0.1)
		}
		if classes > 2 {
			c.Taste = append(c.Taste, 0.2, 0.3, 0.5)
		}
	}
	if err := c.Finalize(); err != nil {
		t.Fatal(err)
	}
	return c
}

// withRaters returns a model of raters for ds.
func withRaters(t *testing.T, ds *dataset.Dataset, raters int, ordered bool, limit float64) *model.Model {
	m := newModel(t, ds, head.Mixture{Components: 3, Limit: limit}, mlp)
	m.Method, m.Ordered = head.Mixture{Components: 3, Limit: limit, Raters: "on"}, ordered
	for i := range raters {
		m.Raters = append(m.Raters, fmt.Sprint("rater ", i))
	}
	m.RaterModel = ratersOf(t, len(ds.Classes), raters, ordered)
	return m
}

// addRaters adds models whose distributions are those of an average rater.
func (s *suite) addRaters() {
	t := s.t
	ds := data(100, dataset.Feature{Name: "age", Kind: dataset.Numeric})
	s.add("guesses", withRaters(t, ds, 4, false, 20), ds)
	two := data(100, dataset.Feature{Name: "age", Kind: dataset.Numeric})
	two.Classes, two.Counts = []string{"no", "yes"}, two.Counts[:200]
	// The integrals of package mixture have relative errors of some 1e-5, and variances of parameters above 1e6 only an
	// upper limit; means and standard deviations of items are compared as ever.
	s.add("biases", withRaters(t, two, 4, false, 20), two).alpha = 1e-3
	// Outputs far apart: parameters from e⁻²⁰ to e²⁰ in one item.
	far := withRaters(t, two, 4, false, 20)
	for _, net := range far.Members {
		p := net.Params[len(net.Params)-2]
		for i := range p.Value {
			p.Value[i] *= 20
		}
	}
	s.add("extreme", far, two).alpha = math.Inf(1)
}

// forestOf returns a forest of random trees for a model.
func forestOf(t *testing.T, m *model.Model, member uint64, trees, depth int) *tree.Forest {
	t.Helper()
	r := rand.New(rng.New(9, "export.trees", member))
	columns, d := m.Transform.Columns(), len(m.Classes)
	o, shares := tree.Outputs(d), d
	if d == 2 {
		shares = 1
	}
	f := &tree.Forest{Classes: d, Depth: depth, Start: make([]float32, o), Gain: make([]float32, len(columns))}
	values := 0
	for _, c := range columns {
		if c.Levels == 0 {
			values++
			continue
		}
		values += shares
		stats := make([]float32, c.Levels*shares)
		for i := range stats {
			stats[i] = r.Float32()
		}
		f.Stats = append(f.Stats, stats)
	}
	for range trees * depth {
		f.Splits, f.Cuts = append(f.Splits, float32(r.IntN(2*values))), append(f.Cuts, float32(r.NormFloat64()))
	}
	for range trees << depth * o {
		f.Leaves = append(f.Leaves, 0.3*float32(r.NormFloat64()))
	}
	if err := f.Bind(columns); err != nil {
		t.Fatal(err)
	}
	return f
}

// addTrees adds models with forests: some of the weight, all of it, and without trees.
func (s *suite) addTrees() {
	ds := data(80,
		dataset.Feature{Name: "site", Kind: dataset.Categorical, Levels: []string{"a", "b"}},
		dataset.Feature{Name: "age", Kind: dataset.Numeric},
		dataset.Feature{Name: "code", Kind: dataset.Categorical, Levels: []string{"p", "q", "r", "s", "t", "u"}},
		dataset.Feature{Name: "size", Kind: dataset.Numeric},
		dataset.Feature{Name: "scan", Kind: dataset.Tensor, Shape: []int{3}})
	two := data(80, ds.Features...)
	two.Classes, two.Counts = []string{"no", "yes"}, two.Counts[:160]
	for _, c := range []struct {
		name  string
		data  *dataset.Dataset
		share float64
		trees int
	}{{"blend", ds, 0.3, 200}, {"trees", ds, 1, 50}, {"two", two, 0.6, 100}, {"none", two, 0.5, 0}} {
		m := newModel(s.t, c.data, mixtureOf3, mlp)
		m.Trees = &tree.Blend{Share: c.share}
		for i := range m.Members {
			m.Trees.Forests = append(m.Trees.Forests, forestOf(s.t, m, uint64(i), c.trees, 4))
		}
		n := m.Transform.Plain()
		m.Calibration = &calibrate.Calibration{Scale: 1.1, Shape: calibrate.Concentrate, Place: &calibrate.Place{Members: 2, Center: make([]float64, n),
			Spread: slices.Repeat([]float64{1}, n), Level: make([]float64, n+1), Residual: 1, Slopes: slices.Repeat([]float64{0.1}, n+1), Posterior: make([]float64, (n+1)*(n+1))}}
		s.add(c.name, m, c.data)
	}
}

// TestSame checks that equal models give equal bytes.
func TestSame(t *testing.T) {
	ds := data(10, dataset.Feature{Name: "age", Kind: dataset.Numeric}, dataset.Feature{Name: "site", Kind: dataset.Categorical, Levels: []string{"a", "b", "c"}})
	var files [2][]byte
	for i := range files {
		g, err := ONNX(newModel(t, ds, mixtureOf3, mlp), "1")
		if err != nil {
			t.Fatal(err)
		}
		if files[i], err = g.Marshal(); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("two exports of a model differ")
	}
}

// TestFields fails if predictions depend on something that graphs do not have: a field of these types that is not known
// here has to be exported, or refused.
func TestFields(t *testing.T) {
	for typ, known := range map[reflect.Type]string{
		reflect.TypeFor[model.Model](): "Classes Ordered Method Raters RaterModel Transform Members Trees Calibration Recalibration Provenance Engine runners partial",
		// Those from Ratio to Leak, and Raters, describe how Scale was found.
		reflect.TypeFor[calibrate.Calibration]():   "Scale ScaleSE ScaleCenter Shape Resolution Ratio RatioSE Classes Items Network NetworkSE Within Trust Leak Place Raters Groups",
		reflect.TypeFor[calibrate.Place]():         "Members Center Spread Level Residual Slopes Shift Posterior Gain",
		reflect.TypeFor[calibrate.Recalibration](): "From Items Votes Gain GainSE Shift Concentration Feature Levels Shifts",
		reflect.TypeFor[head.Mixture]():            "Components Limit Raters",
	} {
		var names []string
		for i := range typ.NumField() {
			names = append(names, typ.Field(i).Name)
		}
		if found := strings.Join(names, " "); found != known {
			t.Errorf("%v has the fields %s, expected %s", typ, found, known)
		}
	}
}

// strange is a layer without an operator.
type strange struct{ nn.Flatten }

func (*strange) Type() string { return "strange" }

// TestRefused checks that what cannot be exported is an error that names it.
func TestRefused(t *testing.T) {
	ds := data(30, dataset.Feature{Name: "age", Kind: dataset.Numeric})
	custom := newModel(t, ds, mixtureOf3, func(_ nn.Shape, out int) nn.Layer { return nn.Seq(&strange{}, &nn.Dense{Out: out}) })
	by := newModel(t, ds, mixtureOf3, mlp)
	by.Recalibration = &calibrate.Recalibration{Shift: make([]float64, 3), Concentration: 1, Feature: "age",
		Levels: []string{"1"}, Shifts: [][]float64{make([]float64, 3)}}
	other := newModel(t, ds, mixtureOf3, mlp)
	other.Calibration = &calibrate.Calibration{Scale: 1, Place: &calibrate.Place{Members: 3, Center: []float64{0, 0}, Spread: []float64{1, 1},
		Level: make([]float64, 3), Slopes: make([]float64, 3), Posterior: make([]float64, 9)}}
	for name, m := range map[string]*model.Model{
		"network 0: no operation for layer strange: the network": custom,
		"the method dropout":                 newModel(t, ds, head.Dropout{}, mlp),
		"the method qd":                      newModel(t, ds, head.QD{}, mlp),
		"the rater model of ordered classes": withRaters(t, ds, 3, true, 20),
		`a recalibration by "age", which is no categorical feature of the model,`: by,
		"a calibration by place of 3 networks for 2":                              other,
	} {
		_, err := ONNX(m, "")
		if !errors.Is(err, ErrNotExported) || err.Error() != name+" cannot be exported to ONNX" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
