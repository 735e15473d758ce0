package serve

import (
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"credence/internal/table"
)

// apiPredict adds the prediction. Its body is read by the same reader as those of the other
// protocols, so huma only describes it.
func (s *Server) apiPredict(api huma.API, mux *http.ServeMux) {
	const path = "/api/v1/models/{model}/predict"
	item := &huma.Schema{Type: "object", AdditionalProperties: true, Description: "features by name; the column item holds the id"}
	request := &huma.Schema{Type: "object", Required: []string{"items"}, Properties: map[string]*huma.Schema{
		"items":   {Type: "array", Items: item},
		"level":   {Type: "number", Description: "of the intervals; 0.95 if none is given"},
		"outputs": {Type: "array", Items: &huma.Schema{Type: "string"}, Description: "which numbers are wanted; all but next_gain, weights and alpha if none are named"},
		"votes":   votesSchema(),
		"partial": {Type: "boolean", Description: "mark items that cannot be predicted with an error instead of refusing all"},
	}}
	answer := &huma.Schema{Type: "object", Required: []string{"model", "version", "level", "predictions"}, Properties: map[string]*huma.Schema{
		"model": {Type: "string"}, "version": {Type: "string"}, "level": {Type: "number"},
		"predictions": {Type: "array", Items: &huma.Schema{Type: "object", AdditionalProperties: true}},
		"warnings":    {Type: "array", Items: &huma.Schema{Type: "string"}, Description: "what looks wrong about the items; absent if nothing does"},
	}}
	text := func(about string) *huma.MediaType {
		return &huma.MediaType{Schema: &huma.Schema{Type: "string", Description: about}}
	}
	binary := &huma.MediaType{Schema: &huma.Schema{Type: "string", Format: "binary", Description: "an Apache Parquet file"}}
	op := &huma.Operation{OperationID: "predict", Method: "POST", Path: path, Summary: "Distributions of the class probabilities of items", Tags: []string{"predict"},
		Description: "Answers in the form that Accept or format asks for. JSON lines, CSV and Parquet are what credence predict writes with the flags of the same names as the parameters; they are sent while items are predicted. " +
			"What looks wrong about the items, such as levels that training did not have, is the array warnings of JSON answers, and the header " + warningsHeader + " of others.",
		Parameters: append([]*huma.Param{{Name: "model", In: "path", Required: true, Schema: &huma.Schema{Type: "string"}}}, formParams()...),
		RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
			"application/json": {Schema: request}, "text/csv": text("a table with a header"), "application/x-ndjson": text("one item per line"),
			"application/vnd.apache.parquet": binary}},
		Responses: map[string]*huma.Response{"200": {Description: "the predictions", Headers: map[string]*huma.Param{
			warningsHeader: {Description: warningsAbout, Schema: &huma.Schema{Type: "string"}}}, Content: map[string]*huma.MediaType{
			"application/json": {Schema: answer}, "application/x-ndjson": text("one object per item, on a line of its own"),
			"text/csv": text("one row per item and class"), "application/vnd.apache.parquet": binary}}},
	}
	api.OpenAPI().AddOperation(op)
	named := func(r *http.Request) (model, version string) {
		return r.PathValue("model"), r.URL.Query().Get("version")
	}
	s.modelRoute(mux, "POST "+path, apiErrors, named, s.apiPredictions)
}

// apiErrors answers an error in the form that huma's have.
func apiErrors(w http.ResponseWriter, status int, err error) {
	writeError(w, status, "application/problem+json", huma.NewError(status, err.Error()))
}

func (s *Server) apiPredictions(w http.ResponseWriter, r *http.Request, m *served) (err error) {
	want := s.wanted()
	defer func() {
		if err != nil && want.batch != 0 {
			// The rest of the body is not read: another request on the connection would be lost.
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
		return s.streamAnswers(w, r, m, t, want)
	}
	if err := checkLevel(want.level); err != nil {
		return err
	}
	text := []byte(`{"model":` + quote(m.name) + `,"version":` + quote(m.version) + `,"level":`)
	text = append(strconv.AppendFloat(text, want.level, 'g', -1, 64), `,"predictions":[`...)
	return s.answerList(w, r, m, t, want, text, (*answer).records)
}

// apiItems reads the items of a request, and what is asked of them.
func (s *Server) apiItems(w http.ResponseWriter, r *http.Request, m *served, want *wanted) (table.Table, error) {
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
		want.votes, err = m.cast(r.Context(), votes)
	}
	if err != nil {
		return nil, err
	}
	return f, f.finish()
}

// outputs takes the names of columns.
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
