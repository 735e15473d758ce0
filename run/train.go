// Package run manages the folder of a training run: it writes and reads the files of
// the command line, for programs that do the same.
//
//   - [Train] trains on a data set and writes the model, the metrics, the history
//     and a report to a [Folder]; a run that was stopped can be resumed, and ends with
//     the same bytes.
//   - [TrainMember] trains one network of the ensemble, possibly on another machine;
//     [Train] with the results of all members ([ReadMembers]) joins them into a run, with
//     the bytes that a single process would have written.
//   - [Load] reads the model of a folder, or a model file. [Folder.Split] selects the
//     items of one split, [Folder.Seen] counts those used in training.
//   - [Input] collects the predictions of a model for a data set and the votes to evaluate them
//     with, for package evaluate; [ReportInput] makes the input of package report from it.
//   - [Verify] repeats a run and compares the models byte by byte.
//
// A folder contains:
//
//	model.credence  the model
//	config.yaml     configuration of the run, written by the caller
//	metrics.json    scores on held-out votes, and those of simple reference models
//	history.csv     the losses of every epoch
//	report.html     the scores with figures and explanations
//	split.csv       the split that each item is in, if there is one
//	checkpoint/     the state of a run that has not ended
//	member-0/ …     members that were trained by separate processes
//	.lock           the process that is writing into the folder
//
// Files are written atomically, and only one process at a time may write into a
// folder: others get [ErrInUse]. Except for the lock, no file contains a clock time, a
// host or a number of cores, so that equal runs give equal bytes.
package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"

	"credence/evaluate"
	"credence/internal/atomicfile"
	"credence/internal/words"
	"credence/model"
	"credence/train"
	"credence/tree"
)

// Options controls how a run is trained and recorded.
type Options struct {
	Mode Mode
	Fit  train.Options // with the results of all members, to join them
	// Config writes config.yaml: once before training, with chosen nil, and
	// again with the options that the fit has chosen.
	Config func(w io.Writer, chosen *train.Options) error
	// Command is the command that repeats the run, for the report.
	Command string
}

// Trained is the result of a run.
type Trained struct {
	*train.Result
	Metrics *Metrics

	raters   *evaluate.RaterReport   // nil if votes name no raters
	suspects *evaluate.SuspectReport // nil for methods without distributions
}

// Train trains on the items of d for training and writes the files of the run into
// the folder. o.Mode determines which folders it accepts; see [Folder.Check]. No other
// process can write into the folder meanwhile.
//
// When ctx is canceled, the error is train.ErrStopped. If any network has
// finished an epoch, the best model so far is written and returned with it, without a report, and
// the run can be resumed.
func Train(ctx context.Context, folder Folder, d *Partition, o Options) (*Trained, error) {
	if err := folder.Check(o.Mode); err != nil {
		return nil, err
	}
	lock, err := folder.lock()
	if err != nil {
		return nil, err
	}
	t, err := trainLocked(ctx, folder, lock, d, o)
	if failed := lock.Release(); err == nil && failed != nil {
		return nil, failed
	}
	if t == nil {
		os.Remove(string(folder)) // only if it is empty
	}
	return t, err
}

// trainLocked is Train in a folder that this process has locked.
func trainLocked(ctx context.Context, folder Folder, lock *atomicfile.Lock, d *Partition, o Options) (*Trained, error) {
	// Another run may have used the folder since it was checked.
	if err := folder.check(o.Mode); err != nil {
		return nil, err
	}
	if err := folder.open(&o); err != nil {
		return nil, err
	}
	if err := folder.writeSplit(d); err != nil {
		return nil, err
	}
	fit := o.Fit
	fit.Held = d.Held
	fit.Checkpoint, fit.Resume = folder.checkpoints(), o.Mode == Resume || o.Mode == Join
	result, err := train.Fit(ctx, d.Learn, fit)
	if !lock.Holds() { // it may hold another run now, which may have made a checkpoint fail
		return nil, errors.Join(
			fmt.Errorf("%s was removed or replaced while its run was trained: the model is not written", folder), err)
	}
	if result == nil {
		folder.abandon()
		return nil, err
	}
	t := &Trained{Result: result, Metrics: newMetrics(result)}
	if failed := t.save(ctx, folder, d, &o); failed != nil && !errors.Is(failed, train.ErrStopped) {
		return nil, failed
	} else if err = cmp.Or(err, failed); err != nil {
		return t, err
	}
	return t, train.RemoveCheckpoint(folder.checkpoints())
}

// save writes the files of the run. Suspect votes and the report are last: a run that was stopped
// has none.
func (t *Trained) save(ctx context.Context, folder Folder, d *Partition, o *Options) error {
	for _, step := range []func() error{
		func() error { return folder.writeConfig(o, &t.Options) },
		func() error { return folder.writeHistory(t.Model.Provenance.Runs) },
		func() error { return folder.WriteMetrics(t.Metrics) },
		func() error { return t.writeRaters(folder, d) },
		func() error { return t.Model.Save(folder.Path(ModelFile)) },
		func() error { return t.writeSuspects(ctx, folder, d) },
		func() error { return t.writeReport(ctx, folder, d, o.Command) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// Metrics is the content of metrics.json.
type Metrics struct {
	Version    string             `json:"version"`
	Method     string             `json:"method,omitempty"` // unless it is the mixture
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

// HeldOutMetrics are the scores of the model on held-out votes, and those of the
// reference models on the same votes.
type HeldOutMetrics struct {
	Items       int      `json:"items"`
	Votes       float64  `json:"votes"`
	NLL         *float64 `json:"nll_per_vote"` // null without distributions
	MarginalNLL float64  `json:"marginal_nll_per_vote"`
	Accuracy    float64  `json:"accuracy"`
	evaluate.ReferenceScores
}

// NetworkMetric summarizes the training of one network.
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

// Verification is the result of repeating a run.
type Verification struct {
	Recorded, Repeated string // SHA-256 sums of the model files
	// Difference describes the first difference; it is nil if the files are equal.
	Difference error
}

// DifferenceError reports what differs from the recorded run when a run is repeated: the
// data, the kernel, the version, the configuration or the model to start from.
type DifferenceError struct {
	Folder             Folder
	What               string
	Recorded, Repeated string
}

// Error describes the difference.
func (e *DifferenceError) Error() string {
	return fmt.Sprintf("%s does not repeat: %s: recorded %s, found %s", e.Folder, e.What, e.Recorded, e.Repeated)
}

// Verify repeats a run in a temporary folder, with the options and the data that
// it had, and compares the two model files byte by byte. The run itself is not
// changed. If the data are not those of the run, Verify returns a [DifferenceError]
// without training. When ctx is canceled the error is train.ErrStopped.
func Verify(ctx context.Context, folder Folder, d *Partition, o Options) (*Verification, error) {
	recorded, err := Load(string(folder))
	if err != nil {
		return nil, err
	}
	if folder.Unfinished() {
		return nil, fmt.Errorf("%s: %w", folder, ErrUnfinished)
	}
	found, err := d.Learn.Hash()
	if err != nil {
		return nil, err
	}
	if want := recorded.Provenance.Data; found != want {
		return nil, &DifferenceError{folder, "data", "sha256 " + want, "sha256 " + found}
	}
	if err := sameStart(folder, recorded, o.Fit.From); err != nil {
		return nil, err
	}
	temporary, err := os.MkdirTemp("", "credence-verify-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temporary)
	again := Folder(filepath.Join(temporary, "run"))
	o.Mode = New
	if _, err := Train(ctx, again, d, o); errors.Is(err, train.ErrStopped) {
		return nil, fmt.Errorf("%w: nothing was verified", train.ErrStopped)
	} else if err != nil {
		return nil, err
	}
	v := &Verification{}
	if v.Recorded, err = folder.sum(ModelFile); err != nil {
		return nil, err
	}
	if v.Repeated, err = again.sum(ModelFile); err != nil || v.Recorded == v.Repeated {
		return v, err
	}
	repeated, err := model.Load(again.Path(ModelFile))
	if err != nil {
		return nil, err
	}
	v.Difference = firstDifference(folder, recorded, repeated)
	return v, nil
}

// firstDifference returns an error that describes the first difference between two models
// and, if it is not in the weights, whether the weights differ too.
func firstDifference(folder Folder, a, b *model.Model) error {
	p, q := &a.Provenance, &b.Provenance
	weights := weightDifference(a, b)
	same := "; the weights are equal"
	if weights != nil {
		same = "; the weights differ too"
	}
	for _, c := range []struct{ what, recorded, repeated string }{
		{"data", p.Data, q.Data},
		{"kernel", p.Kernel, q.Kernel},
		{"version", p.Version, q.Version},
		{"configuration", string(p.Config), string(q.Config)},
	} {
		if c.recorded != c.repeated {
			return fmt.Errorf("%w%s", &DifferenceError{folder, c.what, c.recorded, c.repeated}, same)
		}
	}
	if weights != nil {
		return fmt.Errorf("%s does not repeat: %w", folder, weights)
	}
	return fmt.Errorf("%s does not repeat: the weights are equal, but the training records differ", folder)
}

// weightDifference returns an error that describes the first weight that differs, nil if none does.
func weightDifference(a, b *model.Model) error {
	if len(a.Members) != len(b.Members) {
		return fmt.Errorf("networks: recorded %d, found %d", len(a.Members), len(b.Members))
	}
	for i := range a.Members {
		x := slices.Concat(a.Members[i].Params, a.Members[i].States)
		y := slices.Concat(b.Members[i].Params, b.Members[i].States)
		if len(x) != len(y) {
			return fmt.Errorf("network %d: recorded %d tensors, found %d", i, len(x), len(y))
		}
		for k := range x {
			if x[k].Name != y[k].Name || len(x[k].Value) != len(y[k].Value) {
				return fmt.Errorf("network %d: recorded tensor %s %v, found %s %v", i, x[k].Name, x[k].Shape, y[k].Name, y[k].Shape)
			}
			for at, v := range x[k].Value {
				if w := y[k].Value[at]; math.Float32bits(v) != math.Float32bits(w) {
					return fmt.Errorf("weights: network %d, %s[%d]: recorded %v, found %v", i, x[k].Name, at, v, w)
				}
			}
		}
	}
	return treeDifference(a.Trees, b.Trees)
}

// treeDifference returns an error that describes the first forest that differs, nil if none does.
func treeDifference(a, b *tree.Blend) error {
	share := func(b *tree.Blend) float64 {
		if b == nil {
			return 0
		}
		return b.Share
	}
	if share(a) != share(b) {
		return fmt.Errorf("share of trees: recorded %v, found %v", share(a), share(b))
	}
	if a == nil {
		return nil
	}
	for i := range a.Forests {
		x, y := a.Forests[i], b.Forests[i]
		if x.Trees() != y.Trees() {
			return fmt.Errorf("forest %d: recorded %s, found %d", i, words.Plural(x.Trees(), "tree"), y.Trees())
		}
		for k, array := range x.Arrays() {
			if !slices.Equal(array.Values, y.Arrays()[k].Values) {
				return fmt.Errorf("forest %d: %s differ", i, array.Name)
			}
		}
	}
	return nil
}
