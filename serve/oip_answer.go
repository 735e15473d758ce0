package serve

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"

	"credence/internal/prediction"
	"credence/internal/table"
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
	ModelName    string   `json:"model_name"`
	ModelVersion string   `json:"model_version"`
	ID           string   `json:"id,omitempty"`
	Outputs      []tensor `json:"outputs"`
	// Parameters has warnings, one per line: the protocol's parameters are texts, numbers and booleans.
	Parameters map[string]string `json:"parameters,omitempty"`
}

// output returns a tensor of the answers: [N] of what is told of an item, [N, d] of its classes.
func (t *told) output(name string) (tensor, error) {
	if name == "weights" || name == "alpha" {
		return t.parameters(name)
	}
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

// parameters returns the weights [N, K] or the parameters [N, K, d] of the mixtures. Laws of
// fewer components than others have further ones of weight 0.
func (t *told) parameters(name string) (tensor, error) {
	if !t.of.law {
		return tensor{}, badRequest("output %q: the model, by method %s, has none", name, t.of.model.Method.Name())
	}
	n, d, k := len(t.items), len(t.of.model.Classes), 0
	for j := range t.answers {
		k = max(k, t.answers[j].Law.K())
	}
	weights, alpha := make([]float64, n*k), make([]float64, n*k*d)
	for i := range alpha {
		alpha[i] = 1
	}
	for j := range t.answers {
		for c := range t.answers[j].Law.K() {
			w, a := t.answers[j].Law.Component(c)
			weights[j*k+c] = w
			copy(alpha[(j*k+c)*d:], a)
		}
	}
	if name == "weights" {
		return tensor{Name: name, Shape: []int64{int64(n), int64(k)}, Datatype: "FP64", Data: weights}, nil
	}
	return tensor{Name: name, Shape: []int64{int64(n), int64(k), int64(d)}, Datatype: "FP64", Data: alpha}, nil
}

// writeInfer writes the answer, binary outputs behind the JSON.
func (t *told) writeInfer(w http.ResponseWriter, id string, names []string, binary map[string]bool) error {
	out := inferResponse{ModelName: t.of.name, ModelVersion: t.of.version, ID: id}
	if len(t.warnings) > 0 {
		out.Parameters = map[string]string{"warnings": strings.Join(t.warnings, "\n")}
	}
	var rest []byte
	for _, name := range names {
		o, err := t.output(name)
		if err != nil {
			return err
		}
		if binary[name] {
			before := len(rest)
			rest = appendBinary(rest, o.Data)
			o.Data, o.Parameters = nil, map[string]any{"binary_data_size": len(rest) - before}
		} else if o.Data, err = finite(o.Data); err != nil {
			return err
		}
		out.Outputs = append(out.Outputs, o)
	}
	text, err := json.Marshal(out)
	if err != nil {
		return err
	}
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
