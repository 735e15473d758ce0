package study

import (
	"context"
	"fmt"
	"math"

	"credence/evaluate"
	"credence/head"
	"credence/internal/simulation"
	"credence/model"
	"credence/train"
)

// trial is a set of settings that a rival could choose.
type trial struct {
	Design    simulation.Design `json:"design"`
	Method    string            `json:"method"`
	Settings  string            `json:"settings"`
	Criterion evaluate.Number   `json:"criterion"` // its own, held out; smaller is better
	Chosen    bool              `json:"chosen"`
}

// criterion is the held-out measure of each network as it was kept, averaged: the
// joint loss per vote of a mixture, a rival's own criterion. It is NaN if nothing
// was held out.
func criterion(m *model.Model) float64 {
	var held []float64
	for _, run := range m.Provenance.Runs {
		for _, e := range run.History {
			if e.Epoch == run.Epoch && e.HeldOut != nil {
				held = append(held, *e.HeldOut)
			}
		}
	}
	return mean(held)
}

func keptEpochs(m *model.Model) []int {
	var epochs []int
	for _, run := range m.Provenance.Runs {
		epochs = append(epochs, run.Epoch)
	}
	return epochs
}

// tuneNetworks is the number of networks that try each setting, each of which holds out
// another fold: an annealed network by itself would be trained on all items.
const tuneNetworks = 2

// tune lets each rival choose between its settings on samples of their own: the
// smallest mean of its held-out criterion wins.
func (c Comparison) tune(ctx context.Context, f *Folder, d simulation.Design) (map[string]train.Options, []trial, error) {
	chosen := map[string]train.Options{}
	var trials []trial
	for _, m := range methods {
		chosen[m.key] = m.first()
		if len(m.grid) < 2 || len(c.TuneSeeds) == 0 {
			continue
		}
		best := math.Inf(1)
		at := 0
		for i, settings := range m.grid {
			sum := 0.0
			for _, seed := range c.TuneSeeds {
				key := fmt.Sprintf("%s, seed %d: tuning %s [%s] × %d", d, seed, m.key,
					settingsText(settings), tuneNetworks)
				got, err := piece(ctx, f, key, func(ctx context.Context) (evaluate.Number, error) {
					items, err := simulation.Simulate(d, c.Items[d], c.Votes, seed)
					if err != nil {
						return 0, err
					}
					res, err := train.Fit(ctx, items.Dataset(), c.combine(m, settings, tuneNetworks, seed))
					if err != nil {
						return 0, err
					}
					return evaluate.Number(criterion(res.Model)), nil
				})
				if err != nil {
					return nil, nil, err
				}
				sum += float64(got) / float64(len(c.TuneSeeds))
			}
			trials = append(trials,
				trial{Design: d, Method: m.key, Settings: settingsText(settings), Criterion: evaluate.Number(sum)})
			if sum < best {
				best, at = sum, i
			}
		}
		chosen[m.key] = m.grid[at]
		trials[len(trials)-len(m.grid)+at].Chosen = true
	}
	return chosen, trials, nil
}

// remedies are configurations of the mixture, each a change of the first, that
// were tried against coverage that is too low or too high.
var remedies = []struct {
	name     string
	settings train.Options
	networks int
}{
	{"as fixed", train.Options{}, 5},
	{"8 epochs", train.Options{Schedule: "cosine", Epochs: 8}, 5},
	{"30 epochs", train.Options{Schedule: "cosine", Epochs: 30}, 5},
	{"stopped by held-out votes", train.Options{Patience: 20}, 5},
	{"constant rate, stopped by held-out votes", train.Options{Schedule: "constant", Epochs: 200, Patience: 20}, 5},
	{"three networks", train.Options{}, 3},
	{"one network", train.Options{}, 1},
	{"K = 3", train.Options{Head: head.Mixture{Components: 3}}, 5},
	{"K = 1", train.Options{Head: head.Mixture{Components: 1}}, 5},
	{"two layers of 64", train.Options{Widths: []int{64, 64}}, 5},
	{"two layers of 128", train.Options{Widths: []int{128, 128}}, 5},
	{"two layers of 256", train.Options{Widths: []int{256, 256}}, 5},
	{"weight decay 0.3", train.Options{WeightDecay: 0.3}, 5},
	{"dropout 0.1, weight decay 0.1", train.Options{Dropout: 0.1, WeightDecay: 0.1}, 5},
	{"rate 0.0003", train.Options{Rate: 3e-4}, 5},
	{"rate 0.003", train.Options{Rate: 3e-3}, 5},
	{"ln α within ±5", train.Options{Head: head.Mixture{Limit: 5}}, 5},
}

// remedyResult has the results of a configuration, as means over samples that are
// used for nothing else.
type remedyResult struct {
	Design      simulation.Design `json:"design"`
	Name        string            `json:"name"`
	Criterion   summary           `json:"criterion"` // held-out joint loss per vote
	Correlation summary           `json:"correlation"`
	SDError     summary           `json:"sd_error"`
	Signed      summary           `json:"signed"`       // mean of coverage − nominal over 75…95%
	Gap         evaluate.Number   `json:"gap"`          // mean |coverage − nominal| of the mean over seeds, raw
	ReportedGap evaluate.Number   `json:"reported_gap"` // the same as reported
}

// remedies runs the configurations.
func (c Comparison) remedies(ctx context.Context, f *Folder) ([]remedyResult, error) {
	small := c
	small.Fresh, small.Grid = c.Covered, 2
	var out []remedyResult
	for _, d := range simulation.Designs {
		for _, remedy := range remedies {
			var got []outcome
			for _, seed := range c.RemedySeeds {
				key := fmt.Sprintf("%s, seed %d: remedy %s", d, seed, remedy.name)
				o, err := piece(ctx, f, key, func(ctx context.Context) (outcome, error) {
					s, err := small.sample(d, seed)
					if err != nil {
						return outcome{}, err
					}
					who := contender{method: methodOf("mixture10"), networks: remedy.networks}
					settings := who.method.first()
					overlay(&settings, remedy.settings)
					return small.fit(ctx, s, who, settings, false)
				})
				if err != nil {
					return nil, err
				}
				got = append(got, o)
			}
			r := remedyResult{Design: d, Name: remedy.name}
			r.Criterion = over(got, func(o outcome) float64 { return float64(o.Criterion) })
			r.Correlation = over(got, func(o outcome) float64 { return float64(o.Items.Correlation) })
			r.SDError = over(got, func(o outcome) float64 { return float64(o.Items.SDError) })
			r.Signed = over(got, func(o outcome) float64 { return signedGap(o, false) })
			raw, reported := gaps(got)
			r.Gap, r.ReportedGap = evaluate.Number(raw), evaluate.Number(reported)
			out = append(out, r)
		}
	}
	return out, nil
}
