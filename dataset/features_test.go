package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"credence/internal/array"
	"credence/internal/table"
)

// readFeatures reads a feature file as Load reads its first.
func readFeatures(ctx context.Context, path string, opts FeatureOptions) (*features, error) {
	return readJoined(ctx, []string{path}, newReading(opts))
}

// columnLines describes the columns that were read, one per line.
func columnLines(columns []ColumnInfo) string {
	var lines []string
	for _, c := range columns {
		lines = append(lines, c.String())
	}
	return strings.Join(lines, "\n")
}

// many repeats a row pattern, in which # is the row's number, below a header.
func many(header, row string, n int) string {
	var b strings.Builder
	b.WriteString(header + "\n")
	for i := range n {
		b.WriteString(strings.ReplaceAll(row, "#", fmt.Sprint(i)) + "\n")
	}
	return b.String()
}

func TestReadFeatures(t *testing.T) {
	for _, c := range []struct {
		name, text string
		opts       FeatureOptions
		columns    string
		rows       string
	}{
		{
			name: "kinds and missing values", text: "id,age,sex,site\na,40,f,1\nb,NA,m,2\nc,-1.5e3,,2\n",
			columns: "id: item\nage: numeric, 1 missing\nsex: categorical (f, m), 1 missing\nsite: numeric",
			rows:    "[40 0 1 NaN 1 2 -1500 NaN 2]",
		},
		{
			name: "kinds given", text: "id,age,site\na,40,10\nb,41,9\n", opts: FeatureOptions{Categorical: []string{"site"}},
			columns: "id: item\nage: numeric\nsite: categorical (9, 10)", rows: "[40 1 41 0]",
		},
		{
			name: "columns chosen", text: "id,a,b,c\nx,1,2,3\n", opts: FeatureOptions{Features: []string{"a", "b"}, Ignore: []string{"b"}},
			columns: "id: item\na: numeric\nb: ignored\nc: ignored", rows: "[1]",
		},
		{
			name: "group and split", text: "id,patient,part,a\nx,p,train,1\ny,p,train,2\n", opts: FeatureOptions{GroupColumn: "patient", SplitColumn: "part"},
			columns: "id: item\npatient: group\npart: split\na: numeric", rows: "[1 2]",
		},
		{
			name: "semicolons and decimal commas", text: "id;a\nx;1,5\ny;2\n",
			columns: "id: item\na: numeric", rows: "[1.5 2]",
		},
		{
			name: "row names of pandas, an empty column", text: ",a,b\n0,5,\n1,6,\n",
			columns: "column 1: item\na: numeric\nb: ignored (it has no values)", rows: "[5 6]",
		},
		{
			name: "names", text: many("id,name,a", "#,n#,1", 20),
			columns: "id: item\nname: ignored (it has 20 different texts in 20 rows)\na: numeric",
			rows:    "[1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1]",
		},
		{
			name: "names under a name with a comma", text: many("id,\"name, given\",a", "#,n#,1", 20),
			columns: "id: item\nname, given: ignored (it has 20 different texts in 20 rows)\na: numeric",
			rows:    "[1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1]",
		},
		{
			name: "missing to spreadsheets and pandas", text: "id,a\nw,#N/A\nx,n/a\ny,<NA>\nz,1\n",
			columns: "id: item\na: numeric, 3 missing", rows: "[NaN NaN NaN 1]",
		},
		{
			name: "many dates", text: many("id,seen,a", "#,2021-03-#,1", 20),
			columns: "id: item\nseen: ignored (it contains dates: a number, such as days since the first visit, is more informative)\na: numeric",
			rows:    "[1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1]",
		},
		{
			name: "NA spellings of one's own", text: "id,a\nx,-99\ny,1\n", opts: FeatureOptions{TableOptions: TableOptions{NA: []string{"-99"}}},
			columns: "id: item\na: numeric, 1 missing", rows: "[NaN 1]",
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
			if got := fmt.Sprint(rowsOf(t, f.Rows)); got != c.rows {
				t.Errorf("got rows %s, want %s", got, c.rows)
			}
		})
	}
}

// Warnings report a column whose values differ only beyond the stored digits, and one
// whose values do not differ at all.
func TestDigitsKept(t *testing.T) {
	inDir(t, "items.csv", "id,a,b,c\nx,1000000001.25,20210301,7\ny,1000000002.5,20210401,7\n")
	f, err := readFeatures(t.Context(), "items.csv", FeatureOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := warningText(f.Warnings), `column "a" varies only beyond the seventh digit, which is lost in float32: subtract a common value, such as 1000000001.25`+
		"\ncolumns of items.csv with the same value in all rows carry no information: c (7)"; got != want {
		t.Errorf("got warnings %s\nwant %s", got, want)
	}
}

func TestReadFeaturesRefuses(t *testing.T) {
	for _, c := range []struct {
		name, text string
		opts       FeatureOptions
		want       string
	}{
		{"empty", "", FeatureOptions{}, "the file is empty"},
		{"cut short", "\x1f\x8b\b\x00\x00\x00\x00\x00\x00\xff\xcaL\xd1I", FeatureOptions{}, "the compressed file is truncated"},
		{"header only", "id,a\n", FeatureOptions{}, "there are no rows below the header"},
		{"no features", "id\nx\n", FeatureOptions{}, "none of the columns [id] is a feature"},
		{"ragged", "id,a,b\nx,1,2\ny,1\n", FeatureOptions{}, "line 3, column 3: expected 3 fields, as in the header, found 2"},
		{"duplicate header", "id,a,a\nx,1,2\n", FeatureOptions{}, `line 1, column 3: duplicate column "a": already column 2`},
		{"duplicate item", "id,a\nx,1\nx,2\n", FeatureOptions{}, `line 3, column 1 (id): item "x" is there already, on line 2`},
		{"group for an item", "patient_id,a\nx,1\nx,2\n", FeatureOptions{}, `line 3, column 1 (patient_id): item "x" is there already, on line 2; does column "patient_id" contain the ids of the items?`},
		{"no id", "id,a\n,1\n", FeatureOptions{}, "line 2, column 1 (id): the item has no id: if this is a second header row, such as units, remove it"},
		{"no group", "id,a,g\nx,1,\n", FeatureOptions{GroupColumn: "g"}, "line 2, column 3 (g): expected a group, found an empty cell"},
		{"no such column", "id,a\nx,1\n", FeatureOptions{Ignore: []string{"b"}}, `no column "b" among [id, a]`},
		{"text among numbers", many("id,a", "#,#", 30) + "z,abc\n", FeatureOptions{},
			`line 32, column 2 (a): expected a number, as in most rows of the column, found "abc"`},
		{"decimal commas and thousands", "id,a\nx,\"1,5\"\ny,\"2,750,000\"\nz,3\n", FeatureOptions{},
			`column "a": "1,5" has a decimal comma, and "2,750,000" commas between thousands: write all numbers with a decimal point`},
		{"texts among numbers", many("id,a,b", "#,#,#", 30) + "y,abc,5\nz,4,high\n", FeatureOptions{},
			"expected numbers, found 2 cells that are not:\n  line 32, column 2 (a): \"abc\"\n  line 33, column 3 (b): \"high\""},
		{"units below the header", "id,a,b\nunit,mm,years\n" + strings.Join(strings.SplitAfter(many("id,a,b", "#,#,#", 30), "\n")[1:], ""), FeatureOptions{},
			"line 2: the first row below the header has texts in all 2 columns of numbers (a, b): is it a second header row, such as units? Join the two rows into one, or remove one"},
		{"infinity among numbers", many("id,a", "#,#", 30) + "z,-inf\n", FeatureOptions{},
			`line 32, column 2 (a): expected a finite number, found "-inf": correct it, or leave the cell blank if the value is unknown`},
		{"infinity among few numbers", "id,a\nx,1\ny,Infinity\n", FeatureOptions{},
			`line 3, column 2 (a): expected a finite number, found "Infinity": correct it, or leave the cell blank if the value is unknown`},
		{"text where numbers are due", "id,a\nx,1\ny,b\n", FeatureOptions{Numeric: []string{"a"}}, `line 3, column 2 (a): expected a number, found "b"`},
		{"too large", "id,a\nx,1e39\ny,1\n", FeatureOptions{}, "line 2, column 2 (a): expected a number within ±3.4e38, found 1e39"},
		{"model's feature not there", "id,a\nx,1\n", FeatureOptions{Schema: []Feature{{Name: "b"}}}, `no column "b": the model was trained with it`},
		{"model's feature spelt otherwise", "id,Blood_Pressure\nx,1\n", FeatureOptions{Schema: []Feature{{Name: "blood pressure"}}},
			`no column "blood pressure": the model was trained with it; is it column "Blood_Pressure" under another name?`},
	} {
		t.Run(c.name, func(t *testing.T) {
			inDir(t, "items.csv", c.text)
			_, err := readFeatures(t.Context(), "items.csv", c.opts)
			if err == nil || err.Error() != "reading items.csv: "+c.want {
				t.Errorf("got  %v\nwant reading items.csv: %s", err, c.want)
			}
		})
	}
}

func TestCache(t *testing.T) {
	inDir(t, "items.csv", many("id,a,b", "#,#,-#", 50))
	opts := FeatureOptions{Memory: 100, CacheDir: "cache"}
	whole, err := readFeatures(t.Context(), "items.csv", FeatureOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time, the cache is found
		f, err := readFeatures(t.Context(), "items.csv", opts)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := f.Rows.(*array.Array); !ok {
			t.Fatalf("rows are %T", f.Rows)
		}
		if !slices.Equal(rowsOf(t, f.Rows), rowsOf(t, whole.Rows)) {
			t.Error("the cache has other values")
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		entries, err := os.ReadDir("cache")
		if err != nil || len(entries) != 1 {
			t.Errorf("cache holds %v, %v", entries, err)
		}
	}
	// A file with an error leaves no temporary files behind.
	if err := os.RemoveAll("cache"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("bad.csv", []byte(many("id,a,b", "#,#,-#", 50)+"z,1e300,1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := readFeatures(t.Context(), "bad.csv", opts); err == nil {
		t.Error("no error")
	}
	if entries, _ := os.ReadDir("cache"); len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestStream(t *testing.T) {
	parts := []Feature{{Name: "site", Kind: Categorical, Levels: []string{"p", "q"}}, {Name: "age"}}
	text := "id,age,note,site\na,1,x,q\nb,,x,zz\nc,old,x,p\nd,4\n,5,x,p\nf,6,x,\n"
	s, err := NewStream(t.Context(), strings.NewReader(text), "stdin", parts, StreamOptions{Batch: 4, KeepBad: true})
	if err != nil {
		t.Fatal(err)
	}
	var got, bad []string
	for b, err := range s.All() {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(b.Items, rowsOf(t, b.Rows)))
		for i, err := range b.Bad {
			if err != nil {
				bad = append(bad, fmt.Sprintf("%s: %v", b.Items[i], err))
			}
		}
	}
	want := []string{"[a b c d] [1 1 -1 NaN NaN NaN NaN NaN]", "[line 6 f] [NaN NaN NaN 6]"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	wantBad := []string{
		`c: reading stdin: line 4, column 2 (age): expected a number, found "old"`,
		`d: reading stdin: line 5, column 3: expected 4 fields, as in the header, found 2`,
		`line 6: reading stdin: line 6, column 1 (id): the item has no id`,
	}
	if !slices.Equal(bad, wantBad) {
		t.Errorf("got  %q\nwant %q", bad, wantBad)
	}

	s, err = NewStream(t.Context(), strings.NewReader(text), "stdin", parts, StreamOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Next(); err == nil || err.Error() != strings.TrimPrefix(wantBad[0], "c: ") {
		t.Error(err)
	}
	if _, err := NewStream(t.Context(), strings.NewReader("id,age\n"), "stdin", parts, StreamOptions{}); err == nil || err.Error() != `reading stdin: no column "site": the model was trained with it` {
		t.Error(err)
	}
	// An array, in batches.
	s, err = OpenStream(t.Context(), "testdata/f4.npy", []Feature{{Name: "x", Kind: Tensor, Shape: []int{3}}}, StreamOptions{Batch: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var sizes []int
	for {
		b, err := s.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, b.Len())
	}
	if !slices.Equal(sizes, []int{3, 1}) {
		t.Error(sizes)
	}
}

// TestStreamPass checks that skipped items are not returned but counted, in tables and arrays, to the end.
func TestStreamPass(t *testing.T) {
	const items = 23
	var text strings.Builder
	text.WriteString("id,x\n")
	for i := range items {
		fmt.Fprintf(&text, "%d,%d\n", i, i)
	}
	dir := t.TempDir()
	csv, npy := filepath.Join(dir, "x.csv"), filepath.Join(dir, "x.npy")
	if err := os.WriteFile(csv, []byte(text.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	head := []byte("\x93NUMPY\x01\x00\x46\x00{'descr': '|u1', 'fortran_order': False, 'shape': (23, 1)}")
	for len(head) < 79 {
		head = append(head, ' ')
	}
	head = append(head, '\n')
	for i := range items {
		head = append(head, byte(i))
	}
	if err := os.WriteFile(npy, head, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path string
		part Feature
	}{{csv, Feature{Name: "x"}}, {npy, Feature{Name: "x", Kind: Tensor, Shape: []int{1}}}} {
		for shard := range 3 {
			s, err := OpenStream(t.Context(), c.path, []Feature{c.part}, StreamOptions{Batch: 3})
			if err != nil {
				t.Fatal(err)
			}
			s.Cut(4)
			s.Pass(func(first int) bool { return first/4%3 != shard })
			var got, want []int
			for b, err := range s.All() {
				if err != nil {
					t.Fatal(err)
				}
				for i := range b.Items {
					got = append(got, b.First+i)
					row := []float32{0}
					if err := b.Rows.ReadRow(i, row); err != nil || int(row[0]) != b.First+i || b.Items[i] != fmt.Sprint(b.First+i) {
						t.Fatalf("%s: item %d is %q with %v (%v)", c.path, b.First+i, b.Items[i], row, err)
					}
				}
			}
			for i := range items {
				if i/4%3 == shard {
					want = append(want, i)
				}
			}
			if !slices.Equal(got, want) || s.Read() != items {
				t.Errorf("%s, shard %d: items %v of %d, want %v", c.path, shard, got, s.Read(), want)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

func FuzzFeatures(f *testing.F) {
	f.Add([]byte("id,a,b\nx,1,p\ny,NA,q\n"))
	f.Add([]byte("a;b\n1,5;\"x;y\"\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		from, err := table.NewText(t.Context(), readCloser(text), "items.csv", table.Options{})
		if err != nil {
			return
		}
		opts := &reading{}
		s, err := newScan(from, opts)
		if err != nil {
			t.Fatal(err)
		}
		if err := table.Records(t.Context(), from, s.add); err != nil {
			return
		}
		out := &features{Dataset: Dataset{Items: s.ids.names}}
		if err := s.decide(out); err != nil {
			return
		}
		for _, c := range out.Columns {
			if c.role == roleFeature {
				out.Features = append(out.Features, c.Feature)
			}
		}
		if len(s.ids.names) == 0 || len(out.Features) == 0 {
			return
		}
		again, err := table.NewText(t.Context(), readCloser(text), "items.csv", table.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := fill(t.Context(), out, "items.csv", again, s, opts); err != nil {
			var pe *ParseError
			if !errors.As(err, &pe) {
				t.Fatal(err)
			}
			return
		}
		ds, err := join(out, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := ds.Check(); err != nil {
			t.Fatal(err)
		}
	})
}
