package clinical

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"credence/internal/table"
)

// The paper's thresholds: MMSE 28–30 NC, 24–27 MCI, 0–23 AD; CDR 0, 0.5, ≥ 1.
func TestDefault(t *testing.T) {
	r := Default()
	if want := []Class{{"NC+MCI", []string{"NC", "MCI"}}, {"AD", []string{"AD"}}}; !reflect.DeepEqual(r.Classes, want) {
		t.Errorf("classes %v", r.Classes)
	}
	levels := append(r.Levels(), "missing")
	for _, c := range []struct{ voter, value, want string }{
		{"DX", "CN", "NC"}, {"DX", "Dementia", "AD"}, {"DX", "LMCI", "MCI"}, {"DX", "", "missing"}, {"DX", "Parkinson", "error"},
		{"MMSE", "30", "NC"}, {"MMSE", "28", "NC"}, {"MMSE", "27", "MCI"}, {"MMSE", "24", "MCI"}, {"MMSE", "23", "AD"}, {"MMSE", "0", "AD"},
		{"MMSE", "31", "error"}, {"MMSE", "27.5", "error"}, {"MMSE", "-1", "missing"}, {"MMSE", "-2", "error"}, {"MMSE", "high", "error"},
		{"CDR", "0", "NC"}, {"CDR", "0.5", "MCI"}, {"CDR", "1", "AD"}, {"CDR", "3", "AD"}, {"CDR", "4", "error"}, {"CDR", "0.7", "error"},
	} {
		for _, v := range r.Voters {
			if v.Name != c.voter {
				continue
			}
			x, isNumber := (&table.Sheet{}).Number(c.value)
			l, ok := v.Level(c.value, x, isNumber)
			got := "error"
			if ok && l < 0 {
				got = "missing"
			} else if ok {
				got = levels[l]
			}
			if got != c.want {
				t.Errorf("%s %q is %s, want %s", c.voter, c.value, got, c.want)
			}
		}
	}
}

func TestParse(t *testing.T) {
	r, err := Parse("r", []byte(`
classes: [mild, severe]
votes:
  - {from: grade, as: first reader, mild: [1, 2], severe: otherwise, missing: 9}
  - from: [b, c]
    mild: mild, "so so"
`))
	if err != nil {
		t.Fatal(err)
	}
	v := r.Voters[0]
	if v.Name != "first reader" || r.Voters[1].Name != "b" || len(r.Items) != 0 {
		t.Errorf("rules %+v", r)
	}
	for value, want := range map[string]int{"1": 0, "2": 0, "7": 1, "x": 1, "9": -1, "": -1} {
		x, isNumber := (&table.Sheet{}).Number(value)
		if l, ok := v.Level(value, x, isNumber); !ok || l != want {
			t.Errorf("%q is level %d, want %d", value, l, want)
		}
	}
	if _, ok := r.Voters[1].Level("severe", 0, false); ok {
		t.Error("a value without a level was taken")
	}
}

func TestParseErrors(t *testing.T) {
	const classes = "classes: [NC, AD]\n"
	for _, c := range []struct{ text, want string }{
		{"", "reading r: expected one document with the keys classes and votes"},
		{"[]", "r:1:1: expected the keys classes and votes"},
		{"classes: [a, b]", "r:1:8: no votes"},
		{"votes: [{from: a}]", "no classes"},
		{"clases: [a, b]", `r:1:1: unknown key "clases": expected item, classes or votes`},
		{"classes: [a]\nvotes: []", "r:1:10: expected at least two classes"},
		{"classes: [a, a]\nvotes: []", `r:1:14: duplicate class "a"`},
		{"classes: {x: [a, b], y: [b]}\nvotes: []", `level "b" already belongs to class "x"`},
		{"classes: {x: [a], y: [from]}", `r:1:19: level "from" has the name of a key`},
		{classes + "votes: []", "no votes: expected a list of columns"},
		{classes + "votes: [3]", "r:2:9: expected a column and its levels"},
		{classes + "votes:\n  - AD: 1", `no column: expected a key such as "from: MMSE"`},
		{classes + "votes:\n  - form: a\n    AD: 1", `r:3:5: unknown key "form": expected from, as, missing or a level of the classes [NC, AD]`},
		{classes + "votes:\n  - from: a", `a: no level has a condition`},
		{classes + "votes:\n  - from: a\n    AD: 27-24", `r:4:9: "27-24": the range runs backwards`},
		{classes + "votes:\n  - from: a\n    AD: \"1, 27-24\"", `r:4:13: "1, 27-24": the range runs backwards at "27-24"`},
		{classes + "votes:\n  - from: a\n    AD: [1, 2x]", `r:4:14: "2x": expected a comma after a number`},
		{classes + "votes:\n  - from: a\n    AD: 0-23\n    NC: 23-30", `r:4:9: a: "23" is both NC and AD`},
		{classes + "votes:\n  - from: a\n    AD: x\n    NC: [y, X]", `"X" is both NC and AD`},
		{classes + "votes:\n  - from: a\n    AD: otherwise\n    NC: otherwise", `"otherwise" is both NC and AD`},
		{classes + "votes:\n  - from: a\n    AD: 1\n    missing: \"< 2\"", `"1" is both missing and AD`},
		{classes + "votes:\n  - from: a\n    AD: 1\n    missing: otherwise", `found otherwise`},
		{classes + "votes:\n  - {from: a, AD: 1}\n  - {from: a, AD: 1}", `duplicate votes by "a"`},
		{classes + "votes:\n  - {from: [], AD: 1}", `expected a column or a list of them`},
		{classes + "votes:\n  - {from: {a: b}, AD: 1}", `r:3:12: expected a plain value`},
		{classes + "votes:\n  - {from: a, AD: }", `expected a plain value`},
		{classes + "votes:\n  - {from: a, from: b}", `r:3:15: `},
		{classes + "votes:\n  - from: a\n    AD: >= 1", "r:4:"},
		{strings.Repeat("[", 200), "nested deeper"},
		{strings.Repeat(" ", 1<<21), "more than"},
	} {
		_, err := Parse("r", []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60q: error %v, want %q", c.text, err, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(string(defaultText))
	f.Add("classes: [a, b]\nvotes: {from: x, a: 1}")
	f.Add("classes: {x: a, y: b}\nvotes:\n- from: x\n  a: 1-2\n  b: \"> 2\"\n")
	f.Add("classes: *a\nvotes: &a !!x |\n")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Parse("r", []byte(text))
		if err != nil {
			return
		}
		if len(r.Classes) < 2 || len(r.Voters) == 0 {
			t.Fatalf("%q was taken: %+v", text, r)
		}
		for _, v := range r.Voters {
			if l, ok := v.Level("23", 23, true); ok && l >= len(r.Levels()) {
				t.Fatalf("level %d", l)
			}
			if v.describe(r.Levels()) == "" {
				t.Fatalf("%q has a voter without conditions", text)
			}
		}
	})
}

func TestApply(t *testing.T) {
	read := func(text string) *table.Sheet {
		t.Helper()
		path := filepath.Join(t.TempDir(), "c.csv")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		sheet, err := table.ReadSheet(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		return sheet
	}
	res, err := Default().Apply(read("scan,DX_bl,cdglobal,MMSCORE\na,CN,0,29\nb,AD,1,\nc,,-1,NA\nd,mci,0.5,23\n"), "")
	if err != nil {
		t.Fatal(err)
	}
	want := []Vote{
		{"a", "DX", "NC+MCI"}, {"a", "CDR", "NC+MCI"}, {"a", "MMSE", "NC+MCI"},
		{"b", "DX", "AD"}, {"b", "CDR", "AD"},
		{"d", "DX", "NC+MCI"}, {"d", "CDR", "NC+MCI"}, {"d", "MMSE", "AD"},
	}
	if !reflect.DeepEqual(res.Votes, want) {
		t.Errorf("votes %v", res.Votes)
	}
	if !reflect.DeepEqual(res.Counts, [][]int{{1, 1, 1}, {1, 1, 1}, {1, 0, 1}}) || !reflect.DeepEqual(res.Missing, []int{1, 1, 2}) {
		t.Errorf("counts %v, missing %v", res.Counts, res.Missing)
	}
	if !reflect.DeepEqual(res.Unvoted, []string{"c"}) || !reflect.DeepEqual(res.Columns, []string{"DX_bl", "cdglobal", "MMSCORE"}) {
		t.Errorf("unvoted %v, columns %v", res.Unvoted, res.Columns)
	}
	for _, c := range []struct{ text, item, want string }{
		{"scan,DX,CDR,MMSE\na,CN,0,29\nb,CN,0,31\n", "", `line 3, column 4 (MMSE): expected one of NC: 28-30; MCI: 24-27; AD: 0-23, found "31"`},
		{"scan,DX,CDR,MMSE\na,CN,0,29\na,CN,0,30\n", "", `line 3, column 1 (scan): duplicate item "a", first on line 2`},
		{"scan,DX,CDR,MMSE\n,CN,0,29\n", "", "line 2, column 1 (scan): expected an item name, found an empty cell"},
		{"scan,DX,CDR\na,CN,0\n", "", `no column for MMSE: expected one of [MMSE, MMSCORE], found [scan, DX, CDR]`},
		{"who,DX,CDR,MMSE\na,CN,0,29\n", "", "no item column: expected one of [scan, item"},
		{"who,DX,CDR,MMSE\na,CN,0,29\n", "whom", `no item column: expected "whom", found [who, DX, CDR, MMSE]`},
	} {
		if _, err := Default().Apply(read(c.text), c.item); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v, want %s", c.text, err, c.want)
		}
	}
}
