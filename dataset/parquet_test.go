package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The files are written by pyarrow; see testdata/make.py.
func TestParquetOfPyarrow(t *testing.T) {
	for _, codec := range []string{"none", "snappy", "gzip", "zstd"} {
		f, err := ReadFeatures("testdata/"+codec+".parquet", FeatureOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var columns []string
		for _, c := range f.Columns {
			columns = append(columns, c.String())
		}
		want := []string{"item: item", "age: numeric, 1 missing", "visits: numeric", "big: numeric", "site: categorical (x, y), 1 missing",
			"smoker: categorical (false, true), 1 missing", "half: numeric", "emb: tensor 2", "vec: tensor 3"}
		if !slices.Equal(columns, want) {
			t.Errorf("%s: columns\n%s\nwant\n%s", codec, strings.Join(columns, "\n"), strings.Join(want, "\n"))
		}
		if !slices.Equal(f.Items, []string{"a", "b", "c", "d"}) {
			t.Errorf("items %v", f.Items)
		}
		got := fmt.Sprint(rowsOf(t, f.Rows))
		values := "[40.5 1 1 0 1 1 1 2 1 2 3 NaN 2 2 1 0 2 3 4 1 2 3 61 3 9.223372e+18 NaN 1 3 5 NaN 1 2 3 33.25 4 4 0 NaN 4 7 8 1 2 3]"
		if got != values {
			t.Errorf("%s: got  %s\nwant %s", codec, got, values)
		}
	}
	v, err := ReadVotes("testdata/votes.parquet", VotesOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(v.Items, v.Classes, v.Counts, v.Raters); got != "[a b] [no yes] [1 1 0 1] [1 2]" {
		t.Error(got)
	}
}

// Ids that no signed number holds keep their digits, decimals of any size are
// numbers, and what is not read is left out, with a reason, unless it is wanted.
func TestParquetOddColumns(t *testing.T) {
	f, err := ReadFeatures("testdata/odd.parquet", FeatureOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := columnLines(f.Columns), "id: item\nprice: numeric\ntags: ignored (lists of text are not read)"; got != want {
		t.Errorf("got columns\n%s\nwant\n%s", got, want)
	}
	if got := fmt.Sprint(f.Items, rowsOf(t, f.Rows)); got != "[9223372036854775809 9223372036854775810] [-1.25 300.5]" {
		t.Error(got)
	}
	if got := warningText(f.Warnings); got != `column "tags" is left out: lists of text are not read` {
		t.Error(got)
	}
	if f, err := ReadFeatures("testdata/odd.parquet", FeatureOptions{Ignore: []string{"tags"}}); err != nil || len(f.Warnings) > 0 {
		t.Error(err, f.Warnings)
	}
	for _, opts := range []FeatureOptions{{Features: []string{"tags", "price"}}, {ItemColumn: "tags"}, {Schema: []Part{{Name: "tags"}}}} {
		if _, err := ReadFeatures("testdata/odd.parquet", opts); err == nil || err.Error() != `reading testdata/odd.parquet: column "tags": lists of text are not read` {
			t.Error(err)
		}
	}
	if _, err := ReadFeatures("testdata/empty.parquet", FeatureOptions{}); err == nil || err.Error() != "reading testdata/empty.parquet: there are no rows below the header" {
		t.Error(err)
	}
}

func TestParquetRefused(t *testing.T) {
	good, err := os.ReadFile("testdata/none.parquet")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFeatures("testdata/nested.parquet", FeatureOptions{}); err == nil ||
		err.Error() != `reading testdata/nested.parquet: column "x": lists of lists are not read` {
		t.Error(err)
	}
	damaged := slices.Clone(good)
	damaged[len(damaged)-5] = 0x7f
	for _, c := range []struct{ bytes, want string }{
		{string(good[:len(good)/2]), "this is not a Parquet file, or it is cut short: it ends with "},
		{"item,x\na,1\nb,2\n", `this is not a Parquet file, or it is cut short: it ends with "b,2\n"`},
		{"", "this is not a Parquet file: it has 0 bytes"},
		{string(damaged), "the Parquet file is damaged: a footer of 2,"},
	} {
		inDir(t, "x.parquet", c.bytes)
		_, err := ReadFeatures("x.parquet", FeatureOptions{})
		if err == nil || !strings.HasPrefix(err.Error(), "reading x.parquet: "+c.want) || !errors.Is(err, ErrFormat) {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}

func TestParquetWriter(t *testing.T) {
	var b bytes.Buffer
	w, err := NewParquetWriter(&b, []ParquetColumn{{"item", ParquetText}, {"mean", ParquetNumber}, {"k", ParquetWhole}, {"abstain", ParquetBool}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		var mean any = float64(i) / 3
		if i == 7 {
			mean = nil
		}
		if err := w.Write(fmt.Sprintf("i%d", i), mean, int64(i), i%2 == 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Write("x", "y", int64(1), true); err == nil || err.Error() != `column "mean" cannot hold y` {
		t.Error(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	table, err := newParquet("x.parquet", bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(table.header(), []string{"item", "mean", "k", "abstain"}) {
		t.Error(table.header())
	}
	n := 0
	err = records(table, func(rec []cell) error {
		if rec[0].text != fmt.Sprintf("i%d", n) || (n == 7) != (rec[1].kind == missingCell) || n != 7 && rec[1].num != float64(n)/3 || rec[2].whole != int64(n) {
			t.Errorf("row %d: %+v", n, rec)
		}
		n++
		return nil
	})
	if err != nil || n != 100 {
		t.Error(n, err)
	}
	path := filepath.Join(t.TempDir(), "x.parquet")
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	readsOurs(t, "pyarrow.parquet", `
import sys, pyarrow.parquet as pq
t = pq.read_table(sys.argv[1])
assert t.column_names == ["item", "mean", "k", "abstain"], t.column_names
assert t["mean"][3].as_py() == 1 and t["mean"][7].as_py() is None
assert t["item"][99].as_py() == "i99" and t["abstain"][1].as_py() is False`, path)
}

func FuzzParquet(f *testing.F) {
	fuzzFiles(f, "*.parquet")
	f.Fuzz(func(t *testing.T, b []byte) {
		table, err := newParquet("x", bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		defer table.close()
		for range 100 {
			if _, err := table.next(); err != nil {
				return
			}
		}
	})
}
