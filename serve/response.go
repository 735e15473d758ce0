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

// list calls one to append each item, and separates the items with commas.
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
		return dst, badRequest("%w: request fewer outputs", a.names)
	}
	var values []predict.Value
	return a.list(dst, func(dst []byte, j int) ([]byte, error) {
		if a.items[j].Err != nil {
			return appendFailed(dst, &a.items[j]), nil
		}
		values = a.table.Append(values[:0], &a.rows[j])
		dst = a.table.AppendJSON(dst, values)
		if dist := a.items[j].ReportedDist(); a.full && dist != nil {
			dst = appendParameters(dst[:len(dst)-1], dist)
		}
		return dst, nil
	})
}

// writeList predicts the items of a table and responds with a JSON object: text, which ends inside an array, then what
// one appends to it for each batch of items, then warnings. The response is kept in memory until the last item.
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

// textMemory is the memory that a growing text takes, as a multiple of its length.
const textMemory = 2

func quote(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}

// appendFailed appends the JSON object for an item without a prediction.
func appendFailed(dst []byte, p *predict.Prediction) []byte {
	dst = append(append(dst, `{"item":`...), quote(p.Item)...)
	dst = append(append(dst, `,"error":`...), quote(p.Err.Error())...)
	return append(dst, '}')
}

// appendParameters appends the parameters of a distribution to a JSON object without its closing brace.
func appendParameters(dst []byte, dist *mixture.Dirichlet) []byte {
	weights, alphas := make([]float64, dist.K()), []byte{}
	for c := range weights {
		var alpha []float64
		weights[c], alpha = dist.Component(c)
		alphas = append(appendNumbers(alphas, alpha), ',')
	}
	dst = appendNumbers(append(dst, `,"weights":`...), weights)
	dst = append(append(dst, `,"alpha":[`...), alphas[:len(alphas)-1]...)
	return append(dst, "]}"...)
}

// appendNumbers appends a JSON array of one or more numbers.
func appendNumbers(dst []byte, list []float64) []byte {
	dst = append(dst, '[')
	for _, x := range list {
		dst = append(strconv.AppendFloat(dst, x, 'g', -1, 64), ',')
	}
	return append(dst[:len(dst)-1], ']')
}

// streamPredictions writes predictions as JSON lines, CSV or Parquet, as credence predict does. It works in
// batches, so that memory does not grow with the number of items.
func (s *Server) streamPredictions(w http.ResponseWriter, r *http.Request, m *served, t table.Table, want *predictOptions) error {
	if err := want.setPoint(m); err != nil {
		return err
	}
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
			return badRequest("outputs can only be chosen in the wide format: add wide=true")
		}
		want.Keep = want.keeps
	}
	want.Seen = s.metrics.observer(m.name, want.abstains())
	rows := predict.NewTable(m.model, want.Format)
	if err := rows.CheckNames(); err != nil {
		return badRequest("%w: request fewer outputs, or the long format", err)
	}
	p, err := m.begin(r.Context(), t, want)
	if err != nil {
		return err
	}
	defer p.Close()
	hold := func(n int) error { return s.hold(w, int64(n)) }
	err = causeOf(r.Context(), p.stream(r.Context(), w, rows, hold))
	d := p.Diagnostics()
	s.metrics.countItems(m.name, d)
	if rec := w.(*recorder); err != nil && rec.status != 0 {
		// The status is already sent; only aborting the response can signal the error.
		rec.err = fmt.Errorf("after %d items: %w", d.Items, err)
		panic(http.ErrAbortHandler)
	}
	return err
}

// checkWide returns an error if a wide table of several levels has too many columns.
func (w *predictOptions) checkWide(classes int) error {
	each := 5 // columns of intervals per class and level
	if w.HPD {
		each++
	}
	if !w.Wide || len(w.Levels) == 1 {
		return nil
	}
	return exceeds("columns of the wide response", each*len(w.Levels)*classes, w.limits.Columns, "max-columns")
}

// cellMemory and groupMemory are the approximate bytes per unwritten value, in a batch and in a Parquet row group.
const cellMemory, groupMemory = 64, 16

// stream writes the predictions. It reserves memory with hold. The first batch is predicted before anything is
// written, so that most errors still get their own status.
func (p *predicting) stream(ctx context.Context, w http.ResponseWriter, rows *predict.Table, hold func(bytes int) error) error {
	columns, batch, group, form := len(rows.Columns()), 0, 0, p.want.Name
	if !p.want.Wide {
		columns *= len(p.of.model.Classes) * p.want.levels()
	}
	var out predict.Writer
	for b, err := range p.batches(ctx) {
		if err == nil && out == nil {
			w.Header().Set("Content-Type", responseTypes[form])
			w.Header().Set("Trailer", warningsHeader)
			setWarnings(w, p.warnings(false))
			out, err = predict.NewWriter(w, rows)
		}
		if err != nil {
			return err
		}
		values := len(b.Predictions) * columns
		need := max(0, values-batch) * cellMemory
		batch = max(batch, values)
		if form == parquetForm {
			more := max(0, min(values, table.GroupValues-group))
			need += more * groupMemory
			group += more
		}
		if err := hold(need); err != nil {
			return err
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
	if err := out.Close(); err != nil {
		return err
	}
	setWarnings(w, p.warnings(true))
	return nil
}

// write writes a batch. In JSON lines, an item without a prediction gets a line with the error.
func (p *predicting) write(ctx context.Context, w io.Writer, out predict.Writer, list []predict.Prediction, lines bool) error {
	if !lines || !p.want.partial {
		_, err := out.Write(ctx, list)
		return err
	}
	// Consecutive items with predictions are written together.
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

// Warnings are about the items of a request: levels that were not in training, values far outside its range, votes on
// other items. JSON objects contain them in the body. Tables cannot: the header has the warnings that are known when
// the response starts, and the trailer of the same name, after the last row, has the warnings about all items.

// warningsHeader is the name of the header; its value is a JSON array of strings, in ASCII.
const warningsHeader = "Credence-Warnings"

// warningsAbout documents the header.
const warningsAbout = "for JSON lines, CSV and Parquet: a JSON array of warnings about the items of the first batch, " +
	"1,024 items by default; the trailer of the same name has the warnings about all items"

// maxHeader bounds the bytes of the header: proxies reject responses with more than a few kilobytes of headers.
const maxHeader = 3 << 10

// appendWarnings appends the member "warnings" to a JSON object, if there are any.
func appendWarnings(dst []byte, warnings []string) []byte {
	if len(warnings) == 0 {
		return dst
	}
	list, _ := json.Marshal(warnings)
	return append(append(dst, `,"warnings":`...), list...)
}

// setWarnings sets the header or, once the response has started, the trailer.
func setWarnings(w http.ResponseWriter, list []string) {
	if len(list) == 0 {
		w.Header().Del(warningsHeader)
		return
	}
	w.Header().Set(warningsHeader, headerText(list))
}

// headerText returns a JSON array of strings in ASCII. Strings that do not fit are replaced by their number.
func headerText(list []string) string {
	text := []byte{'['}
	for i, s := range list {
		one := asciiJSON(s)
		full := len(text)+len(one) > maxHeader
		if full {
			one = asciiJSON(words.Plural(len(list)-i, "further warning") + " too long for a header: see a JSON response")
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

// asciiJSON returns s as a JSON string in ASCII, which is valid in a header.
func asciiJSON(s string) []byte {
	quoted, _ := json.Marshal(s)
	var text []byte
	for _, unit := range utf16.Encode([]rune(string(quoted))) {
		if unit < 0x7f {
			text = append(text, byte(unit))
		} else {
			text = fmt.Appendf(text, `\u%04x`, unit)
		}
	}
	return text
}
