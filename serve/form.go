package serve

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"credence/internal/table"
	"credence/predict"
)

// Forms of requests and answers.
const (
	jsonForm    = "json"
	linesForm   = "jsonl"
	csvForm     = "csv"
	parquetForm = "parquet"
)

// mediaTypes are the names of forms in headers; the first of each is the one that answers have.
var mediaTypes = []struct{ name, form string }{
	{"application/json", jsonForm},
	{"application/x-ndjson", linesForm}, {"application/ndjson", linesForm}, {"application/jsonl", linesForm}, {"application/x-jsonlines", linesForm},
	{"text/csv", csvForm},
	{"application/vnd.apache.parquet", parquetForm}, {"application/x-parquet", parquetForm}, {"application/parquet", parquetForm},
}

// mediaType returns the form of a request's body.
func mediaType(r *http.Request) (string, error) {
	given := r.Header.Get("Content-Type")
	kind := given
	if given != "application/json" {
		kind, _, _ = mime.ParseMediaType(given)
	}
	for _, m := range mediaTypes {
		if m.name == kind {
			return m.form, nil
		}
	}
	return "", failf(http.StatusUnsupportedMediaType, "Content-Type %q: expected application/json or text/csv, for our own API also application/x-ndjson or application/vnd.apache.parquet", given)
}

// table reads a body that is a table. If it streams, the table is read from the connection while
// answers are written.
func (s *Server) table(w http.ResponseWriter, r *http.Request, form string, streams bool) (table.Table, error) {
	opts := table.Options{Memory: s.options.Limits.Body, Items: true}
	var src io.Reader
	if streams && form != parquetForm {
		plain, err := s.plain(w, r)
		if err != nil {
			return nil, err
		}
		if err := http.NewResponseController(w).EnableFullDuplex(); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return nil, err
		}
		src = plain
	} else {
		// A client that reads nothing before it has sent all would wait for us, and we for it.
		body, err := s.body(w, r)
		if err != nil {
			return nil, err
		}
		if form == parquetForm {
			return asClients(table.NewParquet(r.Context(), body, "the request", opts))
		}
		src = bytes.NewReader(body)
	}
	return asClients(table.NewText(r.Context(), io.NopCloser(src), "the request", opts))
}

// asClients makes an error of opening a table the client's.
func asClients(t table.Table, err error) (table.Table, error) {
	if err == nil {
		return t, nil
	}
	if statusOf(err) == http.StatusInternalServerError && !errors.Is(err, context.Canceled) {
		err = badRequest("%w", err)
	}
	return nil, err
}

// answerForm is how an answer is written: the options of credence predict.
type answerForm struct {
	predict.Format
	levels []float64 // that the query names
}

// formParams describes the parameters that readForm reads.
func formParams() []*huma.Param {
	query := func(name, kind, about string) *huma.Param {
		return &huma.Param{Name: name, In: "query", Description: about, Schema: &huma.Schema{Type: kind}}
	}
	return []*huma.Param{
		query("version", "string", "a version; the newest if none is given"),
		query("format", "string", "json, jsonl, csv or parquet, whatever Accept says"),
		query("level", "number", "of the intervals; repeated for several, but not in JSON"),
		query("max_width", "number", "abstain where the predicted class's interval is wider"),
		query("min_top", "number", "abstain where the predicted class's p_top is smaller"),
		query("partial", "boolean", "do without items that cannot be predicted: marked in JSON and JSON lines of items, left out otherwise"),
		query("wide", "boolean", "one row per item; JSON lines have that unless it is false"),
		query("hpd", "boolean", "add highest-density sets"),
		query("full", "boolean", "add the parameters of the mixtures"),
		query("next", "boolean", "add what one further vote would gain"),
		query("top", "boolean", "false leaves p_top out"),
		query("only", "string", "mean: nothing but means"),
		query("names", "string", "credence or tidymodels"),
		query("digits", "string", "significant digits of numbers in CSV and JSON lines, or full"),
		query("csv_safe", "boolean", "put ' before texts that a spreadsheet would take for a formula"),
		query("batch", "integer", "answer so many items at a time while further ones are sent; the client has to read meanwhile"),
	}
}

// readForm reads the parameters of a request.
func readForm(r *http.Request, want *wanted) (*answerForm, error) {
	f := &answerForm{Format: predict.Format{Top: true}}
	f.Name = jsonForm
	if accept := r.Header.Get("Accept"); accept != "" && accept != "*/*" {
		f.Name = accepted(accept)
		f.Wide = f.Name == linesForm
	}
	digits := "6"
	if r.URL.RawQuery != "" {
		q := r.URL.Query()
		if err := f.query(q, want); err != nil {
			return nil, err
		}
		if text := q.Get("digits"); text != "" {
			digits = text
			f.Digits = 1 // whatever the form
		}
	}
	if f.Name == jsonForm && len(f.levels) > 1 {
		return nil, badRequest("JSON answers have one level: ask for JSON lines, CSV or Parquet")
	}
	n := 0
	if digits != "full" {
		var err error
		if n, err = strconv.Atoi(digits); err != nil || n < 1 || n > 17 {
			return nil, badRequest("digits %q: expected a number from 1 to 17, or full", digits)
		}
	}
	// All that is told is computed to as many digits; programs that read JSON and Parquet get all
	// of them unless told otherwise.
	f.Precision = predict.Digits(n).Precision()
	if f.Digits != 0 || f.Name == csvForm {
		f.Digits = predict.Digits(n)
	}
	return f, want.rule.check()
}

// accepted returns the form that an Accept header asks for first.
func accepted(header string) string {
	for _, part := range strings.Split(header, ",") {
		kind, _, _ := strings.Cut(part, ";")
		for _, m := range mediaTypes {
			if strings.TrimSpace(kind) == m.name {
				return m.form
			}
		}
	}
	return jsonForm
}

// query reads the query.
func (f *answerForm) query(q url.Values, want *wanted) error {
	truth := func(name string, to *bool) error {
		text := q.Get(name)
		if text == "" {
			return nil
		}
		b, err := strconv.ParseBool(text)
		if err != nil {
			return badRequest("%s %q: expected true or false", name, text)
		}
		*to = b
		return nil
	}
	number := func(name, text string, to *float64) error {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return badRequest("%s %q: expected a number", name, text)
		}
		*to = x
		return nil
	}
	if name := q.Get("format"); name != "" {
		if name != jsonForm && name != linesForm && name != csvForm && name != parquetForm {
			return badRequest("format %q: expected json, jsonl, csv or parquet", name)
		}
		f.Name, f.Wide = name, name == linesForm
	}
	errs := []error{truth("wide", &f.Wide), truth("hpd", &f.HPD), truth("full", &f.Full), truth("next", &f.Next), truth("top", &f.Top),
		truth("csv_safe", &f.CSVSafe), truth("partial", &want.partial)}
	for name, to := range map[string]*float64{"max_width": &want.rule.maxWidth, "min_top": &want.rule.minTop} {
		if text := q.Get(name); text != "" {
			errs = append(errs, number(name, text, to))
		}
	}
	for _, text := range q["level"] {
		errs = append(errs, number("level", text, &want.level), checkLevel(want.level))
		f.levels = append(f.levels, want.level)
	}
	if text := q.Get("batch"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			errs = append(errs, badRequest("batch %q: expected a number of items", text))
		}
		want.batch = min(n, batchRows)
	}
	f.OnlyMean, f.Tidymodels = q.Get("only") == "mean", q.Get("names") == "tidymodels"
	if only := q.Get("only"); only != "" && only != "mean" {
		errs = append(errs, badRequest("only %q: expected mean", only))
	}
	if names := q.Get("names"); names != "" && names != "tidymodels" && names != "credence" {
		errs = append(errs, badRequest("names %q: expected credence or tidymodels", names))
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
