package serve

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"

	"credence/internal/table"
	"credence/predict"
)

// streamAnswers writes predictions as JSON lines, CSV or Parquet, as credence predict does: some items at
// a time, so that memory does not grow with their number.
func (s *Server) streamAnswers(w http.ResponseWriter, r *http.Request, m *served, t table.Table, want *wanted) error {
	if want.Levels == nil {
		want.Levels = []float64{want.level}
	}
	for _, level := range want.Levels {
		if err := checkLevel(level); err != nil {
			return err
		}
	}
	if err := want.checkWide(len(m.model.Classes)); err != nil {
		return err
	}
	want.Next = want.Next || want.columns["next_gain"]
	want.Top = want.Top && (!want.Wide || want.wants("p_top"))
	if want.columns != nil {
		if !want.Wide {
			return badRequest("outputs can be chosen in the wide form alone: add wide=true")
		}
		want.Keep = want.keeps
	}
	metrics := s.metrics.of(m.name)
	want.Seen = func(r *predict.Row) { metrics.observe(r, want.abstains()) }
	rows := predict.NewTable(m.model, want.Format)
	if err := rows.CheckNames(); err != nil {
		return badRequest("%w: ask for fewer outputs, or for the long form", err)
	}
	p, err := m.begin(r.Context(), t, want)
	if err != nil {
		return err
	}
	defer p.close()
	hold := func(n int) error { return s.hold(w, int64(n)) }
	err = causeOf(r.Context(), p.stream(r.Context(), w, rows, hold))
	d := p.Diagnostics()
	s.metrics.counted(metrics, d)
	if rec := w.(*recorder); err != nil && rec.status != 0 {
		// The status is sent: an answer that ends too early is all that is left to say.
		rec.err = fmt.Errorf("after %d items: %w", d.Items, err)
		panic(http.ErrAbortHandler)
	}
	return err
}

// checkWide refuses a wide table of several levels with more columns than a request may have.
func (w *wanted) checkWide(classes int) error {
	each := 5 // intervals have as many columns for each class and level
	if w.HPD {
		each++
	}
	if !w.Wide || len(w.Levels) == 1 {
		return nil
	}
	return exceeds("columns of the answer, one row per item", each*len(w.Levels)*classes, w.limits.Columns, "max-columns")
}

// cellMemory is about how much memory a value takes until it is written: in a batch, and in a group of rows of Parquet.
const cellMemory, groupMemory = 64, 16

// stream writes the predictions. What it keeps in memory it asks for with hold. The first are made before anything is
// written, so that most mistakes are still answered with their status.
func (p *predicting) stream(ctx context.Context, w http.ResponseWriter, rows *predict.Table, hold func(bytes int) error) error {
	columns, batch, group, form := len(rows.Columns()), 0, 0, p.want.Name
	if !p.want.Wide {
		columns *= len(p.of.model.Classes) * p.want.levels()
	}
	var out predict.Writer
	begin := func() (err error) {
		w.Header().Set("Content-Type", answerTypes[form])
		w.Header().Set("Trailer", warningsHeader)
		setWarnings(w, p.warnings(false))
		out, err = predict.NewWriter(w, rows)
		return err
	}
	for b, err := range p.batches(ctx) {
		if err == nil && out == nil {
			err = begin()
		}
		if err != nil {
			return err
		}
		values := len(b.Predictions) * columns
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
		if err := p.write(ctx, w, out, b.Predictions, form == linesForm); err != nil {
			return err
		}
		if p.want.batch != 0 {
			if err := http.NewResponseController(w).Flush(); err != nil {
				return err
			}
		}
	}
	if out == nil { // there are no items
		if err := begin(); err != nil {
			return err
		}
	}
	if err := out.Close(); err != nil {
		return err
	}
	setWarnings(w, p.warnings(true))
	return nil
}

// write writes a batch. Where lines are items, those without a prediction have one that says why.
func (p *predicting) write(ctx context.Context, w io.Writer, out predict.Writer, list []predict.Prediction, lines bool) error {
	if !lines || !p.want.partial {
		_, err := out.Write(ctx, list)
		return err
	}
	// Stretches without a gap go together.
	for len(list) > 0 {
		n := slices.IndexFunc(list, func(x predict.Prediction) bool { return x.Err != nil })
		if n < 0 {
			n = len(list)
		}
		if _, err := out.Write(ctx, list[:n]); err != nil {
			return err
		}
		if list = list[n:]; len(list) > 0 {
			if _, err := w.Write(append(appendFailed(nil, &list[0]), '\n')); err != nil {
				return err
			}
			list = list[1:]
		}
	}
	return nil
}
