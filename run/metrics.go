package run

import (
	"credence/evaluate"
	"credence/model"
	"credence/train"
)

// Metrics is the content of metrics.json.
type Metrics struct {
	Version    string             `json:"version"`
	Method     string             `json:"method,omitempty"` // if not the mixture
	Seed       uint64             `json:"seed"`
	Data       string             `json:"data"`
	Classes    []string           `json:"classes"`
	Items      int                `json:"items"`
	Votes      float64            `json:"votes"`
	Networks   int                `json:"networks"`
	Parameters int                `json:"parameters"`
	From       *model.Origin      `json:"from,omitempty"` // the model that training started from
	HeldOut    HeldOutMetrics     `json:"held_out"`
	Runs       []NetworkMetric    `json:"runs"`
	Warnings   []evaluate.Message `json:"warnings"`
}

// HeldOutMetrics are the model's scores on held-out votes, and those of the
// references on the same.
type HeldOutMetrics struct {
	Items       int      `json:"items"`
	Votes       float64  `json:"votes"`
	NLL         *float64 `json:"nll_per_vote"` // null without distributions
	MarginalNLL float64  `json:"marginal_nll_per_vote"`
	Accuracy    float64  `json:"accuracy"`
	evaluate.ReferenceScores
}

// NetworkMetric is how the training of one network went.
type NetworkMetric struct {
	Name   string `json:"name"`
	Items  int    `json:"items"`
	Held   int    `json:"held"`
	Epochs int    `json:"epochs"`
	Epoch  int    `json:"kept_epoch"`
	Reason string `json:"reason"`
}

func newMetrics(result *train.Result) *Metrics {
	m := result.Model
	p := &m.Provenance
	t := &Metrics{
		Version: p.Version, Seed: p.Seed, Data: p.Data, Classes: m.Classes,
		Items: p.Split.Items - p.Split.Unvoted, Votes: p.Split.Votes,
		Networks: len(m.Members), Parameters: m.Size(), From: p.From,
		HeldOut: HeldOutMetrics{Items: p.Scores.Items, Votes: p.Scores.Votes, NLL: &p.Scores.NLLPerVote,
			MarginalNLL: p.Scores.MarginalPerVote, Accuracy: p.Scores.Accuracy},
		Warnings: append([]evaluate.Message{}, p.Warnings...),
	}
	if result.References != nil {
		t.HeldOut.ReferenceScores = *result.References
	}
	if !m.Traits().Joint {
		t.Method, t.HeldOut.NLL = m.Method.Name(), nil
	}
	for _, r := range p.Runs {
		t.Runs = append(t.Runs, NetworkMetric{r.Name, r.Items, r.Held, len(r.History), r.Epoch, r.Reason})
	}
	return t
}
