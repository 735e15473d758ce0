package serve

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"math"
	"testing"

	"credence/dataset"
)

func pack(t testing.TB, text []byte) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// FuzzScanner: the scanner accepts what encoding/json accepts, and reads the same strings and numbers.
func FuzzScanner(f *testing.F) {
	for _, s := range []string{`{"a":[1,-2.5e3,"x\u00e9\ud83d\ude00\n",true,null]}`, `[]`, `"\ud800"`, `01`, `1.`, `{"a":}`, ` 3 `, `"` + "\xff" + `"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s := newScanner(text)
		err := s.skip(0)
		if err == nil {
			err = s.end()
		}
		if bytes.Contains(text, []byte("NaN")) || bytes.Contains(text, []byte("Infinity")) || bytes.Count(text, []byte("["))+bytes.Count(text, []byte("{")) > 50 {
			return
		}
		if valid := json.Valid(text); valid != (err == nil) && !(valid && bytes.ContainsFunc(text, func(r rune) bool { return r == 0xfffd })) {
			t.Fatalf("%q: %v, but it is valid: %v", text, err, valid)
		}
		if err != nil {
			return
		}
		var want any
		if json.Unmarshal(text, &want) != nil {
			return
		}
		switch want := want.(type) {
		case string:
			if got, err := newScanner(text).String(); err != nil || string(got) != want {
				t.Errorf("%q, %v, want %q", got, err, want)
			}
		case float64:
			if got, err := newScanner(text).number(); err != nil || got != want {
				t.Errorf("%v, %v, want %v", got, err, want)
			}
		}
	})
}

// FuzzRequests: no request causes a panic or exceeds the limits.
func FuzzRequests(f *testing.F) {
	for _, s := range []string{
		`{"dataframe_split":{"columns":["age","sex"],"data":[[1,"f"]]}}`, `{"dataframe_records":[{"age":1},{"sex":"f"}]}`,
		`{"instances":[[1,"f"]]}`, `{"inputs":{"age":[1],"sex":["f"]}}`, `{"inputs":[[[1,2],[3]]]}`,
		`{"inputs":[{"name":"age","shape":[1],"datatype":"FP64","data":[1]}]}`,
		`{"inputs":[{"name":"sex","shape":[1],"datatype":"BYTES","parameters":{"binary_data_size":5}}]}` + "\x01\x00\x00\x00f",
	} {
		f.Add([]byte(s), 0)
		f.Add([]byte(s), len(s)-5)
	}
	columns := []dataset.Feature{{Name: "age"}, {Name: "sex", Kind: dataset.Categorical, Levels: []string{"f", "True"}}}
	limits := &Limits{Rows: 10, Columns: 10, Values: 100}
	m := &served{features: columns}
	f.Fuzz(func(t *testing.T, body []byte, length int) {
		in := reader{scanner: newScanner(body), features: columns, limits: limits}
		if frame, err := in.scoringInput(&predictOptions{level: 0.9}); err == nil {
			checkFrame(t, frame)
		}
		header := ""
		if length > 0 {
			header = string(rune('0' + length%10))
			if length < len(body) {
				text, _ := json.Marshal(length)
				header = string(text)
			}
		}
		req, rest, err := readInfer(body, header)
		if err != nil {
			return
		}
		if frame, err := m.tensors(req, rest, limits); err == nil {
			checkFrame(t, frame)
		}
	})
}

// FuzzVotes: no votes on items cause a panic or exceed the limits.
func FuzzVotes(f *testing.F) {
	for _, s := range []string{`{"a":{"no":2,"yes":1e-3},"b":[{"rater":"r","label":"yes"},{"label":"no"},{"label":"no","rater":"r"}]}`,
		`{"a":{"maybe":1}}`, `{"a":{"no":-1}}`, `{"":{"no":1}}`, `{"a":[{"label":""}]}`, `{"a":{"no":NaN}}`} {
		f.Add([]byte(s))
	}
	m := &served{model: fitted()[0]}
	f.Fuzz(func(t *testing.T, body []byte) {
		in := reader{scanner: newScanner(body), limits: &Limits{Rows: 3}}
		votes, err := in.votes()
		if err != nil {
			return
		}
		if votes.rows > 30 {
			t.Fatalf("%d votes", votes.rows)
		}
		c, err := m.matchVotes(t.Context(), votes)
		if err == nil && votes.rows > 0 && len(c.Items()) == 0 {
			t.Fatalf("%d votes on no item", votes.rows)
		}
		if err != nil && statusOf(err) == 500 {
			t.Fatalf("%v is no error of the client's", err)
		}
	})
}

func checkFrame(t *testing.T, f *frame) {
	t.Helper()
	if f.rows > 10 || len(f.columns) > 10 {
		t.Fatalf("%d rows of %d columns", f.rows, len(f.columns))
	}
	for range f.rows {
		if _, err := f.Next(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNumbers(t *testing.T) {
	for text, want := range map[string]float64{"NaN": math.NaN(), "-Infinity": math.Inf(-1), "1e400": math.Inf(1), "-0": math.Copysign(0, -1)} {
		got, err := newScanner([]byte(text)).number()
		if err != nil || math.Float64bits(got) != math.Float64bits(want) && !(got != got && want != want) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}
