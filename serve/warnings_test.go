package serve

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestUnknownLevels: every protocol warns about a level that was not in training.
func TestUnknownLevels(t *testing.T) {
	_, url := start(t, Options{})
	const want = `column "sex": 1 of 1 value have a level that is not in the training data, such as "ü", and are treated as unknown`
	for name, c := range map[string]struct{ path, kind, body string }{
		"OIP": {"/v2/models/first/infer", asJSON, `{"inputs":[{"name":"age","shape":[1],"datatype":"FP64","data":[30]},` +
			`{"name":"sex","shape":[1],"datatype":"BYTES","data":["%s"]}]}`},
		"MLflow":       {"/invocations", asJSON, `{"dataframe_records":[{"age":30,"sex":"%s"}]}`},
		"MLflow CSV":   {"/invocations", "text/csv", "age,sex\n30,%s\n"},
		"Label Studio": {"/predict", asJSON, `{"tasks":[{"id":1,"data":{"age":30,"sex":"%s"}}]}`},
		"our JSON":     {predictPath, asJSON, `{"items":[{"age":30,"sex":"%s"}]}`},
	} {
		_, _, text := ask(t, "POST", url+c.path, c.kind, fmt.Sprintf(c.body, "ü"))
		var got struct {
			Warnings   []string
			Parameters map[string]string
		}
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Errorf("%s: %v: %s", name, err, text)
			continue
		}
		if found := strings.Join(append(got.Warnings, got.Parameters["warnings"]), ""); found != want {
			t.Errorf("%s: warnings %q, want %q", name, found, want)
		}
		_, _, text = ask(t, "POST", url+c.path, c.kind, fmt.Sprintf(c.body, "f"))
		if strings.Contains(text, "warnings") || strings.Contains(text, "parameters") {
			t.Errorf("%s without an unknown level: %s", name, text)
		}
	}
	for _, form := range []string{"csv", "jsonl", "parquet"} {
		_, header, text := ask(t, "POST", url+predictPath+"?format="+form, asJSON, `{"items":[{"age":30,"sex":"ü"}]}`)
		var got []string
		if err := json.Unmarshal([]byte(header.Get(warningsHeader)), &got); err != nil || len(got) != 1 || got[0] != want || text == "" {
			t.Errorf("%s: the header has %q (%v), want %q", form, header.Get(warningsHeader), err, want)
		}
		if _, header, _ := ask(t, "POST", url+predictPath+"?format="+form, asJSON, `{"items":[{"age":30,"sex":"f"}]}`); header.Get(warningsHeader) != "" {
			t.Errorf("%s without an unknown level: the header has %q", form, header.Get(warningsHeader))
		}
	}
}

// TestWarningsTrailer: warnings about rows after the start of the response are in the trailer.
func TestWarningsTrailer(t *testing.T) {
	_, url := start(t, Options{})
	body := "age,sex\n" + strings.Repeat("30,f\n", 2*batchRows) + "30,z\n"
	resp, err := http.Post(url+predictPath+"?format=csv&only=mean", "text/csv", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	if got := resp.Header.Get(warningsHeader); got != "" {
		t.Errorf("the header has %q, before the row is read", got)
	}
	want := `["column \"sex\": 1 of 2,049 values have a level that is not in the training data, such as \"z\", and are treated as unknown"]`
	if got := resp.Trailer.Get(warningsHeader); got != want {
		t.Errorf("the trailer has %q, want %q", got, want)
	}
}

func TestHeaderText(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for _, c := range []struct {
		list []string
		want string
	}{
		{[]string{"a \"b\"\n\x7f"}, `["a \"b\"\n\u007f"]`},
		{[]string{"ä", "😀", "\xff"}, `["\u00e4","\ud83d\ude00","\ufffd"]`},
		{[]string{long, long, long, long, "y"}, `["` + long + `","` + long + `","` + long +
			`","2 further warnings too long for a header: see a JSON response"]`},
	} {
		got := headerText(c.list)
		if got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
		if !json.Valid([]byte(got)) {
			t.Errorf("%s is no JSON", got)
		}
	}
}
