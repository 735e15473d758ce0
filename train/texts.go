package train

import (
	"context"
	"slices"
)

// learningFromWords is the note of the event that comes before.
const learningFromWords = "learning from words"

// readTexts learns from the documents of the items. Items that take turns to be
// held out by networks are held out from documents in the same folds: what a
// network sees of the items it holds out comes from a fit without their votes.
func (f *fitting) readTexts(ctx context.Context) error {
	if len(f.transform.TextColumns()) == 0 {
		return nil
	}
	f.report(Event{Note: learningFromWords})
	rows, fold := f.voted, f.fold
	held := f.o.Held
	if f.forGood {
		for at, j := range f.voted {
			if f.fold[at] == 0 {
				held = append(held, j)
			}
		}
	}
	if held != nil || !slices.Contains(fold, 0) {
		rows = without(f.voted, held)
		var err error
		if fold, _, err = foldsOf(f.ds, rows, max(2, min(5, len(rows)/2)), f.o.Seed); err != nil {
			return err
		}
	}
	return f.transform.FitText(ctx, f.ds, rows, fold, f.o.ItemWeights)
}
