package run

import (
	"encoding/json"
	"fmt"

	"credence/dataset"
	"credence/head"
	"credence/model"
	"credence/nn"
	"credence/train"
)

// Card says what a model is and where it comes from, under its JSON names.
type Card struct {
	Classes     []string           `json:"classes"`
	Features    []dataset.Part     `json:"features"`
	Texts       []dataset.TextInfo `json:"texts,omitempty"`
	Inputs      int                `json:"inputs"`
	Networks    int                `json:"networks"`
	Parameters  int                `json:"parameters"`
	Layers      json.RawMessage    `json:"layers"`
	Branches    []Branch           `json:"branches,omitempty"` // where several kinds of features have layers of their own
	Head        json.RawMessage    `json:"head"`
	Meaning     string             `json:"meaning,omitempty"` // of the uncertainty, without distributions
	Calibration *head.Calibration  `json:"calibration"`
	// References are what was fitted beside the model, without weights.
	References *referenceSummary `json:"references,omitempty"`
	model.Provenance

	Method  head.Method   `json:"-"`
	Options train.Options `json:"-"` // of the fit, complete
}

type referenceSummary struct {
	Probabilities []float64 `json:"constant"`
	Alpha         []float64 `json:"constant_dm_alpha"`
	Columns       int       `json:"logistic_columns,omitempty"`
	Penalty       float64   `json:"logistic_penalty,omitempty"`
	Concentration float64   `json:"logistic_concentration,omitempty"`
}

// NewCard returns the card of a model.
func NewCard(m *model.Model) (*Card, error) {
	c := &Card{
		Classes: m.Classes, Features: m.Transform.Parts(), Texts: m.Transform.TextColumns(), Inputs: m.Transform.Width(),
		Networks: len(m.Members), Parameters: m.Size(),
		Calibration: m.Calibration, Provenance: m.Provenance,
		Method: m.Method, Meaning: m.Traits().Meaning,
	}
	var err error
	if c.Head, err = head.Encode(m.Method); err != nil {
		return nil, err
	}
	if c.Layers, err = nn.Describe(m.Members[0].Layers()); err != nil {
		return nil, err
	}
	c.Branches = branchesOf(m)
	if len(m.Provenance.Config) > 0 {
		if err := json.Unmarshal(m.Provenance.Config, &c.Options); err != nil {
			return nil, fmt.Errorf("the configuration of the fit: %w", err)
		}
	}
	if r := m.Provenance.References; r != nil {
		c.References = &referenceSummary{Probabilities: r.Constant.Probabilities, Alpha: r.ConstantDirichlet.Alpha}
		if l := r.Logistic; l != nil {
			c.References.Columns, c.References.Penalty, c.References.Concentration = l.Columns, l.Penalty, l.Concentration
		}
	}
	return c, nil
}

// Branch is a part of a network that sees some of the features.
type Branch struct {
	Features []string `json:"features"` // names of columns' blocks, vectors, images and volumes
	Shape    []int    `json:"shape"`    // of what it takes
	Layers   []string `json:"layers"`   // in order: "dense 64", "relu"
}

// branchesOf describes the branches that the networks of a model begin with; nil if
// there is one path for all features.
func branchesOf(m *model.Model) []Branch {
	root, ok := m.Members[0].Layers().(*nn.Sequential)
	if !ok || len(root.Layers) == 0 {
		return nil
	}
	c, ok := root.Layers[0].(*nn.Concat)
	if !ok || len(c.Inputs) < 2 {
		return nil
	}
	blocks := m.Transform.Blocks()
	var list []Branch
	at := 0
	for i, shape := range c.Inputs {
		b := Branch{Shape: shape, Layers: layerNames(c.Branches[i])}
		for _, in := range blocks {
			if in.Offset < at+shape.Size() && at < in.Offset+in.Width {
				b.Features = append(b.Features, in.Name)
			}
		}
		at += shape.Size()
		list = append(list, b)
	}
	return list
}

// layerNames lists the layers of a branch, with their widths where they have one.
func layerNames(l nn.Layer) []string {
	names := []string{}
	switch l := l.(type) {
	case *nn.Sequential:
		for _, one := range l.Layers {
			names = append(names, layerNames(one)...)
		}
		return names
	case *nn.Dense:
		return []string{fmt.Sprint("dense ", l.Out)}
	case *nn.Conv:
		return []string{fmt.Sprint("conv ", l.Out)}
	case *nn.Embedding:
		return []string{fmt.Sprint("embedding ", l.Width)}
	case *nn.Dropout:
		return []string{fmt.Sprint("dropout ", l.Rate)}
	}
	var list []struct{ Type string }
	if text, err := nn.Describe(l); err == nil && json.Unmarshal(text, &list) == nil && len(list) == 1 {
		return []string{list[0].Type}
	}
	return names
}
