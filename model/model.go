// Package model holds trained models: the networks of an ensemble, the head
// that reads their outputs, the preprocessing of features, the names of the
// classes, and where it all came from.
//
// A [Model] is made by package train, written with [Model.Save] and read with
// [Load]: one safetensors file, from which any safetensors reader takes the
// weights. [Model.Predict] gives the mixture of each item of a data set,
// [Model.Each] does so for any number of items in bounded memory, and both take
// votes already cast into account if asked to. Models of the methods of package
// baseline have no mixtures; [Model.Estimate] gives what they have. The field
// Resolution is the rule that keeps reported intervals from claiming more than
// the votes could show; reports apply it, Predict does not.
//
// Dimension letters of the package: N items, M members of the ensemble, K
// components, d classes.
package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"credence/baseline"
	"credence/dataset"
	"credence/evaluate"
	"credence/head"
	"credence/nn"
)

// Head says how raw outputs are read: as a mixture, see [head.Mixture], or as
// one of the methods of package baseline.
type Head struct {
	Kind       string           `json:"kind"`                // "mixture" or a [baseline.Method]
	Components int              `json:"components,omitzero"` // K, of a mixture
	Limit      float64          `json:"limit,omitzero"`      // of a mixture: log α is held within ±Limit
	Rival      baseline.Options `json:"rival,omitzero"`      // settings of a method
}

// Method is the method of package baseline, empty for a mixture.
func (h Head) Method() baseline.Method {
	if h.Kind == "mixture" {
		return ""
	}
	return baseline.Method(h.Kind)
}

// NewRival returns the method of a head that is no mixture, for d classes.
func (h Head) NewRival(d int) (baseline.Rival, error) {
	o := h.Rival
	o.Classes = d
	return baseline.New(h.Method(), o)
}

// outputs returns how many raw outputs an item has, or what is wrong.
func (h Head) outputs(d int) (int, error) {
	switch {
	case h.Kind == "mixture":
		m, err := head.NewMixture(head.MixtureOptions{Components: h.Components, Classes: d, Limit: h.Limit})
		if err != nil {
			return 0, err
		}
		return m.Outputs(), nil
	case h.Method().Known():
		r, err := h.NewRival(d)
		if err != nil {
			return 0, err
		}
		return r.Outputs(), nil
	}
	return 0, fmt.Errorf("head %q is not one of [mixture] or %q", h.Kind, baseline.Methods)
}

// Member is one network of the ensemble.
type Member struct {
	Layers json.RawMessage // as [nn.Describe] writes them
	Net    *nn.Network
}

// NewMember returns a member with a freshly initialised network: the layers,
// in the form that [nn.Parse] reads, for inputs of the given shape.
func NewMember(layers []byte, in nn.Shape, o nn.Options) (*Member, error) {
	root, err := nn.Parse(layers, 0)
	if err != nil {
		return nil, err
	}
	net, err := nn.New(root, in, o)
	if err != nil {
		return nil, err
	}
	return &Member{Layers: layers, Net: net}, nil
}

// InputShape returns the shape in which networks take what t gives: that of an
// image or volume if there is nothing else, otherwise flat.
func InputShape(t *dataset.Transform) nn.Shape {
	if in := t.Inputs(); len(in) == 1 && in[0].Kind == dataset.Grid {
		return in[0].Shape
	}
	return nn.Shape{t.Width()}
}

// Model is a trained model. Its methods may be called from several goroutines;
// those that run the networks take turns, since each uses all cores.
type Model struct {
	Classes    []string // [d]
	Head       Head
	Transform  *dataset.Transform
	Members    []*Member            // [M]
	Resolution *evaluate.Resolution // what the votes could tell; nil if that is not known
	Provenance Provenance

	mu sync.Mutex // held while the networks run
}

// Check reports the first way in which the fields contradict each other.
func (m *Model) Check() error {
	outputs, err := m.Head.outputs(len(m.Classes))
	if err != nil {
		return err
	}
	if len(m.Members) == 0 {
		return errors.New("a model without networks")
	}
	if m.Transform == nil {
		return errors.New("a model without preprocessing")
	}
	for i, member := range m.Members {
		if in, out := member.Net.In.Size(), member.Net.Out.Size(); in != m.Transform.Width() || out != outputs {
			return fmt.Errorf("network %d takes %d inputs and gives %d outputs, want %d and %d", i, in, out, m.Transform.Width(), outputs)
		}
	}
	if m.Resolution != nil {
		return m.Resolution.Check(len(m.Classes))
	}
	return nil
}

// Size returns the number of trained parameters of all members.
func (m *Model) Size() int {
	n := 0
	for _, member := range m.Members {
		n += member.Net.Size()
	}
	return n
}
