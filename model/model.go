// Package model holds trained models: the networks of an ensemble, the head
// that reads their outputs, the preprocessing of features, the names of the
// classes, and where it all came from.
//
// A [Model] is made by package train, written with [Model.Save] and read with
// [Load]: one safetensors file, from which any safetensors reader takes the
// weights. [Model.Predict] returns the answer to each item of a data set, whatever
// the method; package predict does so for any number of items in bounded memory,
// and takes votes already cast into account. Answers are what is reported: their
// distributions are scaled by the model's Calibration.
//
// Dimension letters of the package: N items, M members of the ensemble, K
// components, d classes.
package model

import (
	"errors"
	"fmt"

	"credence/dataset"
	"credence/head"
	"credence/nn"
)

// InputShape returns the shape in which networks take what t gives: that of an
// image or volume if there is nothing else, otherwise flat.
func InputShape(t *dataset.Transform) nn.Shape {
	if in := t.Inputs(); len(in) == 1 && in[0].Kind == dataset.Grid {
		return in[0].Shape
	}
	return nn.Shape{t.Width()}
}

// Model is a trained model. Its methods may be called from several goroutines at
// once, which share the cores; its fields may not be changed then.
type Model struct {
	Classes []string // [d]
	Method  head.Method
	Raters  []string // whom the method knows, where it asks who cast a vote
	// Crowd is what was learned about Raters; nil if all votes count alike.
	Crowd     *head.Crowd
	Transform *dataset.Transform
	Members   []*nn.Network // [M]
	// Calibration is how laws are reported; nil leaves them as the networks give them.
	Calibration *head.Calibration
	Provenance  Provenance

	// Engine runs the networks; nil means the CPU.
	Engine nn.Engine

	pool pool
}

// Head returns the head that reads the networks' outputs.
func (m *Model) Head() (head.Head, error) {
	if m.Method == nil {
		return nil, errors.New("a model without a method")
	}
	return m.Method.New(m.task())
}

// Traits returns those of the model's method.
func (m *Model) Traits() head.Traits {
	h, err := m.Head()
	if err != nil {
		return head.Traits{} // of a model that Check refuses
	}
	return h.Traits()
}

func (m *Model) task() head.Task {
	return head.Task{Classes: len(m.Classes), Raters: len(m.Raters)}
}

// Check reports the first way in which the fields contradict each other.
func (m *Model) Check() error {
	h, err := m.Head()
	if err != nil {
		return err
	}
	outputs := h.Outputs()
	if len(m.Members) == 0 {
		return errors.New("a model without networks")
	}
	if m.Transform == nil {
		return errors.New("a model without preprocessing")
	}
	for i, member := range m.Members {
		if in, out := member.In.Size(), member.Out.Size(); in != m.Transform.Width() || out != outputs {
			return fmt.Errorf("network %d takes %d inputs and gives %d outputs, want %d and %d", i, in, out, m.Transform.Width(), outputs)
		}
	}
	if err := m.Crowd.Check(len(m.Classes), len(m.Raters)); err != nil {
		return err
	}
	return m.Calibration.Check()
}

// Size returns the number of trained parameters of all members.
func (m *Model) Size() int {
	n := 0
	for _, member := range m.Members {
		n += member.Size()
	}
	return n
}
