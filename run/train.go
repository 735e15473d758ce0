package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"credence/evaluate"
	"credence/internal/atomicfile"
	"credence/train"
)

// Options says how a run is trained and recorded.
type Options struct {
	Mode Mode
	Fit  train.Options // with the parts of all members, to join them
	// Config writes config.yaml: once before training, when chosen is nil, and
	// once more with the options that the fit has chosen.
	Config func(w io.Writer, chosen *train.Options) error
	// Command repeats the run, for the report.
	Command string
}

// Trained is what a run gives.
type Trained struct {
	*train.Result
	Metrics *Metrics

	raters *evaluate.RaterReport // nil if votes name none
}

// Train trains on what d leaves to training and writes the files of the run into
// the folder. It takes the folder by o.Mode; see [Folder.Check]. No other process
// can write into it meanwhile.
//
// When ctx is canceled, the error is train.ErrStopped. If any network has
// finished an epoch, the best model so far is written and returned with it, without a report, and
// the run can be resumed.
func Train(ctx context.Context, folder Folder, d *Division, o Options) (*Trained, error) {
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

// trainLocked is Train in a folder that this process holds.
func trainLocked(ctx context.Context, folder Folder, lock *atomicfile.Lock, d *Division, o Options) (*Trained, error) {
	// Another run may have come and gone since the folder was checked.
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
	if !lock.Holds() { // what is there now may be another run, and a checkpoint may have failed for it
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

// save writes the files of the run, the report last: one that is stopped has none.
func (t *Trained) save(ctx context.Context, folder Folder, d *Division, o *Options) error {
	for _, step := range []func() error{
		func() error { return folder.writeConfig(o, &t.Options) },
		func() error { return folder.writeHistory(t.Model.Provenance.Runs) },
		func() error { return folder.WriteMetrics(t.Metrics) },
		func() error { return t.writeRaters(folder, d) },
		func() error { return t.Model.Save(folder.Path(ModelFile)) },
		func() error { return t.writeReport(ctx, folder, d, o.Command) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
