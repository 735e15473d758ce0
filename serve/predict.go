package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"credence/dataset"
	"credence/head"
	"credence/internal/calculator"
	"credence/internal/par"
	"credence/internal/table"
	"credence/internal/words"
	"credence/mixture"
	"credence/predict"
)

// predictOptions are the options of a prediction request.
type predictOptions struct {
	// Format is the output format, with the options of credence predict. Its Levels are those given in the query;
	// its MaxWidth and MinTop define the items to abstain on, in every format.
	predict.Format
	level   float64         // for formats with a single level
	columns map[string]bool // outputs to include; nil for the default ones
	partial bool            // mark rows that cannot be predicted instead of rejecting the request
	limits  *Limits
	batch   int            // items per batch while the body is still being received; 0 to read the whole body first
	votes   *predict.Votes // votes on the items to condition on; nil for none
	score   string         // of the output point; empty for none
	expect  string         // number of votes expected, for the point; empty for the number in training
	who     string         // rater whose votes are predicted; empty for an average one
}

// as returns the rater whose votes are predicted, nil for an average one. Errors do not show names of raters.
func (w *predictOptions) as(s *served) (*predict.As, error) {
	if w.who == "" {
		return nil, nil
	}
	if w.Full || w.Next || w.columns["weights"] || w.columns["alpha"] || w.columns["next_gain"] {
		return nil, badRequest("as: mixtures and gains of a vote are those of an average rater")
	}
	as, err := predict.NewAs(s.model, w.who, nil)
	if errors.Is(err, head.ErrNoRater) {
		return nil, badRequest("as: unknown rater %q", w.who)
	}
	if err != nil {
		return nil, badRequest("as: %w", err)
	}
	return as, nil
}

// setPoint sets the point of the predictions of a model.
func (w *predictOptions) setPoint(s *served) (err error) {
	switch {
	case w.score == "" && w.columns["point"]:
		return badRequest("output point: expected the parameter point, one of %s", strings.Join(mixture.ScoreNames(), ", "))
	case w.score == "" && w.expect != "":
		return badRequest("votes_expected: expected the parameter point with it, one of %s", strings.Join(mixture.ScoreNames(), ", "))
	case w.score == "":
		return nil
	case !s.dists:
		return badRequest("point: expected a model that predicts distributions")
	}
	votes := -1
	if w.expect != "" {
		if votes, err = strconv.Atoi(w.expect); err != nil || votes < 0 {
			return badRequest("votes_expected %q: expected a number of votes, 0 for the probabilities themselves", w.expect)
		}
	}
	if w.Point, err = predict.NewPoint(s.model, w.score, votes); err != nil {
		return badRequest("point: %w", err)
	}
	if w.columns != nil {
		w.columns["point"] = true
	}
	return nil
}

// checkAbstention returns an error if a limit of the abstention rule is out of range.
func checkAbstention(maxWidth, minTop float64) error {
	if !(maxWidth >= 0 && maxWidth <= 1) {
		return badRequest("max_width %v: expected a width between 0 and 1", maxWidth)
	}
	if !(minTop >= 0 && minTop <= 1) {
		return badRequest("min_top %v: expected a probability between 0 and 1", minTop)
	}
	return nil
}

// abstains reports whether there is an abstention rule.
func (w *predictOptions) abstains() bool { return w.MaxWidth != 0 || w.MinTop != 0 }

func (w *predictOptions) includes(name string) bool { return w.columns == nil || w.columns[name] }

// keeps reports whether rows of items include a field.
func (w *predictOptions) keeps(name string) bool {
	return name == "mean" || name == "abstain" || w.includes(name)
}

// levels returns the number of levels.
func (w *predictOptions) levels() int { return max(1, len(w.Levels)) }

// resultBatch holds the predictions for consecutive items of a request, one row per item.
type resultBatch struct {
	first int // number of items of the request before these
	*layout
	items []predict.Prediction
	rows  []predict.Row // zero for items with an Err
}

// Items are predicted in batches of at most batchRows items and batchIntervals intervals (items × classes × levels).
// They pass through the networks in batches that keep at most batchValues values; a batch has at least one item.
// This bounds the memory of a request, and the time until it stops when its context is done.
const (
	batchRows      = 1024
	batchIntervals = 1 << 14
	batchValues    = 1 << 21
)

// tooManyRows returns the error for a request with more than n items.
func tooManyRows(n int) error {
	return failf(http.StatusRequestEntityTooLarge, "too many rows: expected at most %d (credence serve --max-rows)", n)
}

// predicting predicts the items of a request in batches.
type predicting struct {
	*predict.Predictor
	*dataset.Stream
	of   *served
	want *predictOptions
}

// Next implements [predict.Source]. It returns an error if the request has more items than the limits allow.
func (p *predicting) Next() (*dataset.Batch, error) {
	b, err := p.Stream.Next()
	if err != nil {
		return nil, err
	}
	n := b.First + b.Len()
	if n > p.want.limits.Rows {
		return nil, tooManyRows(p.want.limits.Rows)
	}
	return b, p.want.limits.checkIntervals(n, len(p.of.model.Classes), p.want.levels())
}

// begin starts the prediction of the items of a table. The caller must close the result.
func (s *served) begin(ctx context.Context, t table.Table, w *predictOptions) (*predicting, error) {
	classes := len(s.model.Classes)
	if f, ok := t.(*frame); ok { // the number of items is known
		if err := w.limits.checkIntervals(f.rows, classes, w.levels()); err != nil {
			return nil, err
		}
	}
	as, err := w.as(s)
	if err != nil {
		return nil, err
	}
	n := max(1, min(cmp.Or(w.batch, batchRows), batchIntervals/(classes*w.levels())))
	opts := dataset.StreamOptions{Batch: n, KeepBad: true, Inline: true, Judges: w.votes.Judges(), FeatureOptions: s.read.FeatureOptions}
	opts.Ignore = nil
	in, err := dataset.StreamOf(ctx, t, s.features, opts)
	if err != nil {
		return nil, err
	}
	p := predict.New(s.model, predict.Options{Votes: w.votes, As: as, BatchValues: batchValues})
	return &predicting{p, in, s, w}, nil
}

// batches returns the predictions. The values are those of credence predict, bit for bit. An item without a prediction
// is an error unless the request allows partial results. If there are no items, there is one empty batch.
func (p *predicting) batches(ctx context.Context) iter.Seq2[*predict.Batch, error] {
	return func(yield func(*predict.Batch, error) bool) {
		none := true
		for b, err := range p.Run(ctx, p) {
			none = false
			if err == nil && !p.want.partial {
				if j := firstFailed(b.Predictions); j < len(b.Predictions) {
					err = badRequest("item %q has no prediction: %w", b.Predictions[j].Item, b.Predictions[j].Err)
				}
			}
			if !yield(b, err) || err != nil {
				return
			}
		}
		if none {
			yield(&predict.Batch{Batch: &dataset.Batch{}}, nil)
		}
	}
}

// firstFailed returns the index of the first item without a prediction, or len(list) if there is none.
func firstFailed(list []predict.Prediction) int {
	for i := range list {
		if list[i].Err != nil {
			return i
		}
	}
	return len(list)
}

// warnings returns the warnings about the items so far; done reports whether these are all items.
func (p *predicting) warnings(done bool) []string {
	d := p.Diagnostics()
	list := words.Each(d.Warnings, error.Error)
	if v := p.want.votes; v != nil {
		list = append(list, words.Each(v.Warnings(), error.Error)...)
		if done && d.Unused > 0 {
			list = append(list, fmt.Sprintf("votes on %s that are not in the request were ignored", words.Plural(d.Unused, "item")))
		}
	}
	return list
}

// predict predicts all items of a table in batches and calls each with every batch, in order: at least once, with an
// empty batch if there are no items.
func (s *Server) predict(ctx context.Context, m *served, t table.Table, w *predictOptions, each func(a *resultBatch) error) (*predicting, error) {
	if err := w.setPoint(m); err != nil {
		return nil, err
	}
	p, err := m.begin(ctx, t, w)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	a, observe := &resultBatch{layout: m.layout(w)}, s.metrics.observer(m.name, w.abstains())
	for b, err := range p.batches(ctx) {
		if err != nil {
			return nil, err
		}
		a.first, a.items = b.First, b.Predictions
		a.rows = make([]predict.Row, len(a.items))
		par.For(len(a.items), func(j int) {
			if a.items[j].Err == nil && ctx.Err() == nil {
				a.rows[j], _ = a.table.Row(ctx, &a.items[j]) // the error is that of ctx
			}
		})
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for j := range a.rows {
			if a.items[j].Err == nil {
				observe(&a.rows[j])
			}
		}
		if err := each(a); err != nil {
			return nil, err
		}
	}
	s.metrics.countItems(m.name, p.Diagnostics())
	return p, ctx.Err()
}

// columnsOf returns the set of the named outputs, nil if there are none, and an error if a name is unknown.
func columnsOf(names []string) (map[string]bool, error) {
	if len(names) == 0 {
		return nil, nil
	}
	out := map[string]bool{}
	for _, n := range names {
		if outputOf(n, true) == nil {
			names := words.Each(predict.Outputs(true), func(f *predict.Field) string { return f.Name })
			return nil, badRequest("output %q: expected one of %s", n, words.Few(names))
		}
		out[n] = true
	}
	return out, nil
}

// outputOf returns the named output of models that predict distributions (dists) or only means; nil if there is none.
func outputOf(name string, dists bool) *predict.Field {
	list := predict.Outputs(dists)
	if i := slices.IndexFunc(list, func(f *predict.Field) bool { return f.Name == name }); i >= 0 {
		return list[i]
	}
	return nil
}

// checkLevel returns an error unless level is in (0, 1).
func checkLevel(level float64) error {
	if err := calculator.CheckLevel(level); err != nil {
		return badRequest("level %v: %w", level, err)
	}
	return nil
}

// layout defines the columns of a result row.
type layout struct {
	table *predict.Table
	names error // duplicate column names, which a JSON object cannot have
	full  bool  // include the parameters of the mixtures
}

// mostLayouts bounds the number of cached layouts, since clients choose the levels.
const mostLayouts = 16

// layout returns the layout for the options. Layouts with the default columns are cached.
func (s *served) layout(w *predictOptions) *layout {
	if w.columns != nil || w.score != "" {
		return newLayout(s, w)
	}
	key := [3]float64{w.level, w.MaxWidth, w.MinTop}
	if l, ok := s.layouts.Load(key); ok {
		return l.(*layout)
	}
	l := newLayout(s, w)
	if s.kept.Add(1) <= mostLayouts {
		s.layouts.Store(key, l)
	}
	return l
}

func newLayout(s *served, w *predictOptions) *layout {
	// The precision of credence predict.
	t := predict.NewTable(s.model, predict.Format{
		Summary: predict.Summary{Levels: []float64{w.level}, Precision: mixture.SixDigits, MaxWidth: w.MaxWidth, MinTop: w.MinTop, Point: w.Point},
		Wide:    true, Top: w.includes("p_top"), Next: w.columns["next_gain"],
		Keep: w.keeps,
	})
	return &layout{table: t, names: t.CheckNames(), full: w.columns["weights"] || w.columns["alpha"]}
}
