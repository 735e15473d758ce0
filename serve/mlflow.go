package serve

import (
	"cmp"
	"io"
	"net/http"

	"credence/internal/table"
)

// mlflow adds the routes of MLflow's scoring server. The protocol assumes a single model; if there are
// several, the query parameter "model" selects one.
func (s *Server) mlflow(mux *http.ServeMux) {
	s.route(mux, "GET /ping", mlflowErrors, func(w http.ResponseWriter, r *http.Request) error {
		_, err := io.WriteString(w, "\n")
		return err
	})
	s.route(mux, "GET /version", mlflowErrors, func(w http.ResponseWriter, r *http.Request) error {
		_, err := io.WriteString(w, s.options.Version)
		return err
	})
	named := func(r *http.Request) (model, version string) {
		return r.URL.Query().Get("model"), r.URL.Query().Get("version")
	}
	s.modelRoute(mux, "POST /invocations", mlflowErrors, named, s.invocations)
}

// mlflowErrors writes an error in MLflow's format.
func mlflowErrors(w http.ResponseWriter, status int, err error) {
	code := "INTERNAL_ERROR"
	switch {
	case status == http.StatusNotFound:
		code = "RESOURCE_DOES_NOT_EXIST"
	case status < 500:
		code = "BAD_REQUEST"
	}
	writeError(w, status, "application/json", map[string]string{"error_code": code, "message": err.Error()})
}

// invocations returns one record per row, with warnings as metadata next to them, which MLflow clients keep.
func (s *Server) invocations(w http.ResponseWriter, r *http.Request, m *served) error {
	want := s.defaultOptions()
	t, err := s.scoring(w, r, m, want)
	if err != nil {
		return err
	}
	return s.writeList(w, r, m, t, want, []byte(`{"predictions": [`), (*resultBatch).records)
}

// scoring reads the items of a request in any of its formats.
func (s *Server) scoring(w http.ResponseWriter, r *http.Request, m *served, want *predictOptions) (table.Table, error) {
	kind, err := mediaType(r)
	switch {
	case err != nil:
		return nil, err
	case kind == csvForm:
		return s.table(w, r, kind, false)
	case kind != jsonForm:
		return nil, failf(http.StatusUnsupportedMediaType, "Content-Type %q: expected application/json or text/csv", r.Header.Get("Content-Type"))
	}
	in, err := s.reader(w, r, m)
	if err != nil {
		return nil, err
	}
	return in.scoringInput(want)
}

// scoringInput reads one of dataframe_split, dataframe_records, instances and inputs, and optionally params.
func (r *reader) scoringInput(want *predictOptions) (*frame, error) {
	var f *frame
	var form string
	forms := map[string]func() (*frame, error){"dataframe_split": r.split, "dataframe_records": r.records,
		"instances": r.rowsOf, "inputs": r.inputs}
	err := r.whole(func(key []byte) error {
		name := string(key)
		if name == "params" {
			return r.params(want)
		}
		read, ok := forms[name]
		if !ok {
			return badRequest("expected one of dataframe_split, dataframe_records, instances and inputs, and optionally params, found %q", name)
		}
		if f != nil {
			return badRequest("expected one table of items, found both %q and %q", form, name)
		}
		var err error
		form = name
		f, err = read()
		return err
	})
	if err == nil && f == nil {
		err = badRequest("expected one of dataframe_split, dataframe_records, instances and inputs, found none")
	}
	if err != nil {
		return nil, err
	}
	return f, f.finish()
}

// params reads the options of a request; null selects the default.
func (r *reader) params(want *predictOptions) error {
	if r.word("null") {
		return nil
	}
	return r.Object(func(key []byte) (err error) {
		if string(key) != "level" {
			return badRequest(`params: expected {"level": 0.95}, found %q`, key)
		}
		if !r.word("null") {
			want.level, err = r.number()
		}
		return cmp.Or(err, checkLevel(want.level))
	})
}
