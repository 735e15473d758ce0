package serve

import (
	"context"
	"io"
	"net/http"
	"slices"
	"sync"

	"credence/dataset"
	"credence/head"
	"credence/internal/par"
	"credence/internal/prediction"
	"credence/internal/table"
	"credence/internal/words"
	"credence/model"
)

// wanted is what is asked of a prediction.
type wanted struct {
	level   float64
	columns map[string]bool // nil for all that have a meaning
	partial bool            // rows that cannot be predicted are marked, not refused
	rows    int             // at most
	batch   int             // items answered at a time as they come in; 0 if the body is read first
	rule    abstention
	votes   *castVotes // on the items, to take into account; nil for none
}

// abstention says on which items to abstain, as the flags of credence predict do: where the predicted
// class's interval is wider than maxWidth, or its p_top smaller than minTop. 0 is no rule.
type abstention struct{ maxWidth, minTop float64 }

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

	*layout
	cells []prediction.Cell // [N, columns of the maker]
}

// batchRows is how many items are predicted at a time.
const batchRows = 1024

// tooManyRows is the error of a request with more than n items.
func tooManyRows(n int) error {
	return failf(http.StatusRequestEntityTooLarge, "more than %d rows in a request", n)
}

// predicting predicts the items of a request, some at a time.
type predicting struct {
	of    *served
	want  *wanted
	in    *dataset.Stream
	watch *dataset.Watch
	items int
	bad   int // items without a prediction, where answers are streamed
	voted int // items of votes that were found
}

// begin starts to predict the items of a table, n at a time. The caller closes what it returns.
func (s *served) begin(ctx context.Context, t table.Table, w *wanted, n int) (*predicting, error) {
	opts := dataset.StreamOptions{Batch: n, KeepBad: true, Inline: true, FeatureOptions: s.read.FeatureOptions}
	opts.Ignore = nil
	in, err := dataset.StreamOf(ctx, t, s.parts, opts)
	if err != nil {
		return nil, err
	}
	return &predicting{of: s, want: w, in: in, watch: s.model.Transform.NewWatch()}, nil
}

func (p *predicting) close() error { return p.in.Close() }

// next answers further items, and returns io.EOF if there are none. The values are those of credence
// predict, bit for bit.
func (p *predicting) next() (*told, error) {
	batch, err := p.in.Next()
	if err != nil {
		return nil, err
	}
	if p.items += batch.Len(); p.items > p.want.rows {
		return nil, tooManyRows(p.want.rows)
	}
	if err := p.watch.Add(batch.Dataset, batch.Bad); err != nil {
		return nil, err
	}
	t := &told{of: p.of, items: batch.Items, bad: batch.Bad}
	if t.answers, err = p.of.model.Predict(batch.Dataset, model.PredictOptions{KeepBad: true}); err != nil {
		return nil, err
	}
	if t.bad == nil {
		t.bad = make([]error, len(t.answers))
	}
	for j := range t.answers {
		if t.bad[j] == nil {
			t.bad[j] = t.answers[j].Err
		}
	}
	if err := p.want.votes.update(p, t); err != nil {
		return nil, err
	}
	for j, err := range t.bad {
		if err != nil && !p.want.partial {
			return nil, badRequest("item %q has no prediction: %w", t.items[j], err)
		}
	}
	return t, nil
}

// warnings returns what looks wrong about the items so far; done is whether these are all.
func (p *predicting) warnings(done bool) []string {
	var list []string
	for _, err := range p.in.Warnings() {
		list = append(list, err.Error())
	}
	for _, err := range p.watch.Warnings() {
		list = append(list, err.Error())
	}
	return append(list, p.want.votes.doubts(p, done)...)
}

// predict answers all items of a table.
func (s *served) predict(ctx context.Context, t table.Table, w *wanted) (*told, error) {
	p, err := s.begin(ctx, t, w, batchRows)
	if err != nil {
		return nil, err
	}
	defer p.close()
	out := &told{of: s}
	for {
		t, err := p.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if out.items == nil {
			out = t
			continue
		}
		out.items, out.bad, out.answers = append(out.items, t.items...), append(out.bad, t.bad...), append(out.answers, t.answers...)
	}
	out.unlike, out.warnings = p.watch.Unlike(), p.warnings(true)
	out.layout = s.layout(w)
	out.tell()
	return out, ctx.Err()
}

// tell fills in the cells.
func (t *told) tell() {
	n, columns := len(t.items), len(t.maker.Columns())
	t.cells = make([]prediction.Cell, n*columns)
	each := func(j int) {
		if t.bad[j] == nil {
			scratch := cellPool.Get().(*[]prediction.Cell)
			*scratch = t.maker.Append((*scratch)[:0], t.items[j], &t.answers[j])
			copy(t.row(j), *scratch)
			cellPool.Put(scratch)
		}
	}
	if n == 1 {
		each(0)
		return
	}
	par.For(n, each)
}

// cellPool has memory in which rows are made.
var cellPool = sync.Pool{New: func() any { return new([]prediction.Cell) }}

// row returns the cells of item j.
func (t *told) row(j int) []prediction.Cell {
	columns := len(t.maker.Columns())
	return t.cells[j*columns : (j+1)*columns]
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
