package predict

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
)

// TestJSONAsEncodingJSON: numbers and texts are those of encoding/json, to the byte.
func TestJSONAsEncodingJSON(t *testing.T) {
	for _, x := range []float64{0, 1, -1, 0.1, 1e-6, 9.999e-7, 1e-7, 1.5e-10, 1e-100, 1e20, 1e21, -2.5e22, 1.0 / 3, math.MaxFloat64, math.SmallestNonzeroFloat64} {
		want, err := json.Marshal(x)
		if got := (&Form{}).appendNumber(nil, x); err != nil || string(got) != string(want) {
			t.Errorf("%v: %s, want %s", x, got, want)
		}
	}
	for _, s := range []string{"", "a b", `"`, `\`, "<&>", "ä", "\x00", "\xff", "\u2028", "tab\t"} {
		want, _ := json.Marshal(s)
		if got := appendString(nil, s); string(got) != string(want) {
			t.Errorf("%q: %s, want %s", s, got, want)
		}
	}
	for _, x := range []float64{math.NaN(), math.Inf(1)} {
		if got := appendNumbers(nil, []float64{1, x}); string(got) != "null" {
			t.Errorf("%v in a list: %s", x, got)
		}
	}
}

func TestWriteRows(t *testing.T) {
	columns := []Column{{Name: "id", Kind: Text}, {Name: "n", Kind: Whole}, {Name: "x", Kind: Number}, {Name: "b", Kind: Bool}}
	rows := [][]any{{"=1", int64(1e15), 1.0 / 3, true}, {`a,"b`, int64(-2), nil, false}}
	for _, c := range []struct {
		form Form
		want string
	}{
		{Form{Name: "csv", Digits: 3}, "id,n,x,b\n=1,1000000000000000,0.333,true\n\"a,\"\"b\",-2,,false\n"},
		{Form{Name: "csv", Digits: 3, CSVSafe: true}, "id,n,x,b\n'=1,1000000000000000,0.333,true\n\"a,\"\"b\",-2,,false\n"},
		{Form{Name: "jsonl"}, `{"id":"=1","n":1000000000000000,"x":0.3333333333333333,"b":true}` + "\n" + `{"id":"a,\"b","n":-2,"x":null,"b":false}` + "\n"},
	} {
		var b strings.Builder
		if err := WriteRows(&b, c.form, columns, rows); err != nil || b.String() != c.want {
			t.Errorf("%+v: %v %s, want %s", c.form, err, b.String(), c.want)
		}
	}
	var b bytes.Buffer
	if err := WriteRows(&b, Form{Name: "parquet"}, columns, rows); err != nil || !bytes.HasPrefix(b.Bytes(), []byte("PAR1")) {
		t.Errorf("Parquet: %v, %d bytes", err, b.Len())
	}
}
