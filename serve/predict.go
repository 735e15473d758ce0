package serve

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"

	"credence/dataset"
	"credence/head"
	"credence/internal/par"
	"credence/internal/prediction"
	"credence/internal/table"
	"credence/internal/words"
	"credence/mixture"
	"credence/model"
)

// wanted is what is asked of a prediction.
type wanted struct {
	level   float64
	columns map[string]bool // nil for all that have a meaning
	partial bool            // rows that cannot be predicted are marked, not refused
	rows    int             // at most
	rule    abstention
	votes   *castVotes // on the items, to take into account; nil for none
}

// abstention says on which items to abstain, as the flags of credence predict do: where the predicted
// class's interval is wider than maxWidth, or its p_top smaller than minTop. 0 is no rule.
type abstention struct{ maxWidth, minTop float64 }

func (a abstention) given() bool { return a.maxWidth > 0 || a.minTop > 0 }

func (a abstention) check() error {
	if !(a.maxWidth >= 0 && a.maxWidth <= 1) {
		return badRequest("max_width %v: expected a width between 0 and 1", a.maxWidth)
	}
	if !(a.minTop >= 0 && a.minTop <= 1) {
		return badRequest("min_top %v: expected a probability between 0 and 1", a.minTop)
	}
	return nil
}

func (w *wanted) wants(name string) bool { return w.columns == nil || w.columns[name] }

// told is what is told of N items, a row each.
type told struct {
	of       *served
	items    []string
	bad      []error // nil, or why an item has no prediction
	answers  []head.Answer
	warnings []string
	unlike   dataset.Unlike

	maker *prediction.Maker
	cells []prediction.Cell // [N, columns of the maker]
}

// batchRows is how many items are predicted at a time.
const batchRows = 1024

// tooManyRows is the error of a request with more than n items.
func tooManyRows(n int) error {
	return failf(http.StatusRequestEntityTooLarge, "more than %d rows in a request", n)
}

// predict answers a frame. The values are those of credence predict, bit for bit.
func (s *served) predict(ctx context.Context, t table.Table, w *wanted) (*told, error) {
	opts := dataset.StreamOptions{Batch: batchRows, KeepBad: true, Inline: true, FeatureOptions: s.read.FeatureOptions}
	opts.Ignore = nil
	in, err := dataset.StreamOf(ctx, t, s.parts, opts)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	out := &told{of: s}
	watch := s.model.Transform.NewWatch()
	for batch, err := range in.All() {
		if err != nil {
			return nil, err
		}
		if len(out.items)+batch.Len() > w.rows {
			return nil, tooManyRows(w.rows)
		}
		if err := watch.Add(batch.Dataset, batch.Bad); err != nil {
			return nil, err
		}
		list, err := s.model.Predict(batch.Dataset, model.PredictOptions{KeepBad: true})
		if err != nil {
			return nil, err
		}
		out.items, out.answers = append(out.items, batch.Items...), append(out.answers, list...)
		for j := range list {
			why := list[j].Err
			if batch.Bad != nil && batch.Bad[j] != nil {
				why = batch.Bad[j]
			}
			out.bad = append(out.bad, why)
		}
	}
	out.unlike = watch.Unlike()
	for _, err := range slices.Concat(in.Warnings(), watch.Warnings()) {
		out.warnings = append(out.warnings, err.Error())
	}
	if err := w.votes.update(out); err != nil {
		return nil, err
	}
	for j, err := range out.bad {
		if err != nil && !w.partial {
			return nil, badRequest("item %q has no prediction: %w", out.items[j], err)
		}
	}
	out.tell(w)
	return out, ctx.Err()
}

// tell fills in the cells that are asked for, at the precision of credence predict.
func (t *told) tell(w *wanted) {
	t.maker = prediction.New(t.of.model, prediction.Options{
		Levels: []float64{w.level}, Precision: mixture.SixDigits, Wide: true,
		Top: w.wants("p_top"), Next: w.columns["next_gain"], MaxWidth: w.rule.maxWidth, MinTop: w.rule.minTop,
		Keep: func(name string) bool { return name == "mean" || name == "abstain" || w.wants(name) },
	})
	n, columns := len(t.items), len(t.maker.Columns())
	t.cells = make([]prediction.Cell, n*columns)
	each := func(j int) {
		if t.bad[j] == nil {
			copy(t.row(j), t.maker.Append(nil, t.items[j], &t.answers[j]))
		}
	}
	if n == 1 {
		each(0)
		return
	}
	par.For(n, each)
}

// row returns the cells of item j.
func (t *told) row(j int) []prediction.Cell {
	columns := len(t.maker.Columns())
	return t.cells[j*columns : (j+1)*columns]
}

// places returns where a row has the values of a name: one for each class, or a single one if it is about the
// item. There are none if it was not asked for or the model does not tell it.
func (t *told) places(name string) []int {
	var list []int
	for i, c := range t.maker.Columns() {
		if c.Of == name {
			list = append(list, i)
		}
	}
	return list
}

// columnsOf refuses names of columns that there are not.
func columnsOf(names []string) (map[string]bool, error) {
	if len(names) == 0 {
		return nil, nil
	}
	out := map[string]bool{}
	for _, n := range names {
		if !slices.Contains(columnNames, n) {
			return nil, badRequest("there is no output %q; outputs are %s", n, words.Few(columnNames))
		}
		out[n] = true
	}
	return out, nil
}

var columnNames = []string{"mean", "sd", "median", "lower", "upper", "lower_bound", "upper_bound", "p_top",
	"at_least", "entropy", "information", "next_gain", "predicted", "weights", "alpha"}

// checkLevel refuses a level that no interval has.
func checkLevel(level float64) error {
	if !(level > 0 && level < 1) {
		return badRequest("level %v: expected a number between 0 and 1", level)
	}
	return nil
}

// csvTable reads a request of CSV.
func csvTable(ctx context.Context, body io.Reader, memory int64) (table.Table, error) {
	t, err := table.NewText(ctx, io.NopCloser(body), "the request", table.Options{Memory: memory})
	if err != nil {
		if statusOf(err) == 500 && !errors.Is(err, context.Canceled) {
			err = badRequest("%w", err)
		}
		return nil, err
	}
	return t, nil
}
