package study

import (
	"context"
	"fmt"

	"credence/dataset"
	"credence/evaluate"
	"credence/internal/par"
	"credence/internal/rng"
	"credence/mixture"
	"credence/model"
	predictions "credence/predict"
	"credence/train"
)

// Judges measures what machine judges are worth as features: the coverage and width of intervals in a simulation of judges who
// err together, next to a model that knows how they err, and the loss on public sets of votes by people and judges.
type Judges struct {
	Seeds []uint64 `json:"seeds"`
	Fresh int      `json:"fresh"` // items that are judged in the simulation
	// Data is a folder with the public sets, empty for the simulation alone; Sets are those found there.
	Data string   `json:"-"`
	Sets []string `json:"sets"`
	// SetSeeds are the splits of the public sets.
	SetSeeds []uint64 `json:"set_seeds"`

	sets []*judgedSet
}

// NewJudges returns the study.
func NewJudges(data string, quick bool, seed uint64, seeds int) *Judges {
	s := &Judges{Fresh: 1000, Data: data}
	splits := 4
	if quick {
		seeds, splits, s.Fresh = 1, 1, 200
	}
	for i := range seeds {
		s.Seeds = append(s.Seeds, seed+uint64(i))
	}
	for i := range splits {
		s.SetSeeds = append(s.SetSeeds, seed+uint64(i))
	}
	return s
}

// judgesCases are the designs of the simulation: items with votes of people, and τ.
var judgesCases = []struct {
	items int
	tau   float64
}{{60, 1}, {60, 2}, {300, 1}, {300, 2}}

// judgesSizes are the numbers of items with votes of people on the public sets.
var judgesSizes = []int{60, 200}

const simulatedPeople, simulatedJudges = 3, 5

// Name implements [Study].
func (s *Judges) Name() string { return "judges" }

// Prepare implements [Study].
func (s *Judges) Prepare(context.Context, *Folder) (int, error) {
	if s.Data != "" {
		var err error
		if s.sets, err = readJudgedSets(s.Data); err != nil {
			return 0, err
		}
	}
	s.Sets = nil
	for _, x := range s.sets {
		s.Sets = append(s.Sets, x.name)
	}
	return len(judgesCases)*len(s.Seeds) + len(s.sets)*len(judgesSizes)*len(s.SetSeeds), nil
}

// judgesOutcome is the result of one simulation: of the model, and of the model that knows how judges err.
type judgesOutcome struct {
	At95   float64 `json:"at_95"`
	Width  float64 `json:"width"`
	Known  float64 `json:"shared_at_95"`
	KWidth float64 `json:"shared_width"`
}

// judgedLoss is the joint loss per vote of people on items without shown votes, with judges and by the votes of people alone.
type judgedLoss struct {
	Loss   float64 `json:"nll_per_vote"`
	People float64 `json:"people_nll_per_vote"`
}

// Measure implements [Study].
func (s *Judges) Measure(ctx context.Context, f *Folder) (Results, error) {
	r := &judgesResult{Study: s, simulated: make([]judgesOutcome, len(judgesCases)*len(s.Seeds)),
		losses: make([]judgedLoss, len(s.sets)*len(judgesSizes)*len(s.SetSeeds))}
	err := each(len(r.simulated), par.Threads(), func(i int) (err error) {
		c, seed := judgesCases[i/len(s.Seeds)], s.Seeds[i%len(s.Seeds)]
		r.simulated[i], err = piece(ctx, f, fmt.Sprintf("%d items, tau %v, seed %d", c.items, c.tau, seed),
			func(ctx context.Context) (judgesOutcome, error) { return s.simulate(ctx, c.items, c.tau, seed) })
		return err
	})
	if err != nil {
		return nil, err
	}
	err = each(len(r.losses), par.Threads(), func(i int) (err error) {
		k := len(s.SetSeeds)
		set, size, seed := s.sets[i/k/len(judgesSizes)], judgesSizes[i/k%len(judgesSizes)], s.SetSeeds[i%k]
		r.losses[i], err = piece(ctx, f, fmt.Sprintf("%s, %d items, split %d", set.name, size, seed),
			func(ctx context.Context) (judgedLoss, error) { return set.measure(ctx, size, seed) })
		return err
	})
	return r, err
}

// sharedDataset returns simulated items as data: judges are features, and people's votes unnamed.
func sharedDataset(items []sharedItem) *dataset.Dataset {
	rows := &dataset.Memory{N: len(items), W: simulatedJudges}
	ds := &dataset.Dataset{Classes: []string{"no", "yes"}, Rows: rows}
	for j := range simulatedJudges {
		ds.Features = append(ds.Features, dataset.Feature{Name: fmt.Sprint("judge ", j), Kind: dataset.Categorical, Levels: ds.Classes, Judge: true})
	}
	for i, x := range items {
		ds.Items = append(ds.Items, fmt.Sprint(i))
		for j := range simulatedJudges {
			rows.Values = append(rows.Values, float32(x.judges>>j&1))
		}
		ds.Counts = append(ds.Counts, float32(x.all-x.yes), float32(x.yes))
	}
	return ds
}

// simulate fits both models to items with votes of people and judges, and judges their intervals on fresh items with votes of judges.
func (s *Judges) simulate(ctx context.Context, items int, tau float64, seed uint64) (judgesOutcome, error) {
	var out judgesOutcome
	r := rng.New(seed, "judges", uint64(items), uint64(tau))
	learn := drawSharedItems(items, simulatedPeople, simulatedJudges, tau, r)
	fresh := drawSharedItems(s.Fresh, simulatedPeople, simulatedJudges, tau, r)
	res, err := train.Fit(ctx, sharedDataset(learn), train.Options{Seed: seed})
	if err != nil {
		return out, err
	}
	list, err := res.Model.Predict(ctx, sharedDataset(fresh), model.PredictOptions{})
	if err != nil {
		return out, err
	}
	known := fitSharedErrors(learn, simulatedJudges)
	share := 1 / float64(len(fresh))
	for i, x := range fresh {
		p := sigmoid(x.z)
		in := list[i].Reported().Class(1).Interval(mixture.TwoSided, 0.95)
		lo, hi := known.interval(x.judges)
		out.Width += share * (in.Hi - in.Lo)
		out.KWidth += share * (hi - lo)
		if in.Lo <= p && p <= in.Hi {
			out.At95 += share
		}
		if lo <= p && p <= hi {
			out.Known += share
		}
	}
	return out, nil
}

// measure trains on some items, with up to three votes of people each, and returns the loss of the votes on all others.
func (x *judgedSet) measure(ctx context.Context, items int, seed uint64) (judgedLoss, error) {
	learn, rest := x.split(items, seed)
	res, err := train.Fit(ctx, learn, train.Options{Seed: seed})
	if err != nil {
		return judgedLoss{}, fmt.Errorf("%s: %w", x.name, err)
	}
	m := res.Model
	in := evaluate.NewInput(rest)
	in.RaterModel, in.RaterNames = m.RaterModel, m.Raters
	if in.Predictions, err = m.Predict(ctx, rest, model.PredictOptions{}); err != nil {
		return judgedLoss{}, err
	}
	if in.Ratings, err = predictions.Ratings(m, rest); err != nil {
		return judgedLoss{}, err
	}
	if in.References, err = m.Provenance.References.Score(rest, m.Transform); err != nil {
		return judgedLoss{}, err
	}
	r, err := evaluate.Evaluate(*in, evaluate.Options{Bootstrap: evaluate.Bootstrap{Replicates: 2}})
	if err != nil {
		return judgedLoss{}, err
	}
	return judgedLoss{float64(r.NLL.Value), float64(r.ConstantDMNLL.Value)}, nil
}
