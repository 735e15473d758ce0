package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"unicode/utf16"

	"credence/internal/table"
	"credence/internal/words"
	"credence/mixture"
	"credence/predict"
)

// list appends what one appends for each item, separated by commas.
func (a *resultBatch) list(dst []byte, one func(dst []byte, j int) ([]byte, error)) (_ []byte, err error) {
	for j := range a.items {
		if a.first+j > 0 {
			dst = append(dst, ',')
		}
		if dst, err = one(dst, j); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// records appends one JSON object for each item, separated by commas.
func (a *resultBatch) records(dst []byte) ([]byte, error) {
	if a.names != nil {
		return dst, badRequest("%w: ask for fewer outputs", a.names)
	}
	var cells []predict.Cell
	return a.list(dst, func(dst []byte, j int) ([]byte, error) {
		if a.items[j].Err != nil {
			return appendFailed(dst, &a.items[j]), nil
		}
		cells = a.table.Append(cells[:0], &a.rows[j])
		dst = a.table.AppendJSON(dst, cells)
		if dist := a.items[j].Dist; a.full && dist != nil {
			dst = appendParameters(dst[:len(dst)-1], dist)
		}
		return dst, nil
	})
}

// answerList predicts the items of a table and answers with a JSON object: text, which ends within a list, what one
// appends to it for each batch of items, and warnings. The text waits in memory for the last item.
func (s *Server) writeList(w http.ResponseWriter, r *http.Request, m *served, t table.Table, want *predictOptions, text []byte,
	one func(a *resultBatch, dst []byte) ([]byte, error)) error {
	p, err := s.predict(r.Context(), m, t, want, func(a *resultBatch) (err error) {
		before := len(text)
		if text, err = one(a, text); err != nil {
			return err
		}
		return cmp.Or(want.limits.checkResponse(int64(len(text))), s.hold(w, textMemory*int64(len(text)-before)))
	})
	if err != nil {
		return err
	}
	return writeText(w, append(appendWarnings(append(text, ']'), p.warnings(true)), "}\n"...))
}

// textMemory is how much memory text takes that grows, compared with its length.
const textMemory = 2

func quote(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}

// appendFailed appends the object of an item without a prediction.
func appendFailed(dst []byte, p *predict.Prediction) []byte {
	dst = append(append(dst, `{"item":`...), quote(p.Item)...)
	dst = append(append(dst, `,"error":`...), quote(p.Err.Error())...)
	return append(dst, '}')
}

// appendParameters appends the parameters of a distribution to an object that is left open.
func appendParameters(dst []byte, dist *mixture.Dirichlet) []byte {
	dst = append(dst, `,"weights":[`...)
	for c := range dist.K() {
		weight, _ := dist.Component(c)
		dst = appendListed(dst, c, weight)
	}
	dst = append(dst, `],"alpha":[`...)
	for c := range dist.K() {
		_, alpha := dist.Component(c)
		if c > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '[')
		for i, a := range alpha {
			dst = appendListed(dst, i, a)
		}
		dst = append(dst, ']')
	}
	return append(dst, "]}"...)
}

// appendListed appends number i of a list.
func appendListed(dst []byte, i int, x float64) []byte {
	if i > 0 {
		dst = append(dst, ',')
	}
	return strconv.AppendFloat(dst, x, 'g', -1, 64)
}

// streamAnswers writes predictions as JSON lines, CSV or Parquet, as credence predict does: some items at
// a time, so that memory does not grow with their number.
func (s *Server) streamPredictions(w http.ResponseWriter, r *http.Request, m *served, t table.Table, want *predictOptions) error {
	if want.Levels == nil { // those of the query are checked
		if err := checkLevel(want.level); err != nil {
			return err
		}
		want.Levels = []float64{want.level}
	}
	if err := want.checkWide(len(m.model.Classes)); err != nil {
		return err
	}
	want.Next = want.Next || want.columns["next_gain"]
	want.Top = want.Top && (!want.Wide || want.includes("p_top"))
	if want.columns != nil {
		if !want.Wide {
			return badRequest("outputs can be chosen in the wide form alone: add wide=true")
		}
		want.Keep = want.keeps
	}
	metrics := s.metrics.forModel(m.name)
	want.Seen = func(r *predict.Row) { metrics.observe(r, want.abstains()) }
	rows := predict.NewTable(m.model, want.Format)
	if err := rows.CheckNames(); err != nil {
		return badRequest("%w: ask for fewer outputs, or for the long form", err)
	}
	p, err := m.begin(r.Context(), t, want)
	if err != nil {
		return err
	}
	defer p.Close()
	hold := func(n int) error { return s.hold(w, int64(n)) }
	err = causeOf(r.Context(), p.stream(r.Context(), w, rows, hold))
	d := p.Diagnostics()
	s.metrics.countItems(metrics, d)
	if rec := w.(*recorder); err != nil && rec.status != 0 {
		// The status is sent: an answer that ends too early is all that is left to say.
		rec.err = fmt.Errorf("after %d items: %w", d.Items, err)
		panic(http.ErrAbortHandler)
	}
	return err
}

// checkWide refuses a wide table of several levels with more columns than a request may have.
func (w *predictOptions) checkWide(classes int) error {
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
		w.Header().Set("Content-Type", responseTypes[form])
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
		n := firstFailed(list)
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

// Warnings are about the items of a request: levels that training did not have, values far outside its range, votes on
// other items. Answers that are JSON objects hold them in their body. Tables have no place for them: the header has those
// that are known when the answer begins, and the trailer of the same name, after the last row, those of all items.

// warningsHeader is a JSON array of texts, in ASCII.
const warningsHeader = "Credence-Warnings"

// warningsAbout describes the header.
const warningsAbout = "of JSON lines, CSV and Parquet: a JSON array of warnings about the items predicted before the answer begins, " +
	"1,024 or as many as batch says; the trailer of the same name has the warnings about all items"

// mostHeader is how many bytes of warnings the header has: proxies refuse answers with more than some kilobytes of headers.
const maxHeader = 3 << 10

// appendWarnings appends the member "warnings" to a JSON object, if there are any.
func appendWarnings(dst []byte, warnings []string) []byte {
	if len(warnings) == 0 {
		return dst
	}
	list, _ := json.Marshal(warnings)
	return append(append(dst, `,"warnings":`...), list...)
}

// setWarnings sets the header or, once the answer has begun, the trailer.
func setWarnings(w http.ResponseWriter, list []string) {
	if len(list) == 0 {
		w.Header().Del(warningsHeader)
		return
	}
	w.Header().Set(warningsHeader, headerText(list))
}

// headerText writes texts as a JSON array in ASCII; those that do not fit are counted.
func headerText(list []string) string {
	text := []byte{'['}
	for i, s := range list {
		one := asciiJSON(s)
		full := len(text)+len(one) > maxHeader
		if full {
			one = asciiJSON(words.Plural(len(list)-i, "further warning") + " too long for a header: a JSON answer has them")
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, one...)
		if full {
			break
		}
	}
	return string(append(text, ']'))
}

// asciiJSON writes a JSON string without any character that a header cannot hold.
func asciiJSON(s string) []byte {
	quoted, _ := json.Marshal(s)
	var text []byte
	for _, r := range string(quoted) {
		if r < 0x7f {
			text = append(text, byte(r))
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			text = fmt.Appendf(text, `\u%04x`, unit)
		}
	}
	return text
}
