package study

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"credence/dataset"
	"credence/evaluate"
	"credence/head"
	"credence/mixture"
	"credence/model"
	"credence/nn"
	"credence/train"
)

// levels are those at which coverage is reported.
var adniLevels = []float64{0.75, 0.80, 0.85, 0.90, 0.95}

// adniResult is the result of one fit on one set of labels.
type adniResult struct {
	Seed   uint64 `json:"seed"`
	Labels labels `json:"labels"`

	Trained    int          `json:"trained"`  // scans
	Kept       []int        `json:"kept"`     // epoch of each network
	HeldOut    float64      `json:"heldOut"`  // loss per vote of items held out
	Constant   float64      `json:"constant"` // of one distribution for all
	History    []model.Run  `json:"history"`
	Stages     []stage      `json:"stages"`     // of the network
	Scale      float64      `json:"scale"`      // by which variances are multiplied in what is reported
	Resolution float64      `json:"resolution"` // of what is reported
	Test       []adniScan   `json:"test"`       // the tenth of the subjects
	Fresh      *freshResult `json:"fresh,omitempty"`
	// Raters are the estimated parameters of the instruments, where they are modelled.
	Raters *evaluate.RaterReport `json:"raters,omitempty"`
}

// adniScan is the prediction for one scan.
type adniScan struct {
	Name  string  `json:"name"`
	Group string  `json:"group"`
	Mean  float64 `json:"mean"`
	Lower float64 `json:"lower"` // 95% interval, as reported
	Upper float64 `json:"upper"`
	Truth float64 `json:"truth"` // negative if it is unknown
}

func (s adniScan) width() float64 { return s.Upper - s.Lower }

// options are those of a fit.
func (a *ADNI) options(set labels, seed uint64) (train.Options, error) {
	if set == shipped {
		return train.Options{NoReferences: true, Seed: seed, Engine: a.Engine}, nil
	}
	raters := "off"
	if set == modelled {
		raters = "on"
	}
	augment, err := train.ParseAugment(a.Augment)
	return train.Options{
		NoReferences: true, Raters: raters, Engine: a.Engine,
		Network: "cnn3d", Head: head.Mixture{Components: a.Components}, Batch: a.Batch,
		Rate: a.Rate, Schedule: a.Schedule, WeightDecay: a.Decay, Epochs: a.Epochs, Patience: a.Patience,
		Ensemble: a.Ensemble, Seed: seed, Augment: augment,
	}, err
}

// division is the split of the scans into training and test. No subject is in both.
type division struct {
	learn, test []int
	// held are those of learn, by place, that a single network stops by; an
	// ensemble holds out folds instead.
	held []int
}

// divide keeps a tenth of the subjects for the test, and for a single network
// some of the others to stop by.
func (a *ADNI) divide(ds *dataset.Dataset, set labels, seed uint64) (*division, error) {
	o := dataset.SplitOptions{Validation: -1, Test: 0.1, Seed: seed}
	if a.Ensemble == 1 && set != shipped {
		o.Validation = 0.15
	}
	split, err := dataset.NewSplit(ds, o)
	if err != nil {
		return nil, err
	}
	d := &division{learn: slices.Sorted(slices.Values(slices.Concat(split.Train, split.Validation))), test: split.Test}
	for at, j := range d.learn {
		if _, found := slices.BinarySearch(split.Validation, j); found {
			d.held = append(d.held, at)
		}
	}
	return d, nil
}

// measure trains on nine tenths of the subjects and evaluates on the others and on
// fresh ones.
func (a *ADNI) measure(ctx context.Context, c *adniCohort, set labels) (result *adniResult, err error) {
	s, err := c.open(ctx, set)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	parts, err := a.divide(s.study, set, c.seed)
	if err != nil {
		return nil, err
	}
	o, err := a.options(set, c.seed)
	if err != nil {
		return nil, err
	}
	o.Held = parts.held
	o.Checkpoint = c.folder.Path(filepath.Join(piecesFolder, strings.ReplaceAll(fmt.Sprintf("fit-%d-%s", c.seed, set), ", ", "-")))
	o.Resume = true
	o.Progress = func(e train.Event) {
		if c.folder.Progress != nil && e.Done == 0 {
			c.folder.Progress(c.folder.done, c.folder.total,
				fmt.Sprintf("seed %d, %s: %s, epoch %d of at most %d, held-out loss %.4f",
					c.seed, set, e.Run, e.Epoch, e.Epochs, e.HeldOut))
		}
	}
	fit, err := train.Fit(ctx, s.study.Select(parts.learn), o)
	if err != nil {
		return nil, err
	}
	m := fit.Model
	m.Engine = a.Engine
	p := &m.Provenance
	result = &adniResult{Seed: c.seed, Labels: set, Trained: len(parts.learn),
		HeldOut: p.Scores.NLLPerVote, Constant: p.Scores.ConstantPerVote,
		History: p.Runs, Scale: m.Calibration.Scale, Resolution: m.Calibration.Resolution}
	for _, r := range p.Runs {
		result.Kept = append(result.Kept, r.Epoch)
	}
	if m.RaterModel != nil {
		result.Raters = evaluate.DescribeRaters(s.study.Select(parts.learn), m.RaterModel, m.Raters)
	}
	if result.Stages, err = stagesOf(m.Members[0].Layers(), model.InputShape(m.Transform)); err != nil {
		return nil, err
	}
	test := s.study.Select(parts.test)
	got, err := m.Predict(context.Background(), test, model.PredictOptions{})
	if err != nil {
		return nil, err
	}
	for i := range got {
		truth := -1.0
		if s.truth != nil {
			truth = s.truth[parts.test[i]]
		}
		result.Test = append(result.Test, scanOf(&got[i], test.Items[i], test.CountsOf(i), truth))
	}
	if s.fresh != nil {
		if result.Fresh, err = freshOf(m, s); err != nil {
			return nil, err
		}
	}
	return result, train.RemoveCheckpoint(o.Checkpoint)
}

// scanOf returns the reported numbers of a prediction.
func scanOf(a *head.Decoded, name string, counts []float32, truth float64) adniScan {
	in := a.Reported().Class(1).Interval(mixture.TwoSided, 0.95)
	return adniScan{Name: name, Group: groupOf(counts), Mean: a.Mean[1], Lower: in.Lo, Upper: in.Hi, Truth: truth}
}

// slowFit is the result of some epochs at the paper's learning rate.
type slowFit struct {
	Epochs   int     `json:"epochs"`
	First    float64 `json:"first"` // loss per vote, on the scans trained on, in the first epoch
	Last     float64 `json:"last"`
	Constant float64 `json:"constant"`
	Accuracy float64 `json:"accuracy"`
}

// paperRate trains one network with the paper's learning rate.
func (a *ADNI) paperRate(ctx context.Context, c *adniCohort) (result *slowFit, err error) {
	s, err := c.open(ctx, instruments)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	o, err := a.options(instruments, c.seed)
	if err != nil {
		return nil, err
	}
	o.Rate, o.Schedule, o.Epochs, o.Patience, o.Ensemble = paperRate, "constant", a.PaperEpochs, -1, 1
	parts, err := a.divide(s.study, instruments, c.seed)
	if err != nil {
		return nil, err
	}
	fit, err := train.Fit(ctx, s.study.Select(parts.learn), o)
	if err != nil {
		return nil, err
	}
	runs := fit.Model.Provenance.Runs
	h := runs[len(runs)-1].History
	test := s.study.Select(parts.test)
	got, err := fit.Model.Predict(context.Background(), test, model.PredictOptions{})
	if err != nil {
		return nil, err
	}
	result = &slowFit{Epochs: len(h), First: h[0].Loss, Last: h[len(h)-1].Loss,
		Accuracy: majorityAccuracy(got, test)}
	result.Constant, err = constantLoss(evaluate.NewVotes(test))
	return result, err
}

// constantLoss returns the loss per vote of predicting the shares of all votes for every item.
func constantLoss(v evaluate.Votes) (float64, error) {
	var sum [2]float64
	for i, c := range v.Counts {
		sum[i%2] += c
	}
	n := sum[0] + sum[1]
	if n == 0 {
		return 0, errors.New("no votes")
	}
	loss := 0.0
	for _, s := range sum {
		if s > 0 {
			loss -= s / n * math.Log(s/n)
		}
	}
	return loss, nil
}

// stage is the state of a network between layers; see figures.Stage.
type stage struct {
	Done  []string `json:"done,omitempty"`
	Shape []int    `json:"shape"`
}

// stagesOf describes a network: layers that keep the shape are listed
// together with those that change it.
func stagesOf(root nn.Layer, in nn.Shape) ([]stage, error) {
	list := []nn.Layer{root}
	if s, ok := root.(*nn.Sequential); ok {
		list = s.Layers
	}
	stages := []stage{{Shape: slices.Clone(in)}}
	var done []string
	for i, l := range list {
		if _, flat := l.(*nn.Flatten); flat {
			continue
		}
		if text := layerText(l); text != "" {
			done = append(done, text)
		}
		if i+1 < len(list) && follows(list[i+1]) {
			continue // the picture has one box for a convolution with its pool
		}
		net, err := nn.New(nn.Seq(list[:i+1]...), in, nn.Options{})
		if err != nil {
			return nil, err
		}
		stages = append(stages, stage{Done: done, Shape: slices.Clone(net.Out)})
		done = nil
	}
	return stages, nil
}

// follows reports whether a layer belongs to the box of the one before it.
func follows(l nn.Layer) bool {
	switch l.(type) {
	case *nn.ReLU, *nn.GELU, *nn.Tanh, *nn.Sigmoid, *nn.MaxPool, *nn.AvgPool, *nn.BatchNorm, *nn.LayerNorm, *nn.Dropout:
		return true
	}
	return false
}

func layerText(l nn.Layer) string {
	cube := func(k nn.Ints) string {
		if len(k) == 0 {
			return ""
		}
		return fmt.Sprintf(" %d³", k[0])
	}
	switch l := l.(type) {
	case *nn.Conv:
		return "conv" + cube(l.Kernel)
	case *nn.MaxPool:
		return "max-pool" + cube(l.Size)
	case *nn.Dense:
		return "dense"
	case *nn.ReLU:
		return "ReLU"
	case *nn.Dropout:
		return "dropout"
	}
	return ""
}
