package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"credence/dataset"
	"credence/internal/table"
	"credence/mixture"
	"credence/model"
	"credence/train"
)

// consents returns people with a boolean instead of the sex, spelled like levels; without levels it is 0 or 1.
func consents(n int, levels []string) *dataset.Dataset {
	ds := people(n)
	ds.Features[1] = dataset.Feature{Name: "ok", Kind: dataset.Categorical, Levels: levels}
	if levels == nil {
		ds.Features[1].Kind = dataset.Numeric
	}
	for i := range n { // the boolean matters
		ds.Counts[2*i], ds.Counts[2*i+1] = float32(1+3*(i%2)), float32(4-3*(i%2))
	}
	return ds
}

// booleanBodies returns requests for an item of age 30 with a boolean, in all formats.
func booleanBodies(t *testing.T, b bool) map[string][3]string {
	t.Helper()
	var file bytes.Buffer
	w, err := table.NewParquetWriter(&file, []table.ParquetColumn{{Name: "age", Kind: table.ParquetNumber}, {Name: "ok", Kind: table.ParquetBool}})
	if err == nil {
		err = w.Write(30.0, b)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	word, digit, bit := strconv.FormatBool(b), "0", "\x00"
	if b {
		digit, bit = "1", "\x01"
	}
	title, upper := strings.ToUpper(word[:1])+word[1:], strings.ToUpper(word)
	const infer, age = "/v2/models/first/infer", `{"name":"age","shape":[1],"datatype":"FP64","data":[30]}`
	oip := func(kind, value string) [3]string {
		return [3]string{infer, asJSON, fmt.Sprintf(`{"inputs":[%s,{"name":"ok","shape":[1],"datatype":%q,"data":[%s]}]}`, age, kind, value)}
	}
	bodies := map[string][3]string{
		"OIP BOOL": oip("BOOL", word), "OIP BOOL as a number": oip("BOOL", digit), "OIP INT8": oip("INT8", digit),
		"OIP BYTES": oip("BYTES", strconv.Quote(title)),
		"OIP binary": {infer, "application/octet-stream", `{"inputs":[` + age +
			`,{"name":"ok","shape":[1],"datatype":"BOOL","parameters":{"binary_data_size":1}}]}` + bit},
		"MLflow records":    {"/invocations", asJSON, `{"dataframe_records":[{"age":30,"ok":` + word + `}]}`},
		"MLflow split":      {"/invocations", asJSON, `{"dataframe_split":{"columns":["age","ok"],"data":[[30,` + word + `]]}}`},
		"MLflow inputs":     {"/invocations", asJSON, `{"inputs":{"age":[30],"ok":[` + word + `]}}`},
		"MLflow text":       {"/invocations", asJSON, `{"dataframe_records":[{"age":30,"ok":"` + title + `"}]}`},
		"our JSON":          {predictPath, asJSON, `{"items":[{"age":30,"ok":` + word + `}]}`},
		"our JSON lines":    {predictPath, "application/x-ndjson", `{"age":30,"ok":` + word + "}\n"},
		"our Parquet":       {predictPath, "application/vnd.apache.parquet", file.String()},
		"our JSON to lines": {predictPath + "?format=jsonl", asJSON, `{"items":[{"age":30,"ok":` + word + `}]}`},
		"Label Studio":      {"/predict", asJSON, `{"tasks":[{"id":1,"data":{"age":30,"ok":` + word + `}}]}`},
		"Label Studio text": {"/predict", asJSON, `{"tasks":[{"id":1,"data":{"age":30,"ok":"` + upper + `"}}]}`},
	}
	for _, s := range []string{word, title, upper, digit} {
		bodies["CSV "+s] = [3]string{predictPath, "text/csv", "age,ok\n30," + s + "\n"}
		bodies["MLflow CSV "+s] = [3]string{"/invocations", "text/csv", "age,ok\n30," + s + "\n"}
	}
	return bodies
}

// TestBooleans: a boolean gives the same prediction in every protocol and type, regardless of its spelling in training.
// Models of earlier builds have any of the spellings.
func TestBooleans(t *testing.T) {
	for _, levels := range [][]string{{"False", "True"}, {"false", "true"}, {"FALSE", "TRUE"}, nil} {
		fit, err := train.Fit(t.Context(), consents(60, levels), train.Options{Epochs: 20, Ensemble: 1, Widths: []int{4}, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "first")
		save(t, fit.Model, path)
		_, url := start(t, Options{Path: path})
		var means [2]float64
		for b := range means {
			ds := consents(1, levels)
			ds.Rows = &dataset.Memory{N: 1, W: 2, Values: []float32{30, float32(b)}}
			list, err := fit.Model.Predict(context.Background(), ds, model.PredictOptions{})
			if err != nil {
				t.Fatal(err)
			}
			classes, err := list[0].Reported().WithPrecision(mixture.SixDigits).Summarize(t.Context(), []float64{0.95}, false)
			if err != nil {
				t.Fatal(err)
			}
			means[b] = classes[1].Mean
			for name, c := range booleanBodies(t, b == 1) {
				header := []string{}
				if name == "OIP binary" {
					header = append(header, binaryHeader, strconv.Itoa(len(c[2])-1))
				}
				status, _, text := ask(t, "POST", url+c[0], c[1], c[2], header...)
				if got, err := meanOf(text); err != nil || status != 200 || got != means[b] && !(strings.HasPrefix(name, "Label") && got == classes[0].Mean) {
					t.Errorf("levels %q, %s, %v: %d, mean %v, want %v (%v): %s", levels, name, b == 1, status, got, means[b], err, text)
				}
				if strings.Contains(text, "warnings") {
					t.Errorf("levels %q, %s: %s", levels, name, text)
				}
			}
		}
		if means[0] == means[1] {
			t.Errorf("levels %q: the boolean changes nothing", levels)
		}
	}
}

// meanOf returns the mean of yes, or in Label Studio's format of the suggested class, from a response about one item.
func meanOf(text string) (float64, error) {
	var a struct {
		Mean        float64 `json:"mean_yes"`
		Predictions []struct {
			Mean float64 `json:"mean_yes"`
		}
		Outputs []struct {
			Name string
			Data json.RawMessage
		}
		Results []struct{ Result []struct{ Score float64 } }
	}
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		return 0, err
	}
	switch {
	case len(a.Predictions) == 1:
		return a.Predictions[0].Mean, nil
	case len(a.Results) == 1 && len(a.Results[0].Result) == 1:
		return a.Results[0].Result[0].Score, nil
	case len(a.Outputs) > 0 && a.Outputs[0].Name == "mean":
		var data []float64
		if err := json.Unmarshal(a.Outputs[0].Data, &data); err != nil || len(data) != 2 {
			return 0, fmt.Errorf("means %s: %v", a.Outputs[0].Data, err)
		}
		return data[1], nil
	}
	return a.Mean, nil
}

// TestBooleanVotes: labels of votes on items may be booleans in any spelling, and JSON booleans.
func TestBooleanVotes(t *testing.T) {
	ds := people(60)
	ds.Classes = []string{"False", "True"}
	fit, err := train.Fit(t.Context(), ds, train.Options{Epochs: 2, Ensemble: 1, Widths: []int{4}, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "first")
	save(t, fit.Model, path)
	_, url := start(t, Options{Path: path})
	var first string
	for _, votes := range []string{`{"True":1}`, `{"true":1}`, `[{"label":"True"}]`, `[{"label":"TRUE"}]`, `[{"label":true}]`} {
		status, _, text := ask(t, "POST", url+predictPath, asJSON, `{"items":[{"item":"a","age":30,"sex":"f"}],"votes":{"a":`+votes+`}}`)
		if first == "" {
			first = text
		}
		if status != 200 || text != first {
			t.Errorf("votes %s: %d %s, want %s", votes, status, text, first)
		}
	}
	const cut = `{"items":[{"item":"a","age":30,"sex":"f"}],"votes":{"a":[{"label":tru}]}}`
	if status, _, text := ask(t, "POST", url+predictPath, asJSON, cut); status != 400 {
		t.Error(status, text)
	}
}
