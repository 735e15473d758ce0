package serve

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"credence/internal/table"
	"credence/mixture"
	"credence/predict"
)

// apiPredict adds the prediction route. Its body is parsed by the same reader as those of the other
// protocols; huma is used only to document it.
func (s *Server) apiPredict(api huma.API, mux *http.ServeMux) {
	const path = "/api/v1/models/{model}/predict"
	item := &huma.Schema{Type: "object", AdditionalProperties: true, Description: "features by name; the field item is the id"}
	request := &huma.Schema{Type: "object", Required: []string{"items"}, Properties: map[string]*huma.Schema{
		"items":   {Type: "array", Items: item},
		"level":   {Type: "number", Description: "level of the intervals; default 0.95"},
		"outputs": {Type: "array", Items: &huma.Schema{Type: "string"}, Description: "outputs to return; default all but next_gain, weights, alpha and point"},
		"votes":   votesSchema(),
		"partial": {Type: "boolean", Description: "return an error for each item that cannot be predicted instead of rejecting the request"},
	}}
	response := &huma.Schema{Type: "object", Required: []string{"model", "version", "level", "predictions"}, Properties: map[string]*huma.Schema{
		"model": {Type: "string"}, "version": {Type: "string"}, "level": {Type: "number"},
		"predictions": {Type: "array", Items: &huma.Schema{Type: "object", AdditionalProperties: true}},
		"warnings":    {Type: "array", Items: &huma.Schema{Type: "string"}, Description: "warnings about the items; absent if there are none"},
	}}
	text := func(about string) *huma.MediaType {
		return &huma.MediaType{Schema: &huma.Schema{Type: "string", Description: about}}
	}
	binary := func(about string) *huma.MediaType {
		return &huma.MediaType{Schema: &huma.Schema{Type: "string", Format: "binary", Description: about}}
	}
	// Named schemas get short names in generated clients, which support JSON and bytes as bodies, but no other type.
	named := func(name string, s *huma.Schema) *huma.MediaType {
		api.OpenAPI().Components.Schemas.Map()[name] = s
		return &huma.MediaType{Schema: &huma.Schema{Ref: "#/components/schemas/" + name}}
	}
	op := &huma.Operation{OperationID: "predict", Method: "POST", Path: path, Summary: "Predict the distributions of the class probabilities of items", Tags: []string{"predict"},
		Description: "The format is that of Accept or of the parameter format. JSON lines, CSV, Parquet and Arrow streams are identical to the output of credence predict with the flags of the same names as the parameters, and are streamed while items are predicted. " +
			"A body of bytes is a table, with a header: CSV, JSON lines, Parquet or an Arrow stream, recognized by its content or sent as text/csv, application/x-ndjson, application/vnd.apache.parquet or " + arrowType + ". " +
			"Warnings about the items, such as category levels that are not in the training data, are in the array warnings of JSON responses, and in the header " + warningsHeader + " of others.",
		Parameters: append([]*huma.Param{{Name: "model", In: "path", Required: true, Schema: &huma.Schema{Type: "string"}}}, formParams()...),
		RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
			"application/json": named("PredictRequest", request), "application/octet-stream": binary("a table: CSV, JSON lines, Parquet or an Arrow stream")}},
		Responses: map[string]*huma.Response{"200": {Description: "the predictions", Headers: map[string]*huma.Param{
			warningsHeader: {Description: warningsAbout, Schema: &huma.Schema{Type: "string"}}}, Content: map[string]*huma.MediaType{
			"application/json": named("PredictResponse", response), "application/x-ndjson": text("one object per item and line"),
			"text/csv": text("one row per item and class"), "application/vnd.apache.parquet": binary("an Apache Parquet file"), arrowType: binary("an Arrow stream")}}},
	}
	api.OpenAPI().AddOperation(op)
	requested := func(r *http.Request) (model, version string) {
		return r.PathValue("model"), r.URL.Query().Get("version")
	}
	s.modelRoute(mux, "POST "+path, apiErrors, requested, s.apiPredictions)
}

// apiErrors writes an error in huma's format.
func apiErrors(w http.ResponseWriter, status int, err error) {
	writeError(w, status, "application/problem+json", huma.NewError(status, err.Error()))
}

func (s *Server) apiPredictions(w http.ResponseWriter, r *http.Request, m *served) (err error) {
	want := s.defaultOptions()
	defer func() {
		if err != nil && want.batch != 0 {
			// The rest of the body is not read, so the connection cannot be reused for another request.
			w.Header().Set("Connection", "close")
		}
	}()
	if err := want.readForm(r); err != nil {
		return err
	}
	if err := want.limits.checkLevels(len(want.Levels)); err != nil {
		return err
	}
	t, err := s.apiItems(w, r, m, want)
	if err != nil {
		return err
	}
	if want.Name != jsonForm {
		return s.streamPredictions(w, r, m, t, want)
	}
	if err := checkLevel(want.level); err != nil {
		return err
	}
	text := []byte(`{"model":` + quote(m.name) + `,"version":` + quote(m.version) + `,"level":`)
	text = append(strconv.AppendFloat(text, want.level, 'g', -1, 64), `,"predictions":[`...)
	return s.writeList(w, r, m, t, want, text, (*resultBatch).records)
}

// apiItems reads the items of a request, and the options in its body.
func (s *Server) apiItems(w http.ResponseWriter, r *http.Request, m *served, want *predictOptions) (table.Table, error) {
	kind, err := mediaType(r)
	if err != nil {
		return nil, err
	}
	if kind != jsonForm {
		return s.table(w, r, kind, want.batch != 0)
	}
	in, err := s.reader(w, r, m)
	if err != nil {
		return nil, err
	}
	var f, votes *frame
	err = in.whole(func(key []byte) (err error) {
		switch name := string(key); name {
		case "items":
			f, err = in.records()
		case "level":
			want.level, err = in.number()
		case "outputs":
			want.columns, err = in.outputs()
		case "votes":
			votes, err = in.votes()
		case "partial":
			if want.partial = in.word("true"); !want.partial && !in.word("false") {
				err = in.expected("true or false")
			}
		default:
			err = badRequest("found %q, expected items, level, outputs, votes or partial", name)
		}
		return err
	})
	if err == nil && f == nil {
		err = badRequest("the request has no items")
	}
	if err == nil {
		want.votes, err = m.matchVotes(r.Context(), votes)
	}
	if err != nil {
		return nil, err
	}
	return f, f.finish()
}

// outputs reads an array of output names.
func (r *reader) outputs() (map[string]bool, error) {
	var names []string
	err := r.Array(func(int) error {
		name, err := r.String()
		names = append(names, string(name))
		return err
	})
	if err != nil {
		return nil, err
	}
	return columnsOf(names)
}

// Formats of requests and responses.
const (
	jsonForm    = "json"
	linesForm   = "jsonl"
	csvForm     = "csv"
	parquetForm = "parquet"
	arrowForm   = "arrow"
	anyForm     = "any" // of a request: a table that is recognized by its content
)

// forms maps media types to formats.
var forms = map[string]string{
	"application/json":     jsonForm,
	"application/x-ndjson": linesForm, "application/ndjson": linesForm, "application/jsonl": linesForm, "application/x-jsonlines": linesForm,
	"text/csv":                       csvForm,
	"application/vnd.apache.parquet": parquetForm, "application/x-parquet": parquetForm, "application/parquet": parquetForm,
	"application/octet-stream": anyForm, arrowType: arrowForm,
}

// responseTypes maps formats to the media types of responses.
var responseTypes = map[string]string{linesForm: "application/x-ndjson", csvForm: "text/csv", parquetForm: "application/vnd.apache.parquet", arrowForm: arrowType}

// arrowType is the media type of Arrow streams.
const arrowType = "application/vnd.apache.arrow.stream"

// mediaType returns the format of a request's body.
func mediaType(r *http.Request) (string, error) {
	given := r.Header.Get("Content-Type")
	kind := given
	if given != "application/json" {
		kind, _, _ = mime.ParseMediaType(given)
	}
	if form, ok := forms[kind]; ok {
		return form, nil
	}
	return "", failf(http.StatusUnsupportedMediaType, "Content-Type %q: expected application/json or text/csv; for /api/v1 also application/x-ndjson, application/vnd.apache.parquet or application/vnd.apache.arrow.stream", given)
}

// table returns the table in a body. If streams is true, it is read from the connection while the
// response is being written.
func (s *Server) table(w http.ResponseWriter, r *http.Request, form string, streams bool) (t table.Table, err error) {
	opts := table.Options{Memory: s.options.Limits.Body, Items: true}
	var src io.Reader
	var body []byte
	if streams && form != parquetForm && form != arrowForm && form != anyForm {
		if src, err = s.plain(w, r); err != nil {
			return nil, err
		}
		if err := http.NewResponseController(w).EnableFullDuplex(); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return nil, err
		}
	} else {
		// Reading while writing would deadlock with a client that sends the whole request before it reads.
		if body, err = s.body(w, r); err != nil {
			return nil, err
		}
		src = bytes.NewReader(body)
	}
	if form == anyForm && bytes.HasPrefix(body, []byte("PAR1")) {
		form = parquetForm
	}
	switch form {
	case parquetForm:
		t, err = table.NewParquet(r.Context(), body, "the request", opts)
	case arrowForm:
		if !bytes.HasPrefix(body, []byte("\xff\xff\xff\xff")) {
			return nil, badRequest("the request: expected an Arrow stream (IPC streaming format), found other bytes")
		}
		t, err = table.NewPiped(r.Context(), io.NopCloser(src), "the request", opts)
	default: // an Arrow stream is recognized by its first bytes
		t, err = table.NewPiped(r.Context(), io.NopCloser(src), "the request", opts)
	}
	if err != nil && statusOf(err) == http.StatusInternalServerError {
		err = badRequest("%w", err) // it is the client's table that cannot be opened
	}
	return t, err
}

// formParams documents the query parameters that readForm reads.
func formParams() []*huma.Param {
	query := func(name, kind, about string) *huma.Param {
		return &huma.Param{Name: name, In: "query", Description: about, Schema: &huma.Schema{Type: kind}}
	}
	return []*huma.Param{
		query("version", "string", "version of the model; default the newest"),
		query("format", "string", "json, jsonl, csv, parquet or arrow; overrides Accept"),
		query("level", "number", "level of the intervals; may be repeated, except for JSON"),
		query("max_width", "number", "abstain if the interval of the predicted class is wider"),
		query("min_top", "number", "abstain if p_top of the predicted class is smaller"),
		query("partial", "boolean", "do not reject the request if items cannot be predicted: they have an error in JSON and JSON lines, and are omitted otherwise"),
		query("wide", "boolean", "one row per item; default true for JSON lines"),
		query("hpd", "boolean", "add highest-density sets"),
		query("full", "boolean", "add the parameters of the mixtures"),
		query("next", "boolean", "add the expected reduction in variance by one more vote"),
		query("top", "boolean", "false omits p_top"),
		query("point", "string", "add the optimum of a score: wasserstein, manhattan, absolute, zero-one or mean"),
		query("votes_expected", "integer", "votes per item that the point is compared with, 0 for the probabilities; default their mean number in training"),
		query("as", "string", "name of a rater of training: predict the rater's votes in place of an average rater's"),
		query("only", "string", "mean: return only means"),
		query("names", "string", "naming of columns: credence or tidymodels"),
		query("digits", "string", "significant digits of numbers in CSV and JSON lines, or full"),
		query("csv_safe", "boolean", "put ' before strings that a spreadsheet would interpret as a formula"),
		query("batch", "integer", "batch size: items are predicted in batches while the request is still being sent; the client must read the response at the same time"),
	}
}

// readForm reads the Accept header and the query parameters of a request.
func (w *predictOptions) readForm(r *http.Request) error {
	w.Top, w.Name = true, jsonForm
	if accept := r.Header.Get("Accept"); accept != "" && accept != "*/*" {
		w.Name = accepted(accept)
		w.Wide = w.Name == linesForm
	}
	digits := ""
	if r.URL.RawQuery != "" {
		q := r.URL.Query()
		if err := w.query(q); err != nil {
			return err
		}
		digits = q.Get("digits")
	}
	if w.Name == jsonForm && len(w.Levels) > 1 {
		return badRequest("JSON responses have a single level: request JSON lines, CSV, Parquet or Arrow")
	}
	n := 0
	if digits != "full" {
		var err error
		if n, err = strconv.Atoi(cmp.Or(digits, "6")); err != nil || n < 1 || n > 17 {
			return badRequest("digits %q: expected a number from 1 to 17, or full", digits)
		}
	}
	// Results are computed to this precision. JSON and Parquet are not rounded to it unless the request
	// gives the number of digits.
	w.Precision = predict.Digits(n).Precision()
	if digits != "" || w.Name == csvForm {
		w.Digits = predict.Digits(n)
	}
	return checkAbstention(w.MaxWidth, w.MinTop)
}

// accepted returns the first supported format in an Accept header.
func accepted(header string) string {
	for _, entry := range strings.Split(header, ",") {
		kind, _, _ := strings.Cut(entry, ";")
		if form, ok := forms[strings.TrimSpace(kind)]; ok && form != anyForm {
			return form
		}
	}
	return jsonForm
}

// query reads the query parameters. If several are invalid, it returns the first error.
func (w *predictOptions) query(q url.Values) (err error) {
	fail := func(name, text, expected string) {
		err = cmp.Or(err, badRequest("%s %q: expected %s", name, text, expected))
	}
	choice := func(name, expected string, choices ...string) string {
		text := q.Get(name)
		if text != "" && !slices.Contains(choices, text) {
			fail(name, text, expected)
		}
		return text
	}
	number := func(name, text string, to *float64) {
		if x, err := strconv.ParseFloat(text, 64); err == nil {
			*to = x
		} else {
			fail(name, text, "a number")
		}
	}
	if name := choice("format", "json, jsonl, csv, parquet or arrow", jsonForm, linesForm, csvForm, parquetForm, arrowForm); name != "" {
		w.Name, w.Wide = name, name == linesForm
	}
	for _, x := range []struct {
		name string
		to   *bool
	}{{"wide", &w.Wide}, {"hpd", &w.HPD}, {"full", &w.Full}, {"next", &w.Next}, {"top", &w.Top}, {"csv_safe", &w.CSVSafe}, {"partial", &w.partial}} {
		if text := q.Get(x.name); text != "" {
			truth, err := strconv.ParseBool(text)
			if *x.to = truth; err != nil {
				fail(x.name, text, "true or false")
			}
		}
	}
	w.score, w.expect = choice("point", "one of "+strings.Join(mixture.ScoreNames(), ", "), mixture.ScoreNames()...), q.Get("votes_expected")
	w.who = q.Get("as")
	for name, to := range map[string]*float64{"max_width": &w.MaxWidth, "min_top": &w.MinTop} {
		if text := q.Get(name); text != "" {
			number(name, text, to)
		}
	}
	for _, text := range q["level"] {
		number("level", text, &w.level)
		err = cmp.Or(err, checkLevel(w.level))
		w.Levels = append(w.Levels, w.level)
	}
	if text := q.Get("batch"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			fail("batch", text, "a positive number of items")
		}
		w.batch = min(n, batchRows)
	}
	w.OnlyMean = choice("only", "mean", "mean") == "mean"
	w.Tidymodels = choice("names", "credence or tidymodels", "credence", "tidymodels") == "tidymodels"
	return err
}
