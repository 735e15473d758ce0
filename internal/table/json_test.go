package table

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"credence/internal/budget"
	"credence/internal/fault"
)

// written returns the path of a file with the given text.
func written(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// dump returns all records of a table as lines, the header with roles first.
func dump(t Table) (string, error) {
	var b strings.Builder
	roles := t.Traits().Roles
	for i, name := range t.Header() {
		if i > 0 {
			b.WriteByte('|')
		}
		b.WriteString(name)
		if roles != nil {
			fmt.Fprintf(&b, ":%d", roles[i])
		}
		if t.Unread(i) != nil {
			b.WriteByte('!')
		}
	}
	for {
		rec, err := t.Next()
		if err == io.EOF {
			return b.String(), nil
		}
		if err != nil {
			return b.String(), err
		}
		b.WriteByte('\n')
		for i := range rec {
			if i > 0 {
				b.WriteByte('|')
			}
			if rec[i].Kind == VectorCell {
				fmt.Fprint(&b, rec[i].Vec)
			} else {
				b.WriteString(rec[i].String())
			}
		}
	}
}

const brexit = `{
 "1": {"text": "one, \u00e9\ud83d\ude00", "annotation task": "hate", "number of annotations": 3, "annotations": "0,0,1",
  "annotators": "Ann1,Ann2,Ann3", "lang": "en", "hard_label": "0", "soft_label": {"0": 0.67, "1": 0.33}, "split": "dev",
  "other_info": {"other annotations": {"aggressive": "1,0,0"}, "annotators group": "a,a,b", "group": "x,y,z", "domain": "A"}},
 "2": {"text": "two", "annotation task": "hate", "number of annotations": 2, "annotations": "1, 0",
  "annotators": "Ann1,Ann4", "lang": "en", "soft_label": {"0": 0.5, "1": 0.5}, "split": "dev", "other_info": {"domain": "B", "more": [1]}},
 "3": {"text": "three", "annotations": "", "annotators": "", "soft_label": {"0": "", "1": ""}, "other_info": {"domain": "B"}}
}`

const studio = `[
 {"id": 7, "data": {"text": "a", "image": "/data/local-files/?d=img/x.png", "meta": {"n": 1}}, "agreement": 50, "predictions": [{"result": [{"value": {"choices": ["Pos"]}}]}],
  "annotations": [
   {"id": 1, "completed_by": 3, "was_cancelled": false, "result": [{"from_name": "mood", "type": "choices", "value": {"choices": ["Pos"]}}]},
   {"id": 2, "completed_by": {"id": 4, "email": "x@y.org"}, "ground_truth": true, "result": [{"from_name": "mood", "value": {"choices": ["Neg"]}}, {"from_name": "box", "value": {"x": 1}}]},
   {"id": 3, "completed_by": 5, "was_cancelled": true, "result": [{"from_name": "mood", "value": {"choices": ["Neg"]}}]},
   {"id": 4, "completed_by": 6, "result": []},
   {"id": 5, "completed_by": 8, "result": [{"from_name": "mood", "value": {"choices": ["Neg", "Pos"]}}]}]},
 {"id": 8, "data": {"text": "b", "image": null}, "annotations": []}
]`

func TestJSON(t *testing.T) {
	for _, c := range []struct {
		name, file, text string
		items            bool
		want             string
	}{
		{"records", "x.json", `[{"id": 1, "x": 1.50, "y": null, "z": {"a": true, "b": [1, null, 2]}}, {"x": "text", "id": "b", "new": NaN}]`, false,
			"id|x|y|z.a|z.b|new\n1|1.5||true|[1 NaN 2]|\nb|text||||"},
		{"lines", "x.jsonl", "{\"a\": 1, \"b\": [\"x\"]}\n\n{\"a\": 12345678901234567890, \"b\": []}\n", false, "a|b!\n1|\n12345678901234567890|"},
		{"lines of another name", "x.json", "{\"a\": 1}\n{\"a\": 2}", false, "a\n1\n2"},
		{"records by id", "x.json", `{"p": {"a": 1}, "q": {"a": 2, "b": -0.0}}`, false, "id:1|a:0|b:0\np|1|\nq|2|0"},
		{"JSON under another name", "x.txt", `[{"a": "b"}]`, false, "a\nb"},
		{"LeWiDi votes", "x.json", brexit, false,
			"id:1|text:6|annotation task:5|number of annotations:5|lang:5|hard_label:5|soft_label.0:5|soft_label.1:5|split:5|other_info.domain:0|annotators:2|annotations:3|aggressive:4\n" +
				"1|one, é😀|hate|3|en|0|0.67|0.33|dev|A|Ann1|0|1\n1|one, é😀|hate|3|en|0|0.67|0.33|dev|A|Ann2|0|0\n1|one, é😀|hate|3|en|0|0.67|0.33|dev|A|Ann3|1|0\n" +
				"2|two|hate|2|en||0.5|0.5|dev|B|Ann1|1|\n2|two|hate|2|en||0.5|0.5|dev|B|Ann4|0|"},
		{"turns, and a scale that is cut", "x.json", `{"a": {"text": "{\"agent\": \"hi\", \"user\": \"you\"}", "annotations": "-2,1", "annotators": "A,B", "soft_label": {"0": 0.5, "1": 0.5}},
			"b": {"text": {"agent": "ho", "user": "me"}, "annotations": "0,1", "annotators": "A,B", "soft_label": {"0": 1.0, "1": 0.0}}}`, false,
			"id:1|text.agent:6|text.user:6|soft_label.0:5|soft_label.1:5|annotators:2|annotations:3\na|hi|you|0.5|0.5|A|1\na|hi|you|0.5|0.5|B|0\nb|ho|me|1|0|A|0\nb|ho|me|1|0|B|0"},
		{"labels by annotator, as a list", "x.json", `[{"id": "u", "text": "t", "annotations": {"A1": "3", "A2": "1,2", "A3": 4}, "annotators": "A1,A2,A3"},
			{"id": "v", "text": "s", "annotations": [2, null], "annotators": ["A1", "A9"]}]`, false,
			"id:1|text:6|annotators:2|annotations:3\nu|t|A1|3\nu|t|A2|\nu|t|A3|4\nv|s|A1|2\nv|s|A9|"},
		{"Label Studio", "x.json", studio, false, "id:1|text:0|image:0|meta.n:0|annotator:2|mood:3\n7|a|img/x.png|1|3|Pos\n7|a|img/x.png|1|x@y.org|Neg\n7|a|img/x.png|1|8|"},
		{"Label Studio's tasks", "x.json", studio, true, "id:1|text:0|image:0|meta.n:0|annotator:2|mood:3\n7|a|img/x.png|1||\n8|b||||"},
		{"tasks to label", "x.json", `[{"data": {"id": 5, "text": "a"}}]`, true, "id:1|data.id:0|text:0|annotator:2|choice:3\n0|5|a||"},
		{"JSON-MIN", "x.json", `[{"text": "a", "id": 1, "mood": "Pos", "annotator": 3, "annotation_id": 9, "lead_time": 1.5},
			{"text": "a", "id": 1, "mood": {"choices": ["Neg", "Pos"]}, "annotator": 4, "annotation_id": 10, "lead_time": 2}]`, false,
			"text:0|id:1|mood:3|annotator:2|annotation_id:5|lead_time:5\na|1|Pos|3|9|1.5\na|1||4|10|2"},
		{"JSON-MIN's tasks", "x.json", `[{"text": "a", "id": 1, "mood": "Pos", "annotator": 3, "annotation_id": 9}, {"text": "a", "id": 1, "mood": "Neg", "annotator": 4, "annotation_id": 10}]`, true,
			"text:0|id:1|mood:3|annotator:2|annotation_id:5\na|1|Pos|3|9"},
	} {
		t.Run(c.name, func(t *testing.T) {
			table, err := Open(t.Context(), written(t, c.file, c.text), Options{Items: c.items})
			if err != nil {
				t.Fatal(err)
			}
			defer table.Close()
			got, err := dump(table)
			if got != c.want || err != nil {
				t.Errorf("%v\n%s\nwant\n%s", err, got, c.want)
			}
			if _, err := table.Next(); err != io.EOF {
				t.Errorf("after the end: %v", err)
			}
		})
	}
}

func TestJSONNotes(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{studio, "[1 cancelled annotation left out 1 annotation without a choice left out 1 response with several choices left out, such as the one to mood on task 7, line 8: a vote is for a single class]"},
		{`{"a": {"text": "x", "annotations": "0,1", "number of annotations": 3, "annotators": "A,B"}}`, "[1 item with a wrong stated number of annotations: item a states 3 and has 2]"},
		{brexit, "[]"},
	} {
		table, err := Open(t.Context(), written(t, "x.json", c.text), Options{})
		if err != nil {
			t.Fatal(err)
		}
		dump(table)
		if got := fmt.Sprint(table.Notes()); got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
		table.Close()
	}
}

func TestJSONRefuses(t *testing.T) {
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	for _, c := range []struct{ file, text, want string }{
		{"x.json", "", "the file is empty"},
		{"x.json", " \n", "the file is empty"},
		{"x.json", "[]", "no items"},
		{"x.json", "{}", "no items"},
		{"x.json", "12", `line 1, column 1: expected a list of records or an object of items by id, found "12"`},
		{"x.json", "[1, 2]", `line 1, column 2: item 1: expected an object, found "1"`},
		{"x.json", "[{\"a\": 1},\n {\"a\": 2", "line 2, column 9: unexpected end of the file within a value: it is truncated"},
		{"x.json", "[{\"a\": \"b", "line 1, column 8: unexpected end of the file within the text that begins here: it is truncated"},
		{"x.json", "[{\"a\": 1}\n{\"a\": 2}]", `line 2, column 1: expected a comma or ']', found "{\"a\""`},
		{"x.json", `[{"a": 1},]`, "line 1, column 11: unexpected comma before ']'"},
		{"x.json", `[{"a": 01}]`, `line 1, column 8: expected a value, found "01"`},
		{"x.json", `[{"a": nul}]`, `line 1, column 8: expected a value, found "nul"`},
		{"x.json", `[{'a': 1}]`, `line 1, column 3: expected a key in quotes, found "'a'"`},
		{"x.json", `[{"a": 1, "a": 2}]`, `line 1, column 15: duplicate key "a"`},
		{"x.json", "[{\"a\": \"x\ny\"}]", `line 1, column 10: control character within a text: expected \n, \t or \u000a`},
		{"x.json", "[{\"a\": \"\\q\"}]", `line 1, column 10: invalid escape: 'q' after a backslash`},
		{"x.json", "[{\"a\": \"\\u12g4\"}]", `line 1, column 13: expected four hexadecimal digits after \u`},
		{"x.json", "[{\"a\": \"\xff\"}]", "line 1, column 8: the text is not UTF-8: save the file as UTF-8"},
		{"x.json", "[{\"a\": " + deep + "}]", "line 1, column 108: values nested deeper than 100 levels"},
		{"x.json", `{"a": {"x": 1}, "a": {"x": 2}}`, `items["a"]: duplicate key: items 1 and 2 have it`},
		{"x.json", "{\"a\": {\"x\": 1}}\n{}", `line 2, column 1: expected the end of the file, found "{": if every line is a record, name the file .jsonl`},
		{"x.json", `{"age": {"0": 1, "1": 2}, "sex": {"0": "m", "1": "f"}}`, `line 1: expected one object per item, found a column "age" with the values [0, 1]`},
		{"x.json", `{"version": 1, "items": [{"a": 1}]}`, `line 1: expected a list of records, found an object with the keys [version, items]: write only the list under "items"`},
		{"x.json", "{\"5\": {\"text\": \"x\",\n \"annotations\": \"0,1,1\", \"annotators\": \"A,B\"}}", `items["5"]: expected one annotator per annotation, found 3 annotations and 2 annotators`},
		{"x.json", `[{"id": 3, "data": {}, "annotations": [4]}]`, `items[0]: task 3: expected an annotation with a "result", found a number`},
		{"x.json", `[{"id": 3, "data": {"mood": 1}, "annotations": [{"result": [{"from_name": "mood", "value": {"choices": ["a"]}}]}]}]`, `"mood" names both a value of the items and something else`},
		{"x.json", "\xff\xfe[\x00", "the text is UTF-16"},
	} {
		table, err := Open(t.Context(), written(t, c.file, c.text), Options{})
		if err == nil {
			_, err = dump(table)
			table.Close()
		}
		if err == nil || !strings.Contains(err.Error(), ": "+c.want) {
			t.Errorf("%.60q: %v\nwant %s", c.text, err, c.want)
		}
	}
}

// A stream is read once: its first item names the columns.
func TestJSONStream(t *testing.T) {
	read := func(text string) (string, error) {
		table, err := NewText(t.Context(), io.NopCloser(strings.NewReader(text)), Stdin, Options{Items: true})
		if err != nil {
			return "", err
		}
		return dump(table)
	}
	if got, err := read("\ufeff {\"a\": 1, \"b\": null}\n{\"b\": 2}\n"); err != nil || got != "a|b\n1|\n|2" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := read(brexit); err != nil || strings.Count(got, "\n") != 3 {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := read("{\"a\": 1}\n{\"b\": 2}"); err == nil || !strings.Contains(err.Error(), `line 2: unexpected key "b"`) {
		t.Error(err)
	}
	if got, err := read("[x],{y}\n1,2\n"); err != nil || got != "[x]|{y}\n1|2" {
		t.Errorf("CSV: %q, %v", got, err)
	}
}

// Input that arrives line by line is returned line by line.
func TestJSONComes(t *testing.T) {
	r, w := io.Pipe()
	go io.WriteString(w, "{\"a\": 1}\n")
	table, err := NewText(t.Context(), r, Stdin, Options{})
	for k := range 3 {
		if err != nil {
			t.Fatal(err)
		}
		var rec []Cell
		if rec, err = table.Next(); err == nil && rec[0].Whole != int64(k+1) {
			t.Errorf("record %d: %v", k, rec)
		}
		go fmt.Fprintf(w, "{\"a\": %d}\n", k+2)
	}
	w.Close()
}

func TestJSONPacked(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, `[{"a": 1}]`)
	z.Close()
	table, err := Open(t.Context(), written(t, "x.json.gz", b.String()), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	if got, err := dump(table); got != "a\n1" || err != nil {
		t.Error(got, err)
	}
	_, err = Open(t.Context(), written(t, "x.json.gz", b.String()[:b.Len()-9]), Options{})
	if err == nil {
		t.Error("a file that is cut short was read")
	}
}

// Texts that would take more memory than allowed are an error.
func TestJSONLimits(t *testing.T) {
	const limit = budget.Least
	head := strings.NewReader
	for name, text := range map[string][]byte{
		"a long text":  packed(t, head(`[{"a": "`), &endless{text: "xxxxxxxx", n: 8 << 20}, head(`"}]`)),
		"a long list":  packed(t, head(`[{"a": [`), &endless{text: "1,", n: 4 << 20}, head(`1]}]`)),
		"many columns": packed(t, head("["), manyKeys(200_000), head(`{"a":1}]`)),
	} {
		path := written(t, "x.json.gz", string(text))
		if _, err := Open(t.Context(), path, Options{Memory: limit}); !errors.Is(err, budget.ErrMemory) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// manyKeys writes n items, each with a different key.
func manyKeys(n int) io.Reader {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "{\"k%d\":1},", i)
	}
	return &b
}

func TestStack(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	item := func(id, text, labels, raters string) string {
		return fmt.Sprintf(`"%s": {"text": "%s", "annotations": "%s", "annotators": "%s"}`, id, text, labels, raters)
	}
	train := write("train.json", "{"+item("1", "a", "0,1", "A,B")+"}")
	dev := write("dev.json", "{"+item("1", "b", "1", "C")+"}")
	more := write("more.json", "{"+item("1", "a", "1", "D")+", "+item("2", "c", "0", "D")+"}")
	for _, c := range []struct {
		paths []string
		items bool
		want  string
	}{
		{[]string{train, dev}, false, "id:1|text:6|annotators:2|annotations:3\ntrain/1|a|A|0\ntrain/1|a|B|1\ndev/1|b|C|1"},
		{[]string{train, more}, false, "id:1|text:6|annotators:2|annotations:3\n1|a|A|0\n1|a|B|1\n1|a|D|1\n2|c|D|0"},
		{[]string{train, more}, true, "id:1|text:6|annotators:2|annotations:3\n1|a||\n2|c||"},
	} {
		table, err := OpenStack(t.Context(), c.paths, Options{Items: c.items})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := dump(table); got != c.want || err != nil {
			t.Errorf("%v\n%s\nwant\n%s", err, got, c.want)
		}
		if got := table.Name(); got != strings.Join(c.paths, ", ") {
			t.Error(got)
		}
		table.Close()
	}
}

// FuzzJSON compares the scanner with the standard library, and reads tables.
func FuzzJSON(f *testing.F) {
	for _, text := range []string{brexit, studio, `[{"a": [1, null], "b": {"c": "\ud83d\ude00\ud800"}}]`, "{\"a\": -1.5e+3}\n{\"a\": NaN}", `{"a": {"0": 1}}`,
		`[{"text": "a", "id": 1, "m": "P", "annotator": 3, "annotation_id": 9}]`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := parseJSON(string(text))
		var want any
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		werr := d.Decode(&want)
		if werr == nil && d.More() {
			werr = errors.New("more")
		}
		_, rest := d.Token()
		// Ours accepts NaN and infinities, and rejects deep values, repeated keys and texts that
		// are not UTF-8.
		if err == nil && werr == nil && rest == io.EOF && fmt.Sprint(generic(&v)) != fmt.Sprint(want) {
			t.Errorf("%q: %v, want %v", text, generic(&v), want)
		}
		if err == nil && werr != nil && !bytes.Contains(text, []byte("NaN")) && !bytes.Contains(text, []byte("Infinity")) {
			t.Errorf("%q: read, but %v", text, werr)
		}
		for _, items := range []bool{false, true} {
			table, err := openJSON(t.Context(), input{name: "x.json", text: bytes.NewReader(text)}, Options{Items: items})
			if err != nil {
				if _, ok := errors.AsType[*fault.Error](err); !ok {
					t.Errorf("%q: %v without a place", text, err)
				}
				continue
			}
			dump(table)
			table.Notes()
		}
	})
}

// generic returns a value as the standard library would.
func generic(v *jsonValue) any {
	switch v.kind {
	case jsonBool:
		return v.text == "true"
	case jsonNumber, jsonText:
		return v.text
	case jsonList:
		list := []any{}
		for i := range v.kids {
			list = append(list, generic(&v.kids[i]))
		}
		return list
	case jsonObject:
		m := map[string]any{}
		for i, key := range v.keys {
			m[key] = generic(&v.kids[i])
		}
		return m
	}
	return nil
}
