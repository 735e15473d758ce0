package serve

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
)

// outputs returns what a prediction consists of, that of weights and alpha on request only.
func (m *served) outputs() []tensorInfo {
	d := int64(len(m.model.Classes))
	list := []tensorInfo{{"mean", "FP64", []int64{-1, d}}}
	if m.model.Traits().Joint {
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
}

// output returns a tensor of the answers.
func (t *told) output(name string) (tensor, error) {
	n, d := int64(len(t.items)), int64(len(t.of.model.Classes))
	grid := func(x []float64) (tensor, error) {
		if x == nil {
			return tensor{}, badRequest("output %q: the model, by method %s, has none", name, t.of.model.Method.Name())
		}
		return tensor{Name: name, Shape: []int64{n, d}, Datatype: "FP64", Data: x}, nil
	}
	vector := func(x []float64) (tensor, error) {
		out, err := grid(x)
		out.Shape = []int64{n}
		return out, err
	}
	switch name {
	case "mean":
		return grid(t.mean)
	case "sd":
		return grid(t.sd)
	case "median":
		return grid(t.median)
	case "lower":
		return grid(t.lower)
	case "upper":
		return grid(t.upper)
	case "lower_bound":
		return grid(t.lowerBound)
	case "upper_bound":
		return grid(t.upperBound)
	case "p_top":
		return grid(t.top)
	case "entropy":
		return vector(t.entropy)
	case "information":
		return vector(t.information)
	case "next_gain":
		return vector(t.gain)
	case "at_least":
		if t.atLeast == nil {
			return grid(nil)
		}
		return tensor{Name: name, Shape: []int64{n, d}, Datatype: "BOOL", Data: t.atLeast}, nil
	case "predicted":
		list := make([]string, n)
		for j, i := range t.predicted {
			list[j] = t.of.model.Classes[i]
		}
		return tensor{Name: name, Shape: []int64{n}, Datatype: "BYTES", Data: list}, nil
	}
	return t.parameters(name)
}

// parameters returns the weights [N, K] or the parameters [N, K, d] of the mixtures. Laws of
// fewer components than others have further ones of weight 0.
func (t *told) parameters(name string) (tensor, error) {
	if !t.of.model.Traits().Joint {
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
