package serve

import (
	"cmp"
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
	levels  int             // how many there are
	columns map[string]bool // nil for all that have a meaning
	partial bool            // rows that cannot be predicted are marked, not refused
	limits  *Limits
	batch   int // items answered at a time as they come in; 0 if the body is read first
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

// told is what is told of N items of a request, a row each.
type told struct {
	of      *served
	first   int // items of the request before them
	items   []string
	bad     []error // nil, or why an item has no prediction
	answers []head.Answer

	*layout
	cells []prediction.Cell // [N, columns of the maker]
}

// Items are predicted in batches of at most batchRows items and batchIntervals intervals (items × classes × levels), and
// go through the networks in batches of which these keep at most batchValues values; a batch has at least one item. This
// bounds the memory of a request, and the time until it stops when its context is done.
const (
	batchRows      = 1024
	batchIntervals = 1 << 14
	batchValues    = 1 << 21
)

// tooManyRows is the error of a request with more than n items.
func tooManyRows(n int) error {
	return failf(http.StatusRequestEntityTooLarge, "more than %d rows in a request (credence serve --max-rows)", n)
}

// predicting predicts the items of a request, some at a time.
type predicting struct {
	ctx   context.Context
	of    *served
	want  *wanted
	in    *dataset.Stream
	watch *dataset.Watch
	items int
	bad   int // items without a prediction
	voted int // items of votes that were found
}

// begin starts to predict the items of a table. The caller closes what it returns.
func (s *served) begin(ctx context.Context, t table.Table, w *wanted) (*predicting, error) {
	classes := len(s.model.Classes)
	if f, ok := t.(*frame); ok { // whose items are counted
		if err := w.limits.checkIntervals(f.rows, classes, w.levels); err != nil {
			return nil, err
		}
	}
	n := max(1, min(cmp.Or(w.batch, batchRows), batchIntervals/(classes*w.levels)))
	opts := dataset.StreamOptions{Batch: n, KeepBad: true, Inline: true, FeatureOptions: s.read.FeatureOptions}
	opts.Ignore = nil
	in, err := dataset.StreamOf(ctx, t, s.parts, opts)
	if err != nil {
		return nil, err
	}
	return &predicting{ctx: ctx, of: s, want: w, in: in, watch: s.model.Transform.NewWatch()}, nil
}

func (p *predicting) close() error { return p.in.Close() }

// next answers further items, and returns io.EOF if there are none. The values are those of credence
// predict, bit for bit.
func (p *predicting) next() (*told, error) {
	batch, err := p.in.Next()
	if err != nil {
		return nil, err
	}
	first := p.items
	if p.items += batch.Len(); p.items > p.want.limits.Rows {
		return nil, tooManyRows(p.want.limits.Rows)
	}
	if err := p.want.limits.checkIntervals(p.items, len(p.of.model.Classes), p.want.levels); err != nil {
		return nil, err
	}
	if err := p.watch.Add(batch.Dataset, batch.Bad); err != nil {
		return nil, err
	}
	t := &told{of: p.of, first: first, items: batch.Items, bad: batch.Bad}
	if t.answers, err = p.of.model.PredictContext(p.ctx, batch.Dataset, model.PredictOptions{KeepBad: true, BatchValues: batchValues}); err != nil {
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
		if err == nil {
			continue
		}
		if !p.want.partial {
			return nil, badRequest("item %q has no prediction: %w", t.items[j], err)
		}
		p.bad++
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

// predict answers all items of a table, some at a time: each is called with them in turn. If there are no items it is called
// once, with none.
func (s *Server) predict(ctx context.Context, m *served, t table.Table, w *wanted, each func(t *told) error) (*predicting, error) {
	p, err := m.begin(ctx, t, w)
	if err != nil {
		return nil, err
	}
	defer p.close()
	l := m.layout(w)
	for {
		t, err := p.next()
		if err == io.EOF && p.items == 0 {
			t, err = &told{of: m}, nil
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		t.layout = l
		if err := t.tell(ctx); err != nil {
			return nil, err
		}
		s.observe(t)
		if err := each(t); err != nil {
			return nil, err
		}
		if len(t.items) == 0 {
			break
		}
	}
	s.metrics.counted(s.metrics.of(m.name), p.items, p.bad, p.watch.Unlike())
	return p, ctx.Err()
}

// tell fills in the cells.
func (t *told) tell(ctx context.Context) error {
	n, columns := len(t.items), len(t.maker.Columns())
	t.cells = make([]prediction.Cell, n*columns)
	each := func(j int) {
		if t.bad[j] != nil || ctx.Err() != nil {
			return
		}
		scratch := cellPool.Get().(*[]prediction.Cell)
		var err error
		if *scratch, err = t.maker.Append(ctx, (*scratch)[:0], t.items[j], &t.answers[j]); err == nil {
			copy(t.row(j), *scratch)
		}
		cellPool.Put(scratch)
	}
	if n == 1 {
		each(0)
	} else {
		par.For(n, each)
	}
	return ctx.Err()
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
