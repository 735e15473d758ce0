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
	if res.Model.Provenance.References, err = evaluate.FitReferences(ctx, f.ds, f.transform, f.o.Seed); err == nil {
		scored := make([]bool, f.ds.Len())
		for j := range scored {
			scored[j] = res.OutOfFold[j] != nil
		}
		res.References, err = evaluate.ScoreReferences(ctx, f.ds, f.transform, scored, f.folds > 0, f.o.Seed)
	}
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w: all networks are trained, but the references are not fitted", ErrStopped)
	}
	return err
}
