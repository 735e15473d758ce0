package serve

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"credence/head"
	"credence/internal/array"
	"credence/predict"
)

// datatypes maps the kinds of fields to the protocol's datatypes.
var datatypes = map[predict.Kind]string{predict.Number: "FP64", predict.Bool: "BOOL", predict.Text: "BYTES"}

// outputs returns the default outputs of a prediction.
func (m *served) outputs() []tensorInfo {
	var list []tensorInfo
	for _, f := range predict.Outputs(m.dists) {
		if f.OnRequest {
			continue
		}
		info := tensorInfo{f.Name, datatypes[f.Kind], []int{-1}}
		if f.Per != predict.PerItem {
			info.Shape = append(info.Shape, len(m.model.Classes))
		}
		list = append(list, info)
	}
	return list
}

type inferResponse struct {
	ModelName    string `json:"model_name"`
	ModelVersion string `json:"model_version"`
	ID           string `json:"id,omitempty"`
	// Parameters has the warnings, one per line: the protocol allows only strings, numbers and booleans.
	Parameters map[string]string `json:"parameters,omitempty"`
	Outputs    []tensor          `json:"outputs,omitempty"` // written one by one
}

// inferOutputs are the requested output tensors, for all items of a request.
type inferOutputs struct {
	of      *served
	fields  []*predict.Field
	tensors []tensor      // in the order of fields; those of weights and alpha are built at the end
	dists   []predict.Row // distributions of the items, if weights or alpha are requested
}

// newInferOutputs returns an error if the model does not have one of the outputs.
func newInferOutputs(m *served, names []string) (*inferOutputs, error) {
	o := &inferOutputs{of: m, tensors: make([]tensor, len(names))}
	for i, name := range names {
		f := outputOf(name, m.dists)
		if f == nil {
			return nil, badRequest("output %q: not available with method %s", name, m.model.Method.Name())
		}
		o.fields = append(o.fields, f)
		o.tensors[i] = tensor{Name: name, Datatype: "FP64", Shape: []int{0}}
	}
	return o, nil
}

// tensorMemory is the approximate number of bytes per tensor value, including its text.
const tensorMemory = 48

// parameter reports whether a field is a parameter of the distributions.
func parameter(f *predict.Field) bool { return f.Name == "weights" || f.Name == "alpha" }

// add appends the values of a batch and returns their number.
func (o *inferOutputs) add(a *resultBatch) (values int) {
	d := len(o.of.model.Classes)
	if slices.ContainsFunc(o.fields, parameter) {
		for j := range a.items {
			dist := a.items[j].ReportedDist()
			o.dists = append(o.dists, predict.Row{Prediction: &predict.Prediction{Decoded: head.Decoded{Dist: dist}}})
			values += dist.K() * d
		}
	}
	for i, f := range o.fields {
		if parameter(f) {
			continue
		}
		more, perClass := f.Values(a.rows, d)
		to := &o.tensors[i]
		to.Datatype = datatypes[f.Kind]
		if perClass && len(to.Shape) == 1 {
			to.Shape = append(to.Shape, d)
		}
		to.Shape[0] += len(a.rows)
		values += len(a.rows) * max(1, d*int(oneIf(perClass)))
		if to.Data == nil {
			to.Data = more
		} else {
			to.Data = reflect.AppendSlice(reflect.ValueOf(to.Data), reflect.ValueOf(more)).Interface()
		}
	}
	return values
}

// parameters returns the weights [N, K] or the parameters [N, K, d] of the mixtures. Distributions with
// fewer than K components are padded with components of weight 0.
func (o *inferOutputs) parameters(f *predict.Field) tensor {
	s := predict.RecordShape{D: len(o.of.model.Classes)}
	for _, r := range o.dists {
		s.K = max(s.K, r.Dist.K())
	}
	values, shape := f.Numbers(o.dists, s)
	return tensor{Name: f.Name, Shape: append([]int{len(o.dists)}, shape...), Datatype: "FP64", Data: values}
}

// write writes the response, with binary outputs after the JSON. Outputs are converted one at a time, so that only the
// values of one output are in memory twice.
func (o *inferOutputs) write(ctx context.Context, w http.ResponseWriter, id string, binary map[string]bool, warnings []string, limits *Limits) error {
	response := inferResponse{ModelName: o.of.name, ModelVersion: o.of.version, ID: id}
	if len(warnings) > 0 {
		response.Parameters = map[string]string{"warnings": strings.Join(warnings, "\n")}
	}
	text, err := json.Marshal(response)
	if err != nil {
		return err
	}
	text = append(text[:len(text)-1], `,"outputs":[`...)
	var rest []byte
	for i, f := range o.fields {
		out := o.tensors[i]
		o.tensors[i].Data = nil
		if parameter(f) {
			out = o.parameters(f)
		}
		if binary[f.Name] {
			before := len(rest)
			rest = appendBinary(rest, out.Data)
			out.Data, out.Parameters = nil, map[string]any{"binary_data_size": len(rest) - before}
		}
		if i > 0 {
			text = append(text, ',')
		}
		if text, err = out.appendJSON(ctx, text); err != nil {
			return err
		}
		if err := cmp.Or(ctx.Err(), limits.checkResponse(int64(len(text)+len(rest)))); err != nil {
			return err
		}
	}
	text = append(text, "]}"...)
	w.Header().Set("Content-Type", "application/json")
	if rest != nil {
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set(binaryHeader, strconv.Itoa(len(text)))
	}
	if _, err = w.Write(text); err == nil && rest != nil {
		_, err = w.Write(rest)
	}
	return err
}

// appendJSON appends a tensor as encoding/json would encode it, in chunks, and stops when ctx is done.
func (t tensor) appendJSON(ctx context.Context, dst []byte) ([]byte, error) {
	data := t.Data
	t.Data = nil
	text, err := json.Marshal(t)
	if err != nil || data == nil {
		return append(dst, text...), err
	}
	dst = append(append(dst, text[:len(text)-1]...), `,"data":[`...)
	const most = 1 << 14
	list := reflect.ValueOf(data)
	for from := 0; from < list.Len(); from += most {
		text, err := json.Marshal(list.Slice(from, min(from+most, list.Len())).Interface())
		if _, ok := errors.AsType[*json.UnsupportedValueError](err); ok {
			return dst, errors.New("a prediction is not finite")
		}
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return dst, err
		}
		if from > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, text[1:len(text)-1]...)
	}
	return append(dst, "]}"...), nil
}

// inferInput is an input tensor with its decoded values.
type inferInput struct {
	tensor
	Data json.RawMessage `json:"data"` // unless the data are binary

	n      int // expected number of values
	values column
}

// inputTypes maps numeric datatypes to their size in bytes and their little-endian decoder.
var inputTypes = map[string]struct {
	size int
	read func(b []byte) float64
}{
	"BOOL":   {1, func(b []byte) float64 { return oneIf(b[0] != 0) }},
	"UINT8":  {1, func(b []byte) float64 { return float64(b[0]) }},
	"INT8":   {1, func(b []byte) float64 { return float64(int8(b[0])) }},
	"UINT16": {2, func(b []byte) float64 { return float64(le.Uint16(b)) }},
	"INT16":  {2, func(b []byte) float64 { return float64(int16(le.Uint16(b))) }},
	"FP16":   {2, func(b []byte) float64 { return float64(array.Half(le.Uint16(b))) }},
	"BF16":   {2, func(b []byte) float64 { return float64(math.Float32frombits(uint32(le.Uint16(b)) << 16)) }},
	"UINT32": {4, func(b []byte) float64 { return float64(le.Uint32(b)) }},
	"INT32":  {4, func(b []byte) float64 { return float64(int32(le.Uint32(b))) }},
	"FP32":   {4, func(b []byte) float64 { return float64(math.Float32frombits(le.Uint32(b))) }},
	"UINT64": {8, func(b []byte) float64 { return float64(le.Uint64(b)) }},
	"INT64":  {8, func(b []byte) float64 { return float64(int64(le.Uint64(b))) }},
	"FP64":   {8, func(b []byte) float64 { return math.Float64frombits(le.Uint64(b)) }},
}

var le = binary.LittleEndian

// binary decodes values in binary form.
func (in *inferInput) binary(data []byte) error {
	if in.Datatype == "BYTES" {
		return in.bytes(data)
	}
	t := inputTypes[in.Datatype]
	if len(data) != in.n*t.size {
		return badRequest("input %q: expected %d bytes for %d values of type %s, found %d", in.Name, in.n*t.size, in.n, in.Datatype, len(data))
	}
	in.values.nums = make([]float64, in.n)
	for i := range in.values.nums {
		in.values.nums[i] = t.read(data[i*t.size:])
	}
	return nil
}

// bytes decodes texts, each preceded by its length.
func (in *inferInput) bytes(data []byte) error {
	v := &in.values
	for len(data) > 0 && v.len() < in.n {
		if len(data) < 4 || uint64(le.Uint32(data)) > uint64(len(data)-4) {
			return badRequest("input %q: string %d extends beyond the data", in.Name, v.len()+1)
		}
		n := int(le.Uint32(data))
		v.addText(string(data[4 : 4+n]))
		data = data[4+n:]
	}
	if len(data) > 0 || v.len() != in.n {
		return badRequest("input %q: expected %d strings, found %d and %d more bytes", in.Name, in.n, v.len(), len(data))
	}
	return nil
}

// json reads values from a JSON array, flat or nested.
func (in *inferInput) json() error {
	if in.Data == nil {
		return badRequest("input %q has no data", in.Name)
	}
	s := newScanner(in.Data)
	if err := in.nested(s, 0); err != nil {
		return err
	}
	if got := in.values.len(); got != in.n {
		return badRequest("input %q: expected %d values by its shape, found %d", in.Name, in.n, got)
	}
	return s.end()
}

func (in *inferInput) nested(s scanner, depth int) error {
	if depth > 8 {
		return s.errorf("lists are nested more than eight deep")
	}
	return s.Array(func(int) error {
		if s.Peek() == '[' {
			return in.nested(s, depth+1)
		}
		if in.values.len() >= in.n {
			return badRequest("input %q: expected %d values by its shape, found more", in.Name, in.n)
		}
		if in.Datatype == "BYTES" {
			text, err := s.String()
			in.values.addText(string(text))
			return err
		}
		x, err := 0.0, error(nil)
		switch {
		case s.word("true"):
			x = 1
		case s.word("false"):
		case s.word("null"):
			x = math.NaN()
		default:
			x, err = s.number()
		}
		in.values.addNumber(x)
		return err
	})
}

// appendBinary appends an output in binary form.
func appendBinary(dst []byte, data any) []byte {
	texts, ok := data.([]string)
	if !ok { // numbers or booleans
		dst, _ = binary.Append(dst, le, data)
	}
	for _, x := range texts {
		dst = append(le.AppendUint32(dst, uint32(len(x))), x...)
	}
	return dst
}
