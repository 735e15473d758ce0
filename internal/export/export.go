// Package export writes trained models as ONNX files, for programs that run models with ONNX Runtime.
//
// The graph contains everything between the cells of an item and its reported distribution: the preprocessing of
// features, the networks, their mixture and its calibration. Networks compute in float32 as they do here, everything
// else in float64. Equations without a closed form are solved with a fixed number of steps.
//
// Dimension letters: N items, K components of all networks, d classes.
package export

import (
	"encoding/json"
	"errors"
	"fmt"

	"credence/head"
	"credence/internal/onnx"
	"credence/model"
	"credence/run"
)

// The outputs of a graph.
const (
	Label         = "label"         // [N] name of the class with the largest mean
	Probabilities = "probabilities" // [N, d] the means, in float32
	Mean          = "mean"          // [N, d]
	SD            = "sd"            // [N, d] standard deviation of each class probability
	Weights       = "weights"       // [N, K] of the components of the reported distribution
	Alpha         = "alpha"         // [N, K, d] their parameters
)

// ErrNotExported is the error for a part of a model that has no form in ONNX.
var ErrNotExported = errors.New("cannot be exported to ONNX")

// refused returns an ErrNotExported that names the part of the model.
func refused(format string, args ...any) error {
	return fmt.Errorf("%s %w", fmt.Sprintf(format, args...), ErrNotExported)
}

// The metadata of a file.
const (
	CardKey       = "credence_card"       // what credence inspect --json prints
	ClassesKey    = "credence_classes"    // a JSON list, in the order of the outputs
	ResolutionKey = "credence_resolution" // that of intervals, as in package mixture; "0" if there is none
)

// ONNX returns a model as a graph, which names the version of the program that makes it.
func ONNX(m *model.Model, version string) (*onnx.Graph, error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	g, err := graph(m)
	if err != nil {
		return nil, err
	}
	g.Producer, g.Version = "credence", version
	g.Doc = "Class probabilities with their distribution: a mixture of Dirichlet distributions with weights [N, K] and parameters alpha [N, K, d]"
	card, err := run.NewCard(m)
	if err != nil {
		return nil, err
	}
	resolution := 0.0
	if m.Calibration != nil {
		resolution = m.Calibration.Resolution
	}
	for _, entry := range []struct {
		key   string
		value any
	}{{CardKey, card}, {ClassesKey, m.Classes}, {ResolutionKey, resolution}} {
		text, err := json.Marshal(entry.value)
		if err != nil {
			return nil, err
		}
		g.Metadata = append(g.Metadata, [2]string{entry.key, string(text)})
	}
	return g, nil
}

// graph returns the operations of a model.
func graph(m *model.Model) (*onnx.Graph, error) {
	method, joint := head.Complete(m.Method).(head.Mixture)
	if _, plain := m.Method.(head.Softmax); !joint && !plain {
		return nil, refused("the method %s", m.Method.Name())
	}
	g := onnx.NewGraph("credence", Label, Probabilities, Mean, SD, Weights, Alpha)
	b := &builder{Graph: g}
	in, err := b.inputs(m.Transform)
	if err != nil {
		return nil, err
	}
	var raw, forests []string
	share := 0.0
	if m.Trees != nil {
		share = m.Trees.Share
		for _, f := range m.Trees.Forests {
			forests = append(forests, b.forest(f, m.Transform.Columns(), in.x))
		}
	}
	for i, net := range m.Members {
		if share == 1 { // networks have no weight
			break
		}
		out, err := b.network(net, in.x)
		if err != nil {
			return nil, fmt.Errorf("network %d: %w", i, err)
		}
		raw = append(raw, b.cast(out, onnx.Double))
	}
	if !joint {
		b.classes(m.Classes, b.softmax(raw))
		return g, nil
	}
	dist := b.decode(method, raw, forests, share, len(m.Classes))
	if dist, err = b.calibrated(dist, m, in); err != nil {
		return nil, err
	}
	mean, variance := "", ""
	if average := m.RaterModel.Average(); average == nil {
		mean, variance = b.moments(dist)
	} else if dist, mean, variance, err = b.averageRater(dist, average); err != nil {
		return nil, err
	}
	d := len(m.Classes)
	b.classes(m.Classes, b.reshape(mean, d))
	g.Output(SD, b.reshape(b.Add("Sqrt", variance), d), onnx.Double, onnx.Batch, d)
	g.Output(Weights, b.reshape(dist.weights, dist.k), onnx.Double, onnx.Batch, dist.k)
	g.Output(Alpha, dist.alpha, onnx.Double, onnx.Batch, dist.k, d)
	return g, nil
}

// classes adds the outputs that depend on the means [N, d].
func (b *builder) classes(names []string, mean string) {
	d := len(names)
	top := b.AddWith("ArgMax", []onnx.Attr{{Name: "axis", Value: 1}, {Name: "keepdims", Value: 0}}, mean)
	b.Output(Label, b.Add("Gather", b.Strings(names), top), onnx.String, onnx.Batch)
	b.Output(Probabilities, b.cast(mean, onnx.Float), onnx.Float, onnx.Batch, d)
	b.Output(Mean, mean, onnx.Double, onnx.Batch, d)
}

// softmax returns the mean probabilities [N, d] of the logits of networks.
func (b *builder) softmax(raw []string) string {
	for i, x := range raw {
		raw[i] = b.AddWith("Softmax", []onnx.Attr{{Name: "axis", Value: 1}}, x)
	}
	if len(raw) == 1 {
		return raw[0]
	}
	return b.div(b.Add("Sum", raw...), b.num(float64(len(raw))))
}

// builder adds expressions to a graph.
type builder struct{ *onnx.Graph }

func (b *builder) num(x float64) string { return b.Doubles([]float64{x}) }

func (b *builder) add(x, y string) string { return b.Add("Add", x, y) }
func (b *builder) sub(x, y string) string { return b.Add("Sub", x, y) }
func (b *builder) mul(x, y string) string { return b.Add("Mul", x, y) }
func (b *builder) div(x, y string) string { return b.Add("Div", x, y) }
func (b *builder) min(x, y string) string { return b.Add("Min", x, y) }
func (b *builder) max(x, y string) string { return b.Add("Max", x, y) }

// clip limits x to a range.
func (b *builder) clip(x string, lo, hi float64) string {
	return b.Add("Clip", x, b.num(lo), b.num(hi))
}

func (b *builder) cast(x string, to onnx.Type) string {
	return b.AddWith("Cast", []onnx.Attr{{Name: "to", Value: int(to)}}, x)
}

// reshape changes the shape of each item of x.
func (b *builder) reshape(x string, shape ...int) string {
	return b.Add("Reshape", x, b.Ints(append([]int{0}, shape...)...)) // 0 keeps N, also if there are no items
}

// sum sums over an axis, which stays with size 1.
func (b *builder) sum(x string, axis int) string { return b.Add("ReduceSum", x, b.Ints(axis)) }

func (b *builder) concat(axis int, list []string) string {
	if len(list) == 1 {
		return list[0]
	}
	return b.AddWith("Concat", []onnx.Attr{{Name: "axis", Value: axis}}, list...)
}

// slice returns the values from … to−1 of an axis.
func (b *builder) slice(x string, axis, from, to int) string {
	return b.Add("Slice", x, b.Ints(from), b.Ints(to), b.Ints(axis))
}

// gather returns the given columns of x [N, …].
func (b *builder) gather(x string, columns []int) string {
	return b.AddWith("Gather", []onnx.Attr{{Name: "axis", Value: 1}}, x, b.Ints(columns...))
}
