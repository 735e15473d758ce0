package model

import (
	"encoding/json"

	"credence/evaluate"
)

// Provenance is everything a model depends on, and what was seen while it was
// trained. It holds no clock, host, path or number of threads: equal runs give
// equal files.
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
	Raters     *Raters              `json:"raters,omitempty"`     // whether who cast a vote matters
	References *evaluate.References `json:"references,omitempty"` // fitted reference models, for evaluation
	Warnings   []evaluate.Message   `json:"warnings,omitempty"`   //
}

// Origin is a model that training started from, and what changed since.
type Origin struct {
	Model        string  `json:"model"`                   // SHA-256 of its file
	Data         string  `json:"data"`                    // SHA-256 of the data set that it was trained on
	Known        bool    `json:"known"`                   // these data were at hand, so what follows is known
	NewItems     int     `json:"new_items,omitempty"`     // that were not among them
	GoneItems    int     `json:"gone_items,omitempty"`    // that only they had
	AddedVotes   float64 `json:"added_votes,omitempty"`   // also on items that are not new
	RemovedVotes float64 `json:"removed_votes,omitempty"` // also on items that are gone
	// The negative log-likelihood per vote before and after, in nats, on items that the
	// networks of neither model were trained on. RatersBefore and RatersNow are whether the models
	// know raters: what a model knows of who cast a vote is part of what it predicts.
	Items  int     `json:"items,omitempty"`
	Votes  float64 `json:"votes,omitempty"`
	Before float64 `json:"before,omitempty"`
	After  float64 `json:"after,omitempty"`

	RatersBefore bool `json:"raters_before,omitempty"`
	RatersNow    bool `json:"raters_now,omitempty"`
}

// Split says how many items served for what.
type Split struct {
	Items   int     `json:"items"`    // all items given
	Unvoted int     `json:"unvoted"`  // of them without votes: not used
	Votes   float64 `json:"votes"`    // all votes
	Folds   int     `json:"folds"`    // parts that took turns to be held out; 0 if one part was held out for good
	HeldOut int     `json:"held_out"` // items held out for good
}

// Run is the training of one network.
type Run struct {
	Name    string  `json:"name"`   // "member 0", "fold 3", "refit"
	Items   int     `json:"items"`  // trained on
	Held    int     `json:"held"`   // held out
	Epoch   int     `json:"epoch"`  // whose weights were kept; 0 is the start
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

// Scores are those of predictions for items that the predicting networks were
// not trained on.
type Scores struct {
	Items           int     `json:"items"`
	Votes           float64 `json:"votes"`
	NLLPerVote      float64 `json:"nll_per_vote"`      // joint; 0 if the method gives no distribution
	ConstantPerVote float64 `json:"constant_per_vote"` // one Dirichlet for all items, fitted to the same votes; without distributions one probability, and marginal
	Accuracy        float64 `json:"accuracy"`          // the predicted class is a most-voted one, ties shared
	MarginalPerVote float64 `json:"marginal_per_vote"` // votes taken one by one
}

// Raters says whether the likelihood knows raters, and why.
type Raters struct {
	Known  bool             `json:"known"`
	Reason evaluate.Message `json:"reason"`
	// Gain is by how much the held-out joint loss per vote is smaller with raters, GainSE its standard
	// error, paired by item; both are 0 if it was not compared.
	Gain   float64 `json:"gain,omitempty"`
	GainSE float64 `json:"gain_se,omitempty"`
	// Left are the raters who are not modelled where others are: their votes count as those of average
	// raters. Nil if there are none.
	Left *evaluate.LeftRaters `json:"left,omitempty"`
}
