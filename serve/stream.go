package serve

import (
	"cmp"
	"fmt"
	"io"
	"net/http"

	"credence/internal/prediction"
	"credence/internal/table"
)

// streamAnswers writes predictions as JSON lines, CSV or Parquet, as credence predict does: some items at
// a time, so that memory does not grow with their number.
func (s *Server) streamAnswers(w http.ResponseWriter, r *http.Request, m *served, t table.Table, want *wanted, f *answerForm) error {
	if f.levels == nil {
		f.levels = []float64{want.level}
	}
	for _, level := range f.levels {
		if err := checkLevel(level); err != nil {
			return err
		}
	}
	want.levels = len(f.levels)
	if err := s.checkWide(m, f); err != nil {
		return err
	}
	o := f.Options
	o.Levels, o.MaxWidth, o.MinTop = f.levels, want.rule.maxWidth, want.rule.minTop
	o.Next = o.Next || want.columns["next_gain"]
	o.Top = o.Top && (!o.Wide || want.wants("p_top"))
	if want.columns != nil {
		if !o.Wide {
			return badRequest("outputs can be chosen in the wide form alone: add wide=true")
		}
		o.Keep = func(name string) bool { return name == "mean" || name == "abstain" || want.wants(name) }
	}
	judge := newJudge(s.metrics.of(m.name), m, o)
	o.Seen = judge.seen
	maker := prediction.New(m.model, o)
	if err := maker.CheckNames(); err != nil {
		return badRequest("%w: ask for fewer outputs, or for the long form", err)
	}
	p, err := m.begin(r.Context(), t, want)
	if err != nil {
		return err
	}
	defer p.close()
	hold := func(n int) error { return s.hold(w, int64(n)) }
	err = causeOf(r.Context(), p.stream(w, maker, f.Name, want.batch != 0, hold))
	s.metrics.counted(judge.m, p.items, p.bad, p.watch.Unlike())
	if rec := w.(*recorder); err != nil && rec.status != 0 {
		// The status is sent: an answer that ends too early is all that is left to say.
		rec.err = fmt.Errorf("after %d items: %w", p.items, err)
		panic(http.ErrAbortHandler)
	}
	return err
}

// checkWide refuses a wide table of several levels with more columns than a request may have.
func (s *Server) checkWide(m *served, f *answerForm) error {
	each := 5 // intervals have as many columns for each class and level
	if f.HPD {
		each++
	}
	if !f.Wide || len(f.levels) == 1 {
		return nil
	}
	return exceeds("columns of the answer, one row per item", each*len(f.levels)*len(m.model.Classes), s.options.Limits.Columns, "max-columns")
}

// cellMemory is about how much memory a value takes until it is written: in a batch, and in a group of rows of Parquet.
const cellMemory, groupMemory = 64, 16

// stream writes the predictions. What it keeps in memory it asks for with hold. The first are made before anything is written, so that most mistakes
// are still answered with their status.
func (p *predicting) stream(w http.ResponseWriter, maker *prediction.Maker, form string, flush bool, hold func(bytes int) error) error {
	t, err := p.next()
	if err != nil && err != io.EOF {
		return err
	}
	for _, m := range mediaTypes {
		if m.form == form {
			w.Header().Set("Content-Type", m.name)
			break
		}
	}
	w.Header().Set("Trailer", warningsHeader)
	setWarnings(w, p.warnings(false))
	out, failed := prediction.NewWriter(w, maker)
	if failed != nil {
		return failed
	}
	control := http.NewResponseController(w)
	columns, batch, group := len(maker.Columns()), 0, 0
	if !maker.Wide() {
		columns *= len(p.of.model.Classes) * p.want.levels
	}
	for ; err == nil; t, err = p.next() {
		values := len(t.items) * columns
		if values > batch {
			if err := hold((values - batch) * cellMemory); err != nil {
				return err
			}
			batch = values
		}
		if more := min(values, table.GroupValues-group); form == parquetForm && more > 0 {
			if err := hold(more * groupMemory); err != nil {
				return err
			}
			group += more
		}
		if err := p.write(w, out, t, form == linesForm); err != nil {
			return err
		}
		if flush {
			if err := control.Flush(); err != nil {
				return err
			}
		}
	}
	if err != io.EOF {
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	setWarnings(w, p.warnings(true))
	return nil
}

// write writes a batch. Where lines are items, those without a prediction have one that says why.
func (p *predicting) write(w io.Writer, out prediction.Writer, t *told, lines bool) error {
	a := &prediction.Answers{Items: t.items, List: t.answers, Dropped: make([]bool, len(t.items))}
	for j, why := range t.bad {
		a.Dropped[j] = why != nil
	}
	if !lines || !p.want.partial {
		_, err := out.Write(p.ctx, a)
		return err
	}
	// Stretches without a gap go together.
	for from := 0; from < len(t.items); {
		to := from
		for to < len(t.items) && t.bad[to] == nil {
			to++
		}
		part := prediction.Answers{Items: a.Items[from:to], List: a.List[from:to], Dropped: a.Dropped[from:to]}
		if _, err := out.Write(p.ctx, &part); err != nil {
			return err
		}
		if from = to; to < len(t.items) {
			if _, err := w.Write(append(t.record(nil, to), '\n')); err != nil {
				return err
			}
			from++
		}
	}
	return nil
}

// judge counts what is told of items for the metrics of a model.
type judge struct {
	m       *modelMetrics
	lower   []int // by class, where the cells of an item have it; nil if they do not
	upper   []int
	top     []int
	abstain int // −1 if items are not marked
}

// newJudge returns the one for cells that are made with some options.
func newJudge(m *modelMetrics, s *served, o prediction.Options) *judge {
	j := &judge{m: m, abstain: -1}
	o.Tidymodels = false
	columns := prediction.New(s.model, o).Columns()
	classes := len(s.model.Classes)
	for i, c := range columns {
		var to *[]int
		switch cmp.Or(c.Of, c.Name) {
		case "lower":
			to = &j.lower
		case "upper":
			to = &j.upper
		case "p_top":
			to = &j.top
		case "abstain":
			if j.abstain < 0 {
				j.abstain = i
			}
			continue
		default:
			continue
		}
		switch {
		case !o.Wide:
			for class := range classes {
				*to = append(*to, class*len(o.Levels)*len(columns)+i)
			}
		case len(*to) == c.Class: // the first level
			*to = append(*to, i)
		}
	}
	return j
}

// seen takes the cells of an item into account.
func (j *judge) seen(a *prediction.Answers, item int, cells []prediction.Cell) {
	i := a.List[item].Top()
	if j.lower != nil && j.upper != nil {
		j.m.width.Observe(cells[j.upper[i]].Number - cells[j.lower[i]].Number)
	}
	switch {
	case j.abstain >= 0:
		j.m.abstained.Observe(cells[j.abstain].Number)
	case j.top != nil:
		j.m.abstained.Observe(oneIf(cells[j.top[i]].Number < 0.9))
	}
}
