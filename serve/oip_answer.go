package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"credence/head"
	"credence/predict"
)

// datatypes are the protocol's names of the types of fields.
var datatypes = map[predict.Kind]string{predict.Number: "FP64", predict.Bool: "BOOL", predict.Text: "BYTES"}

// outputs returns what a prediction consists of, unless a request names outputs.
func (m *served) outputs() []tensorInfo {
	var list []tensorInfo
	for _, f := range predict.Outputs(m.law) {
		if f.OnRequest {
			continue
		}
		info := tensorInfo{f.Name, datatypes[f.Kind], []int64{-1}}
		if f.Per != predict.PerItem {
			info.Shape = append(info.Shape, int64(len(m.model.Classes)))
		}
		list = append(list, info)
	}
	return list
}

type inferResponse struct {
	ModelName    string `json:"model_name"`
	ModelVersion string `json:"model_version"`
	ID           string `json:"id,omitempty"`
	// Parameters has warnings, one per line: the protocol's parameters are texts, numbers and booleans.
	Parameters map[string]string `json:"parameters,omitempty"`
	Outputs    []tensor          `json:"outputs,omitempty"` // written one by one
}

// inferOutputs are the tensors that a request names, of all its items.
type inferOutputs struct {
	of      *served
	fields  []*predict.Field
	tensors []tensor      // in the order of fields; those of weights and alpha are made in the end
	dists   []predict.Row // of the items, where weights or alpha are asked for
}

// newInferOutputs refuses outputs that the model does not have.
func newInferOutputs(m *served, names []string) (*inferOutputs, error) {
	o := &inferOutputs{of: m, tensors: make([]tensor, len(names))}
	for i, name := range names {
		f := outputOf(name, m.law)
		if f == nil {
			return nil, badRequest("output %q: the model, by method %s, has none", name, m.model.Method.Name())
		}
		o.fields = append(o.fields, f)
		o.tensors[i] = tensor{Name: name, Datatype: "FP64", Shape: []int64{0}}
	}
	return o, nil
}

// tensorMemory is about how much memory a value of a tensor takes, its text included.
const tensorMemory = 48

// parameter reports whether a field is one of the parameters of distributions.
func parameter(f *predict.Field) bool { return f.Name == "weights" || f.Name == "alpha" }

// add appends the values of further items, and returns how many these are.
func (o *inferOutputs) add(a *answer) (values int) {
	d := len(o.of.model.Classes)
	if slices.ContainsFunc(o.fields, parameter) {
		for j := range a.items {
			law := a.items[j].Law
			o.dists = append(o.dists, predict.Row{Prediction: &predict.Prediction{Answer: head.Answer{Law: law}}})
			values += law.K() * d
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
			to.Shape = append(to.Shape, int64(d))
		}
		to.Shape[0] += int64(len(a.rows))
		values += len(a.rows) * max(1, d*int(oneIf(perClass)))
		if to.Data == nil {
			to.Data = more
		} else {
			to.Data = reflect.AppendSlice(reflect.ValueOf(to.Data), reflect.ValueOf(more)).Interface()
		}
	}
	return values
}

// parameters returns the weights [N, K] or the parameters [N, K, d] of the mixtures. Distributions of
// fewer components than others have further ones of weight 0.
func (o *inferOutputs) parameters(f *predict.Field) tensor {
	s := predict.RecordShape{D: len(o.of.model.Classes)}
	for _, r := range o.dists {
		s.K = max(s.K, r.Law.K())
	}
	values, shape := f.Numbers(o.dists, s)
	t := tensor{Name: f.Name, Shape: []int64{int64(len(o.dists))}, Datatype: "FP64", Data: values}
	for _, n := range shape {
		t.Shape = append(t.Shape, int64(n))
	}
	return t
}

// write writes the answer, binary outputs behind the JSON. Outputs become text one after the other, so that the values of
// one at a time are in memory twice.
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
		if err := cmp.Or(ctx.Err(), limits.checkAnswer(int64(len(text)+len(rest)))); err != nil {
			return err
		}
	}
	text = append(text, "]}"...)
	if rest == nil {
		w.Header().Set("Content-Type", "application/json")
		_, err = w.Write(text)
		return err
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set(binaryHeader, strconv.Itoa(len(text)))
	if _, err := w.Write(text); err != nil {
		return err
	}
	_, err = w.Write(rest)
	return err
}

// appendJSON appends a tensor as encoding/json writes it, some values at a time, and stops when ctx is done.
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
			return dst, errors.New("an answer is not finite")
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
