package serve

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"credence/dataset"
)

// The Open Inference Protocol, version 2, as implemented by KServe, Triton and MLServer. Errors are
// objects with a single field, "error".

// tensor is an input or output of a request, as JSON.
type tensor struct {
	Name       string         `json:"name"`
	Shape      []int          `json:"shape"`
	Datatype   string         `json:"datatype"`
	Parameters map[string]any `json:"parameters,omitempty"`
	Data       any            `json:"data,omitempty"`
}

// tensorInfo describes an input or output of a model; −1 is a variable length.
type tensorInfo struct {
	Name     string `json:"name"`
	Datatype string `json:"datatype"`
	Shape    []int  `json:"shape"`
}

type modelMetadata struct {
	Name     string       `json:"name"`
	Versions []string     `json:"versions"`
	Platform string       `json:"platform"`
	Inputs   []tensorInfo `json:"inputs"`
	Outputs  []tensorInfo `json:"outputs"`
}

// oip adds the routes of the protocol.
func (s *Server) oip(mux *http.ServeMux) {
	s.route(mux, "GET /v2", oipErrors, func(w http.ResponseWriter, r *http.Request) error {
		return writeJSON(w, map[string]any{"name": "credence", "version": s.options.Version, "extensions": []string{"binary_tensor_data", "model_repository", "model_configuration", "statistics"}})
	})
	s.route(mux, "GET /v2/health/live", oipErrors, func(w http.ResponseWriter, r *http.Request) error {
		return writeJSON(w, map[string]bool{"live": true})
	})
	s.route(mux, "GET /v2/health/ready", oipErrors, s.ready)
	s.route(mux, "POST /v2/repository/index", oipErrors, s.repositoryIndex)
	named := func(r *http.Request) (model, version string) { return r.PathValue("model"), r.PathValue("version") }
	for _, at := range []string{"/v2/models/{model}", "/v2/models/{model}/versions/{version}"} {
		s.modelRoute(mux, "GET "+at, oipErrors, named, s.modelMetadata)
		s.modelRoute(mux, "GET "+at+"/ready", oipErrors, named, func(w http.ResponseWriter, r *http.Request, m *served) error {
			return writeJSON(w, map[string]any{"name": m.name, "ready": true})
		})
		s.modelRoute(mux, "GET "+at+"/config", oipErrors, named, s.modelConfig)
		s.modelRoute(mux, "GET "+at+"/stats", oipErrors, named, s.modelStats)
		s.modelRoute(mux, "POST "+at+"/infer", oipErrors, named, func(w http.ResponseWriter, r *http.Request, m *served) error {
			start := time.Now()
			n, err := s.infer(w, r, m)
			s.countInfer(m, start, n, err)
			return err
		})
	}
	s.route(mux, "GET /v2/models/stats", oipErrors, s.allStats)
}

// ready reports whether the server is fully operational, including the vote file. Predictions do not need
// votes: the ready route of a model succeeds even while votes cannot be written.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) error {
	if s.draining.Load() {
		return failf(http.StatusServiceUnavailable, "the server is shutting down")
	}
	if s.votes != nil {
		if err := s.votes.Failed(); err != nil {
			return failf(http.StatusServiceUnavailable, "%w", err)
		}
	}
	return writeJSON(w, map[string]bool{"ready": true})
}

func (s *Server) repositoryIndex(w http.ResponseWriter, r *http.Request) error {
	type entry struct {
		Name    string `json:"name"`
		Version string `json:"version"`
		State   string `json:"state"`
		Reason  string `json:"reason"`
	}
	list := []entry{}
	for m := range s.registry.current.Load().all() {
		list = append(list, entry{m.name, m.version, "READY", ""})
	}
	return writeJSON(w, list)
}

// modelMetadata returns the inputs and outputs of a model.
func (s *Server) modelMetadata(w http.ResponseWriter, r *http.Request, m *served) error {
	meta := modelMetadata{Name: m.name, Platform: "credence", Inputs: m.inputs(), Outputs: m.outputs()}
	for _, v := range s.registry.current.Load().models[m.name] {
		meta.Versions = append(meta.Versions, v.version)
	}
	return writeJSON(w, meta)
}

// inputs describes the inputs of the model, one per feature.
func (m *served) inputs() []tensorInfo {
	var list []tensorInfo
	for _, p := range m.features {
		info := tensorInfo{p.Name, "FP64", []int{-1}}
		switch p.Kind {
		case dataset.Numeric:
		case dataset.Tensor:
			info.Datatype, info.Shape = "FP32", append(info.Shape, p.Shape...)
		default:
			info.Datatype = "BYTES"
		}
		list = append(list, info)
	}
	return list
}

// inferRequest is the JSON of an inference request.
type inferRequest struct {
	ID         string         `json:"id"`
	Parameters map[string]any `json:"parameters"`
	Inputs     []inferInput   `json:"inputs"`
	Outputs    []struct {
		Name       string         `json:"name"`
		Parameters map[string]any `json:"parameters"`
	} `json:"outputs"`
}

// binaryHeader is the name of the header with the length of the JSON that precedes binary tensors.
const binaryHeader = "Inference-Header-Content-Length"

// infer handles inference requests and returns the number of items.
func (s *Server) infer(w http.ResponseWriter, r *http.Request, m *served) (items int, err error) {
	body, err := s.body(w, r)
	if err != nil {
		return 0, err
	}
	req, rest, err := readInfer(body, r.Header.Get(binaryHeader))
	if err != nil {
		return 0, err
	}
	want := s.defaultOptions()
	if v, ok := req.Parameters["level"]; ok {
		if want.level, ok = v.(float64); !ok {
			return 0, badRequest("parameter level: expected a number, found %v", v)
		}
	}
	if err := checkLevel(want.level); err != nil {
		return 0, err
	}
	if v, ok := req.Parameters["point"]; ok {
		want.score = fmt.Sprint(v)
	}
	if v, ok := req.Parameters["as"]; ok {
		want.who = fmt.Sprint(v)
	}
	if v, ok := req.Parameters["votes_expected"]; ok {
		want.expect = fmt.Sprint(v)
	}
	binary := map[string]bool{}
	var names []string
	for _, o := range req.Outputs {
		names = append(names, o.Name)
		binary[o.Name] = o.Parameters["binary_data"] == true
	}
	if want.columns, err = columnsOf(names); err != nil {
		return 0, err
	}
	f, err := m.tensors(req, rest, &s.options.Limits)
	if err != nil {
		return 0, err
	}
	if names == nil {
		for _, o := range m.outputs() {
			names = append(names, o.Name)
			binary[o.Name] = req.Parameters["binary_data_output"] == true
		}
	}
	out, err := newInferOutputs(m, names)
	if err != nil {
		return 0, err
	}
	p, err := s.predict(r.Context(), m, f, want, func(a *resultBatch) error {
		return s.hold(w, tensorMemory*int64(out.add(a)))
	})
	if err != nil {
		return 0, err
	}
	return f.rows, out.write(r.Context(), w, req.ID, binary, p.warnings(true), want.limits)
}

// readInfer splits a body into the JSON and the binary data after it.
func readInfer(body []byte, header string) (*inferRequest, []byte, error) {
	var rest []byte
	if header != "" {
		n, err := strconv.Atoi(header)
		if err != nil || n < 0 || n > len(body) {
			return nil, nil, badRequest("%s %q: expected a length of at most %d bytes, the length of the body", binaryHeader, header, len(body))
		}
		body, rest = body[:n], body[n:]
	}
	var req inferRequest
	if err := json.Unmarshal(body, &req); err != nil {
		return nil, nil, badRequest("malformed inference request: %w", err)
	}
	if len(req.Inputs) == 0 {
		return nil, nil, badRequest("the request has no inputs")
	}
	return &req, rest, nil
}

// tensors converts the inputs to a frame: one tensor per feature, or a single matrix with all features.
func (m *served) tensors(req *inferRequest, rest []byte, limits *Limits) (*frame, error) {
	f := &frame{}
	for i := range req.Inputs {
		in := &req.Inputs[i]
		n, width, err := checkShape(in.Name, in.Shape, limits)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			f.rows = n
		} else if n != f.rows {
			return nil, badRequest("input %q: expected %d rows as in %q, found %d", in.Name, f.rows, req.Inputs[0].Name, n)
		}
		in.values.name, in.n = in.Name, n*width
		if _, ok := inputTypes[in.Datatype]; !ok && in.Datatype != "BYTES" {
			return nil, badRequest("input %q: datatype %q: expected BOOL, INT8 to INT64, UINT8 to UINT64, FP16, BF16, "+
				"FP32, FP64 or BYTES", in.Name, in.Datatype)
		}
		if size, ok := in.Parameters["binary_data_size"]; ok {
			x, ok := size.(float64)
			if !ok || x < 0 || x > float64(len(rest)) || x != math.Trunc(x) {
				return nil, badRequest("input %q: binary_data_size %v: expected at most %d, the remaining bytes of the body", in.Name, size, len(rest))
			}
			err = in.binary(rest[:int(x)])
			rest = rest[int(x):]
		} else {
			err = in.json()
		}
		if err == nil {
			err = m.addInput(f, in, n, width)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(rest) > 0 {
		return nil, badRequest("%d bytes of the body do not belong to any input", len(rest))
	}
	return f, f.finish()
}

// checkShape returns the number of rows of a tensor and the number of values per row.
func checkShape(name string, shape []int, limits *Limits) (n, width int, err error) {
	if len(shape) == 0 {
		return 0, 0, badRequest("input %q has no shape", name)
	}
	total := 1
	for _, k := range shape {
		if k < 0 || k > 0 && total > limits.Values/k {
			return 0, 0, failf(413, "input %q: shape %v: expected at most %d values", name, shape, limits.Values)
		}
		total *= k
	}
	if shape[0] > limits.Rows {
		return 0, 0, failf(413, "input %q: too many rows: expected at most %d", name, limits.Rows)
	}
	if shape[0] == 0 {
		return 0, 0, nil
	}
	return shape[0], total / shape[0], nil
}

// addInput adds a tensor of n rows to the frame.
func (m *served) addInput(f *frame, in *inferInput, n, width int) error {
	feature, before, texts := m.features.find(in.Name), len(f.columns), in.Datatype == "BYTES"
	notNumeric := func(p dataset.Feature) bool { return p.Kind != dataset.Numeric }
	if feature == nil && width == len(m.features) && width > 1 && before == 0 && !texts && !slices.ContainsFunc(m.features, notNumeric) {
		// A single matrix with all features, in the model's order.
		for k, p := range m.features {
			c := &f.columns[f.column(p.Name)]
			for i := range n {
				c.addNumber(in.values.nums[i*width+k])
			}
		}
		return nil
	}
	at := f.column(in.Name)
	if at < before {
		return badRequest("duplicate input %q", in.Name)
	}
	c := &f.columns[at]
	switch single := width == 1 && (feature == nil || feature.Kind != dataset.Tensor); {
	case texts && width != 1:
		return badRequest("input %q: expected strings of shape [rows] or [rows, 1], found %d per row", in.Name, width)
	case single && in.Datatype == "BOOL":
		for _, x := range in.values.nums {
			c.addBool(x != 0, feature)
		}
	case single || texts:
		*c = in.values
	default:
		for i := range n {
			list := make([]float32, width)
			for k := range list {
				list[k] = float32(in.values.nums[i*width+k])
			}
			c.addList(list)
		}
	}
	return nil
}

// oipErrors writes an error in the format of the protocol.
func oipErrors(w http.ResponseWriter, status int, err error) {
	writeError(w, status, "application/json", map[string]string{"error": err.Error()})
}

// writeError writes an error response with v as JSON and kind as the content type.
func writeError(w http.ResponseWriter, status int, kind string, v any) {
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	text, _ := json.Marshal(v)
	w.Write(append(text, '\n'))
}

// writeJSON responds with a value as JSON.
func writeJSON(w http.ResponseWriter, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encoding the response: %w", err)
	}
	return writeText(w, append(text, '\n'))
}

// writeText responds with JSON text. It sets Content-Length, so that the response is not chunked.
func writeText(w http.ResponseWriter, text []byte) error {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	_, err := w.Write(text)
	return err
}
