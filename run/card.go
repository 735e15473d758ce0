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
