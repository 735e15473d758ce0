package dataset

import (
	"fmt"
	"strings"
	"testing"
)

// Features as Excel and R write them.
func TestSpreadsheets(t *testing.T) {
	for _, c := range []struct {
		name, text     string
		opts           FeatureOptions
		columns, items string
		warnings       string
	}{
		{
			name: "Excel", text: "\ufeffPatient ID,Income,Growth,,\r\n007,\"1,234\",5%,,\r\n010,\"56,789.5\",-2.5%,,\r\n,,,,\r\n,,,,\r\n",
			columns:  "Patient ID: item\nIncome: numeric\nGrowth: numeric\ncolumn 4: ignored (it has no values)\ncolumn 5: ignored (it has no values)",
			items:    "[007 010]",
			warnings: "column \"column 4\" is left out: it has no values\ncolumn \"column 5\" is left out: it has no values",
		},
		{
			name: "row names of R", text: "\"\",\"age\",\"sex\"\n\"1\",40,\"F\"\n\"2\",NA,\"M\"\n",
			columns: "column 1: item\nage: numeric, 1 missing\nsex: categorical (F, M)", items: "[1 2]",
		},
		{
			name: "a blank column on the left", text: ",id,a\n,x,1\n,y,2\n",
			columns: "column 1: ignored (it has no values)\nid: item\na: numeric", items: "[x y]",
			warnings: `column "column 1" is left out: it has no values`,
		},
		{
			name: "a blank column on the left, no ids", text: ",a,b\n,1,2\n,2,2\n",
			columns: "column 1: ignored (it has no values)\na: numeric\nb: numeric", items: "[0 1]",
			warnings: "column \"column 1\" is left out: it has no values\ncolumns of items.csv with the same value in all rows carry no information: b (2)",
		},
		{
			name: "ids and row numbers", text: ",id,a\n1,x,1\n2,y,2\n",
			columns: "column 1: ignored (it contains row numbers)\nid: item\na: numeric", items: "[x y]",
			warnings: `column "column 1" is left out: it contains row numbers`,
		},
		{
			name: "a group is not the item", text: "patient_id,a\np,1\np,2\n", opts: FeatureOptions{GroupColumn: "patient_id"},
			columns: "patient_id: group\na: numeric", items: "[0 1]",
		},
		{
			name: "a group with a known name is not the item", text: "case,a\np,1\np,2\n", opts: FeatureOptions{GroupColumn: "case"},
			columns: "case: group\na: numeric", items: "[0 1]",
		},
		{
			name: "columns that do not vary", text: "id,a,b,c,d,e\nx,1,u,v,,2\ny,1,u,w,1,2\n",
			columns: "id: item\na: numeric\nb: categorical (u)\nc: categorical (v, w)\nd: numeric, 1 missing\ne: numeric", items: "[x y]",
			warnings: "columns of items.csv with the same value in all rows carry no information: a (1), b (\"u\"), e (2)",
		},
		{
			name: "a feature is not the item", text: "site_id,a\n1,1\n1,2\n", opts: FeatureOptions{Categorical: []string{"site_id"}},
			columns: "site_id: categorical (1)\na: numeric", items: "[0 1]",
			warnings: "columns of items.csv with the same value in all rows carry no information: site_id (1)",
		},
		{
			name: "nor is one of a model", text: "site_id,a\n1,1\n1,2\n", opts: FeatureOptions{Schema: []Feature{{Name: "site_id"}, {Name: "a"}}},
			columns: "site_id: numeric\na: numeric", items: "[0 1]",
		},
		{
			name: "words that end in id", text: "valid,a\nno,1\nyes,2\n",
			columns: "valid: categorical (no, yes)\na: numeric", items: "[0 1]",
		},
		{
			name: "dates", text: "id,seen\nx,2021-03-24\ny,2021-04-01\n",
			columns: "id: item\nseen: categorical (2021-03-24, 2021-04-01)", items: "[x y]",
			warnings: `column "seen" contains dates, each of which becomes a separate category: a number, such as days since the first visit, is more informative`,
		},
		{
			name: "blank lines in between keep their numbers", text: "a,b\n1,2\n,\n3,4\n,\n",
			columns: "a: numeric, 1 missing\nb: numeric, 1 missing", items: "[0 1 2]",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			inDir(t, "items.csv", c.text)
			f, err := readFeatures(t.Context(), "items.csv", c.opts)
			if err != nil {
				t.Fatal(err)
			}
			if got := columnLines(f.Columns); got != c.columns {
				t.Errorf("got columns\n%s\nwant\n%s", got, c.columns)
			}
			if got := fmt.Sprint(f.Items); got != c.items {
				t.Errorf("got items %s, want %s", got, c.items)
			}
			if got := warningText(f.Warnings); got != c.warnings {
				t.Errorf("got warnings\n%s\nwant\n%s", got, c.warnings)
			}
		})
	}
}

// Votes as Excel and R write them.
func TestSpreadsheetVotes(t *testing.T) {
	for _, c := range []struct{ name, text, want, how string }{
		{
			"wide, an id of two words, blank columns and rows", "Patient ID,Reader 1,Reader 2,,\n007,yes,no,,\n010,yes,yes,,\n,,,,\n",
			"[007 010] [no yes] [1 1 0 2] [Reader 1 Reader 2]", "items in column Patient ID",
		},
		{
			"a separator declared", "sep=;\r\nitem;a,b,c;d\r\nx;yes;no\r\n",
			"[x] [no yes] [1 1] [a,b,c d]", "items in column item",
		},
		{
			"counts, blank columns", "subject_id,cat,dog,\na,3,12,\nb,4,0,\n",
			"[a b] [cat dog] [3 12 4 0] []", "counts form",
		},
		{
			"counts, thousands", "item,cat,dog\na,\"1,200\",12\nb,4,0\n",
			"[a b] [cat dog] [1200 12 4 0] []", "counts form",
		},
		{
			"long, labels and counts with decimal commas", "item;label;count\na;1,5;2\na;10;0,5\n",
			"[a] [1,5 10] [2 0.5] []", "long form",
		},
		{
			"wide, row names of R", "\"\",\"r1\",\"r2\"\n\"1\",\"yes\",\"no\"\n\"2\",\"yes\",NA\n",
			"[1 2] [no yes] [1 1 0 1] [r1 r2]", "items in column column 1",
		},
		{
			"long, an id of two words", "Patient ID,Reader,Grade\n007,a,0\n007,b,1\n",
			"[007] [0 1] [1 1] [a b]", "columns Patient ID, Reader and Grade",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			inDir(t, "votes.csv", c.text)
			v, err := ReadVotes(t.Context(), "votes.csv", VotesOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(v.Items, v.Classes, v.Counts, v.Raters); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if got := v.Votes.String(); !strings.Contains(got, c.how) {
				t.Errorf("got %s, want %s", got, c.how)
			}
		})
	}
}

// Features among the columns of raters are an error, or a warning if the form is given.
func TestFeaturesAmongVotes(t *testing.T) {
	inDir(t, "votes.csv", many("id,age,sex,r1,r2", "#,4#,f,yes,no", 4)+"9,50,m,no,yes\n")
	_, err := ReadVotes(t.Context(), "votes.csv", VotesOptions{})
	if want := "reading votes.csv: columns [age, sex] hardly share a label with the others, so they look like features among votes"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	v, err := ReadVotes(t.Context(), "votes.csv", VotesOptions{Form: Wide})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := warningText(v.Warnings), "2 columns [age, sex] with labels that no other column has: do they contain votes?"; got != want {
		t.Errorf("got warnings\n%s\nwant\n%s", got, want)
	}
}

// Columns that look like ids are never read as votes.
func TestIDsAmongVotes(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{
			"names", many("mrn,r1,r2", "m#,yes,no", 6),
			`column "mrn" has a different value in every row, such as "m0": does it contain the ids of the items?`,
		},
		{
			"leading zeros", many("Hospital no.,r1,r2", "0#9,yes,no", 6),
			`column "Hospital no." has a different value in every row, such as "009": does it contain the ids of the items?`,
		},
		{
			"row numbers", many("nr,cat,dog", "#,12,3", 6),
			`column "nr" has a different value in every row, such as "0": does it contain the ids of the items?`,
		},
		{"the long form", "mrn,reader,grade\n7,a,1\n", "expected a column for the item, found [mrn, reader, grade]"},
		{
			"features", many("id,x,y", "#,-#.5,#.25", 30),
			"columns [x, y] contain 60 different numbers, which look like features: expected votes as labels or whole counts, or as fractions with a column of their total",
		},
		{"nothing at all", "item,,\na,,\nb,,\n", "there are no votes: every cell is blank"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inDir(t, "votes.csv", c.text)
			_, err := ReadVotes(t.Context(), "votes.csv", VotesOptions{})
			if err == nil || err.Error() != "reading votes.csv: "+c.want {
				t.Errorf("got  %v\nwant reading votes.csv: %s", err, c.want)
			}
		})
	}
}

// Fractions in a German table, and as percentages.
func TestSpreadsheetFractions(t *testing.T) {
	for _, text := range []string{"item;cat;dog;total\na;0,25;0,75;8\n", "item,cat,dog,total\na,25%,75%,8\n"} {
		inDir(t, "votes.csv", text)
		if _, err := ReadVotes(t.Context(), "votes.csv", VotesOptions{}); !ambiguous(err) {
			t.Errorf("%q: got %v, want to be asked for the form", text, err)
		}
		v, err := ReadVotes(t.Context(), "votes.csv", VotesOptions{Form: Fractions})
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(v.Classes, v.Counts); got != "[cat dog] [2 6]" {
			t.Errorf("%q: got %s", text, got)
		}
	}
}

func TestNumberedRows(t *testing.T) {
	write(t, map[string]string{
		"plain.csv": "a\n10\n11\n12\n", "one.csv": "id,a\n1,10\n2,11\n3,12\n", "zero.csv": "id,a\n2,10\n1,11\n0,12\n", "padded.csv": "id,a\n01,10\n02,11\n",
		"from0.csv": "item,label\n0,p\n1,p\n2,q\n", "from1.csv": "item,label\n1,p\n2,p\n3,q\n", "some.csv": "item,label\n1,p\n2,q\n",
		"rows.csv": "p,q\n11,0\n12,0\n0,13\n", "short.csv": "p,q\n11,0\n12,0\n", "mixed.csv": "id,a\nx,10%\ny,11\n", "good.csv": "id,label\nx,p\ny,q\n",
	})
	for _, c := range []struct{ data, votes, want string }{
		{"plain.csv", "from0.csv", "[0 1 2] [1 0 1 0 0 1]"},
		{"plain.csv", "some.csv", "[0 1 2] [0 0 1 0 0 1]"},
		{"plain.csv", "from1.csv", "reading from1.csv: its items are numbered from 1, up to 3, but features without ids from 0, up to 2: every vote would be assigned to the next item; add an id column to the features, or number the votes from 0"},
		{"plain.csv", "rows.csv", "[0 1 2] [11 0 12 0 0 13]"},
		{"one.csv", "from1.csv", "[1 2 3] [1 0 1 0 0 1]"},
		{"one.csv", "rows.csv", "[1 2 3] [11 0 12 0 0 13]"},
		{"zero.csv", "rows.csv", "[2 1 0] [0 13 12 0 11 0]"},
		{"one.csv", "short.csv", "reading short.csv: votes on 2 items, but 3 with features: without an id column, votes are joined by position"},
		{"padded.csv", "some.csv", `no item of some.csv has features: its items are "1", "2", those with features are "01", "02"; they differ in leading zeros, which spreadsheets drop`},
		{"mixed.csv", "good.csv", `reading mixed.csv: column "a": 1 value with a percent sign, which divides by 100, and 1 without: use one form`},
	} {
		ds, err := Load(t.Context(), LoadOptions{Data: []string{c.data}, Votes: []string{c.votes}})
		got := fmt.Sprint(err)
		if err == nil {
			got = fmt.Sprint(ds.Items, ds.Counts)
			ds.Close()
		}
		if got != c.want {
			t.Errorf("%s and %s: got\n%s\nwant\n%s", c.data, c.votes, got, c.want)
		}
	}
}

// Levels that are not in the model cause a warning, in any way of reading items.
func TestUnseenLevels(t *testing.T) {
	const text = "id,smoker,site\nx,Yes,a\ny,NO,a\nz,,a\n"
	schema := []Feature{{Name: "smoker", Kind: Categorical, Levels: []string{"NO", "YES"}}, {Name: "site", Kind: Categorical, Levels: []string{"a"}}}
	want := `column "smoker": 1 of 2 values have a level that is not in the training data, such as "Yes", and are treated as unknown; is it "YES" in another spelling?`
	inDir(t, "items.csv", text, "smokers.csv", "id,smoker\nx,Yes\ny,NO\nz,\n", "sites.csv", "id,site\nx,a\ny,a\nz,a\n")
	f, err := readFeatures(t.Context(), "items.csv", FeatureOptions{Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	if got := warningText(f.Warnings); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, files := range [][]string{{"items.csv"}, {"smokers.csv", "sites.csv"}, {"sites.csv", "smokers.csv"}} {
		s, err := OpenStream(t.Context(), files[0], schema, StreamOptions{Beside: files[1:]})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Next(); err != nil {
			t.Fatal(err)
		}
		if got := warningText(s.Warnings()); got != want {
			t.Errorf("streamed from %v: got  %s\nwant %s", files, got, want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Items for prediction keep the names that training would give them.
func TestSpreadsheetStream(t *testing.T) {
	for _, c := range []struct {
		text  string
		parts []Feature
		want  string
	}{
		{"Patient ID,a,,\n007,\"1,200\",,\n010,5%,,\n,,,\n", []Feature{{Name: "a"}}, "[007 010] [1200 0.05]"},
		{"\"\",\"a\"\n\"1\",5\n\"2\",6\n", []Feature{{Name: "a"}}, "[1 2] [5 6]"},
		{"site_id,a\n3,5\n3,6\n", []Feature{{Name: "site_id"}, {Name: "a"}}, "[0 1] [3 5 3 6]"},
	} {
		s, err := NewStream(t.Context(), strings.NewReader(c.text), "items.csv", c.parts, StreamOptions{})
		if err != nil {
			t.Fatal(err)
		}
		b, err := s.Next()
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(b.Items, rowsOf(t, b.Rows)); got != c.want {
			t.Errorf("%q: got %s, want %s", c.text, got, c.want)
		}
	}
}
