package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"

	"credence/head"
	"credence/internal/prediction"
	"credence/internal/table"
	"credence/mixture"
)

// outputs returns what a prediction consists of, that of weights and alpha on request only.
func (m *served) outputs() []tensorInfo {
	d := int64(len(m.model.Classes))
	list := []tensorInfo{{"mean", "FP64", []int64{-1, d}}}
	if m.law {
		for _, name := range []string{"sd", "median", "lower", "upper", "lower_bound", "upper_bound", "p_top"} {
			list = append(list, tensorInfo{name, "FP64", []int64{-1, d}})
		}
		list = append(list, tensorInfo{"at_least", "BOOL", []int64{-1, d}},
			tensorInfo{"entropy", "FP64", []int64{-1}}, tensorInfo{"information", "FP64", []int64{-1}})
	}
	return append(list, tensorInfo{"predicted", "BYTES", []int64{-1}})
}

type inferResponse struct {
	ModelName    string `json:"model_name"`
	ModelVersion string `json:"model_version"`
	ID           string `json:"id,omitempty"`
	// Parameters has warnings, one per line: the protocol's parameters are texts, numbers and booleans.
	Parameters map[string]string `json:"parameters,omitempty"`
	Outputs    []tensor          `json:"outputs,omitempty"` // written one by one
}

// output returns a tensor of the answers: [N] of what is told of an item, [N, d] of its classes.
func (t *told) output(name string) (tensor, error) {
	places := t.places(name)
	if places == nil {
		return tensor{}, badRequest("output %q: the model, by method %s, has none", name, t.of.model.Method.Name())
	}
	out := tensor{Name: name, Shape: []int64{int64(len(t.items))}}
	first := t.maker.Columns()[places[0]]
	if first.Class >= 0 {
		out.Shape = append(out.Shape, int64(len(places)))
	}
	switch first.Kind {
	case table.ParquetText:
		out.Datatype, out.Data = "BYTES", gather(t, places, func(c *prediction.Cell) string { return c.Text })
	case table.ParquetBool:
		out.Datatype, out.Data = "BOOL", gather(t, places, func(c *prediction.Cell) bool { return c.Number != 0 })
	default:
		out.Datatype, out.Data = "FP64", gather(t, places, func(c *prediction.Cell) float64 { return c.Number })
	}
	return out, nil
}

// gather returns the values at the given places of all rows.
func gather[T any](t *told, places []int, value func(*prediction.Cell) T) []T {
	list := make([]T, 0, len(t.items)*len(places))
	for j := range t.items {
		row := t.row(j)
		for _, i := range places {
			list = append(list, value(&row[i]))
		}
	}
	return list
}

// inferOutputs are the tensors that a request names, of all its items.
type inferOutputs struct {
	of      *served
	names   []string
	tensors []tensor             // in the order of names; those of weights and alpha are made in the end
	laws    []*mixture.Dirichlet // of the items, where weights or alpha are asked for
}

// tensorMemory is about how much memory a value of a tensor takes, its text included.
const tensorMemory = 48

// add appends the outputs of further items and returns their number of values.
func (o *inferOutputs) add(t *told) (values int, err error) {
	for i, name := range o.names {
		if name == "weights" || name == "alpha" {
			if !t.of.law {
				return 0, badRequest("output %q: the model, by method %s, has none", name, t.of.model.Method.Name())
			}
			if len(o.laws) < t.first+len(t.items) {
				o.laws = append(o.laws, head.Laws(t.answers)...)
			}
			for _, law := range o.laws[t.first:] {
				values += law.K() * len(t.of.model.Classes)
			}
			continue
		}
		more, err := t.output(name)
		if err != nil {
			return 0, err
		}
		values += len(t.items) * len(t.places(name))
		if to := &o.tensors[i]; to.Data == nil {
			*to = more
		} else {
			to.Shape[0] += more.Shape[0]
			to.Data = concatenate(to.Data, more.Data)
		}
	}
	return values, nil
}

// concatenate returns the values of a tensor followed by those of another of the same type.
func concatenate(to, more any) any {
	switch to := to.(type) {
	case []string:
		return append(to, more.([]string)...)
	case []bool:
		return append(to, more.([]bool)...)
	default:
		return append(to.([]float64), more.([]float64)...)
	}
}

// parameters returns the weights [N, K] or the parameters [N, K, d] of the mixtures. Laws of
// fewer components than others have further ones of weight 0.
func (o *inferOutputs) parameters(name string) tensor {
	n, d, k := len(o.laws), len(o.of.model.Classes), 0
	for _, law := range o.laws {
		k = max(k, law.K())
	}
	weights, alpha := make([]float64, n*k), make([]float64, n*k*d)
	for i := range alpha {
		alpha[i] = 1
	}
	for j, law := range o.laws {
		for c := range law.K() {
			w, a := law.Component(c)
			weights[j*k+c] = w
			copy(alpha[(j*k+c)*d:], a)
		}
	}
	if name == "weights" {
		return tensor{Name: name, Shape: []int64{int64(n), int64(k)}, Datatype: "FP64", Data: weights}
	}
	return tensor{Name: name, Shape: []int64{int64(n), int64(k), int64(d)}, Datatype: "FP64", Data: alpha}
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
	for i, name := range o.names {
		out := o.tensors[i]
		o.tensors[i].Data = nil
		if name == "weights" || name == "alpha" {
			out = o.parameters(name)
		}
		if binary[name] {
			before := len(rest)
			rest = appendBinary(rest, out.Data)
			out.Data, out.Parameters = nil, map[string]any{"binary_data_size": len(rest) - before}
		} else if out.Data, err = finite(out.Data); err != nil {
			return err
		}
		one, err := json.Marshal(out)
		if err != nil {
			return err
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, one...)
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

// finite makes sure that JSON can hold the numbers.
func finite(data any) (any, error) {
	if list, ok := data.([]float64); ok {
		for _, x := range list {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return nil, errors.New("an answer is not finite")
			}
		}
	}
	return data, nil
}
