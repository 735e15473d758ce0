// Package model holds trained models: the networks of an ensemble, the head
// that reads their outputs, the preprocessing of features, the names of the
// classes, and where it all came from.
//
// A [Model] is made by package train, written with [Model.Save] and read with
// [Load]: one safetensors file, from which any safetensors reader takes the
// weights. [Model.Predict] returns the prediction for each item of a data set, whatever
// the method; package predict does so for any number of items in bounded memory, and
// updates predictions by votes already cast. Predictions are those to report: their
// distributions are scaled by the model's Calibration.
//
// Dimension letters of the package: N items, M members of the ensemble, K
// components, d classes.
package model

import (
	"encoding/json"
	"errors"
	"fmt"

	"credence/calibrate"
	"credence/dataset"
	"credence/evaluate"
	"credence/head"
	"credence/nn"
	"credence/tree"
)

// InputShape returns the input shape of networks for the outputs of t: that of an
// image or volume if it is the only input, otherwise flat.
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
	Ordered bool     // classes are the points of a scale, from its lower end to its upper end
	Method  head.Method
	Raters  []string // raters in the rater model, for methods that use who cast a vote
	// RaterModel is what was learned about Raters; nil if all votes count alike.
	RaterModel *head.RaterModel
	Transform  *dataset.Transform
	Members    []*nn.Network // [M]
	// Trees blends a forest with each network; nil if there are none.
	Trees *tree.Blend
	// Calibration rescales the distributions of the networks for reporting; nil leaves them unchanged.
	Calibration *calibrate.Calibration
	// Recalibration adjusts the calibrated distributions to votes that arrived after training; nil if there were none.
	Recalibration *calibrate.Recalibration
	Provenance    Provenance

	// Engine runs the networks; nil means the CPU.
	Engine nn.Engine

	runners runners
	partial bool // loaded without Provenance
}

// Head returns the head that reads the networks' outputs.
func (m *Model) Head() (head.Head, error) {
	if m.Method == nil {
		return nil, errors.New("the model has no method")
	}
	return m.Method.New(head.Task{Classes: len(m.Classes), Ordered: m.Ordered, Raters: len(m.Raters)})
}

// Traits returns the traits of the model's method.
func (m *Model) Traits() head.Traits {
	h, err := m.Head()
	if err != nil {
		return head.Traits{} // Check returns an error for such a model
	}
	return h.Traits()
}

// Check returns an error if the fields contradict each other.
func (m *Model) Check() error {
	h, err := m.Head()
	if err != nil {
		return err
	}
	outputs := h.Outputs()
	if len(m.Members) == 0 {
		return errors.New("the model has no networks")
	}
	if m.Transform == nil {
		return errors.New("the model has no preprocessing")
	}
	for i, member := range m.Members {
		if in, out := member.In.Size(), member.Out.Size(); in != m.Transform.Width() || out != outputs {
			return fmt.Errorf("network %d: expected %d inputs and %d outputs, found %d and %d", i, m.Transform.Width(), outputs, in, out)
		}
	}
	if m.Trees != nil && (!h.Traits().Joint || m.RaterModel != nil) {
		return errors.New("expected trees only with a mixture without raters")
	}
	if err := m.Trees.Check(m.Transform.Columns(), len(m.Classes), len(m.Members)); err != nil {
		return err
	}
	if err := m.RaterModel.Check(len(m.Classes), len(m.Raters)); err != nil {
		return err
	}
	if err := m.Recalibration.Check(len(m.Classes)); err != nil {
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

// Provenance records everything a model depends on, and how its training went. It
// contains no clock, host, path or number of threads: equal runs give equal
// files.
type Provenance struct {
	Data       string               `json:"data"`                 // SHA-256 of the data set
	Votes      string               `json:"votes,omitempty"`      // how the votes were read, in words
	Seed       uint64               `json:"seed"`                 //
	Version    string               `json:"version,omitempty"`    // of the program
	Kernel     string               `json:"kernel"`               // instruction set
	Config     json.RawMessage      `json:"config,omitempty"`     // complete configuration of the fit
	From       *Origin              `json:"from,omitempty"`       // the model that training started from
	Split      Split                `json:"split"`                //
	Runs       []Run                `json:"runs,omitempty"`       // training runs, in order
	Scores     Scores               `json:"scores"`               // held-out
	Raters     *Raters              `json:"raters,omitempty"`     // whether votes are modelled by rater
	Trees      *Trees               `json:"trees,omitempty"`      // whether trees are part of the model
	References *evaluate.References `json:"references,omitempty"` // fitted reference models, for evaluation
	Warnings   []evaluate.Message   `json:"warnings,omitempty"`   //
}

// Origin describes the model that training started from, and what has changed since.
type Origin struct {
	Model        string  `json:"model"`                   // SHA-256 of its file
	Data         string  `json:"data"`                    // SHA-256 of the data set that it was trained on
	Known        bool    `json:"known"`                   // the data were available, so the following fields are set
	NewItems     int     `json:"new_items,omitempty"`     // items that were not in those data
	GoneItems    int     `json:"gone_items,omitempty"`    // items that are only in those data
	AddedVotes   float64 `json:"added_votes,omitempty"`   // also on items that are not new
	RemovedVotes float64 `json:"removed_votes,omitempty"` // also on items that are gone
	// The negative log-likelihood per vote before and after, in nats, on items that the
	// networks of neither model were trained on. RatersBefore and RatersNow report whether the models
	// have a rater model: the likelihood of a vote depends on who cast it then.
	Items  int     `json:"items,omitempty"`
	Votes  float64 `json:"votes,omitempty"`
	Before float64 `json:"before,omitempty"`
	After  float64 `json:"after,omitempty"`

	RatersBefore bool `json:"raters_before,omitempty"`
	RatersNow    bool `json:"raters_now,omitempty"`
}

// Split counts the items by their use in training.
type Split struct {
	Items   int     `json:"items"`    // all items given
	Unvoted int     `json:"unvoted"`  // items without votes, which are not used
	Votes   float64 `json:"votes"`    // all votes
	Folds   int     `json:"folds"`    // folds that took turns to be held out; 0 if one set was held out throughout
	HeldOut int     `json:"held_out"` // items held out throughout
}

// Run is the training of one network.
type Run struct {
	Name    string  `json:"name"`   // "member 0", "fold 3", "refit"
	Items   int     `json:"items"`  // trained on
	Held    int     `json:"held"`   // held out
	Epoch   int     `json:"epoch"`  // epoch whose weights were kept; 0 is the start
	Reason  string  `json:"reason"` // why this one
	History []Epoch `json:"history"`
}

// Epoch is one pass over the training items. Losses are joint negative
// log-likelihoods per vote, in nats, of the mixture; other methods have their own loss per vote and
// their own criterion for the held-out items.
type Epoch struct {
	Epoch   int      `json:"epoch"`              // from 1
	Loss    float64  `json:"loss"`               // on the training items, while they were trained on
	HeldOut *float64 `json:"held_out,omitempty"` // on the held-out items, after
	Rate    float64  `json:"rate"`               // learning rate at the end
	Clamped float64  `json:"clamped,omitempty"`  // share of log α beyond the limit
	Note    string   `json:"note,omitempty"`     // what happened, such as a recovery from divergence
}

// Scores are the scores of predictions for items that the predicting networks
// were not trained on.
type Scores struct {
	Items           int     `json:"items"`
	Votes           float64 `json:"votes"`
	NLLPerVote      float64 `json:"nll_per_vote"`      // joint; 0 if the method predicts no distribution
	ConstantPerVote float64 `json:"constant_per_vote"` // one Dirichlet for all items, fitted to the same votes; without distributions one probability, and marginal
	Accuracy        float64 `json:"accuracy"`          // the predicted class is a most-voted one, ties shared
	MarginalPerVote float64 `json:"marginal_per_vote"` // votes taken one by one
}

// Trees records whether trees are blended with the networks, and why.
type Trees struct {
	Share  float64          `json:"share"` // λ
	Reason evaluate.Message `json:"reason"`
	// Gain is the reduction of the held-out joint loss per vote by the blend of single networks and forests, compared with
	// networks alone, GainSE its standard error, paired by item or group; both are 0 if they were not compared.
	Gain   float64 `json:"gain,omitempty"`
	GainSE float64 `json:"gain_se,omitempty"`
	Trees  []int   `json:"trees,omitempty"` // number of trees of each forest that was grown, by run
}

// Raters records whether the model has a rater model, and why.
type Raters struct {
	Known  bool             `json:"known"`
	Reason evaluate.Message `json:"reason"`
	// Gain is the reduction of the held-out joint loss per vote by the rater model, GainSE its standard
	// error, paired by item; both are 0 if the losses were not compared.
	Gain   float64 `json:"gain,omitempty"`
	GainSE float64 `json:"gain_se,omitempty"`
	// Left are raters that are not modelled although others are: their votes count as those of average
	// raters. It is nil if there are none.
	Left *evaluate.LeftRaters `json:"left,omitempty"`
}
