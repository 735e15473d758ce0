package train

import (
	"context"
	"fmt"

	"credence/evaluate"
)

// references fits the references that the model carries, and scores them on the
// items that the model was scored on.
func (f *fitting) references(ctx context.Context, res *Result) (err error) {
	f.report(Event{Note: "fitting the references"})
	m := res.Model
	if m.Provenance.References, err = evaluate.FitReferences(ctx, f.ds, f.transform, f.o.Seed); err != nil {
		return unfitted(ctx, err)
	}
	scored := make([]bool, f.ds.Len())
	for j := range scored {
		scored[j] = res.OutOfFold[j] != nil
	}
	res.References, err = evaluate.ScoreReferences(ctx, f.ds, f.transform, scored, f.folds > 0, f.o.Seed)
	return unfitted(ctx, err)
}

// unfitted is the error of fitting references: that of a fit that was stopped, if ctx is canceled.
func unfitted(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w: all networks are trained, but the references are not fitted", ErrStopped)
	}
	return err
}
