package dataset

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"credence/internal/fault"
)

// The files are written by pyarrow; see testdata/make.py.
func TestParquetOfPyarrow(t *testing.T) {
	for _, codec := range []string{"none", "snappy", "gzip", "zstd"} {
		f, err := readFeatures(t.Context(), "testdata/"+codec+".parquet", FeatureOptions{})
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
	v, err := ReadVotes(t.Context(), "testdata/votes.parquet", VotesOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(v.Items, v.Classes, v.Counts, v.Raters); got != "[a b] [no yes] [1 1 0 1] [1 2]" {
		t.Error(got)
	}
}

// Ids beyond the range of int64 keep their digits, decimals of any size are numbers, and
// columns of other types are left out with a reason, or an error if they are named.
func TestParquetOddColumns(t *testing.T) {
	f, err := readFeatures(t.Context(), "testdata/odd.parquet", FeatureOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := columnLines(f.Columns), "id: item\nprice: numeric\ntags: ignored (lists of text are not supported)"; got != want {
		t.Errorf("got columns\n%s\nwant\n%s", got, want)
	}
	if got := fmt.Sprint(f.Items, rowsOf(t, f.Rows)); got != "[9223372036854775809 9223372036854775810] [-1.25 300.5]" {
		t.Error(got)
	}
	if got := warningText(f.Warnings); got != `column "tags" is left out: lists of text are not supported` {
		t.Error(got)
	}
	if f, err := readFeatures(t.Context(), "testdata/odd.parquet", FeatureOptions{Ignore: []string{"tags"}}); err != nil || len(f.Warnings) > 0 {
		t.Error(err, f.Warnings)
	}
	for _, opts := range []FeatureOptions{{Features: []string{"tags", "price"}}, {ItemColumn: "tags"}, {Schema: []Feature{{Name: "tags"}}}} {
		if _, err := readFeatures(t.Context(), "testdata/odd.parquet", opts); err == nil || err.Error() != `reading testdata/odd.parquet: column "tags": lists of text are not supported` {
			t.Error(err)
		}
	}
	if _, err := readFeatures(t.Context(), "testdata/empty.parquet", FeatureOptions{}); err == nil || err.Error() != "reading testdata/empty.parquet: there are no rows below the header" {
		t.Error(err)
	}
}

func TestParquetRefused(t *testing.T) {
	good, err := os.ReadFile("testdata/none.parquet")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := readFeatures(t.Context(), "testdata/nested.parquet", FeatureOptions{}); err == nil ||
		err.Error() != `reading testdata/nested.parquet: column "x": lists of lists are not supported` {
		t.Error(err)
	}
	damaged := slices.Clone(good)
	damaged[len(damaged)-5] = 0x7f
	for _, c := range []struct{ bytes, want string }{
		{string(good[:len(good)/2]), "this is not a Parquet file, or it is truncated: it ends with "},
		{"item,x\na,1\nb,2\n", `this is not a Parquet file, or it is truncated: it ends with "b,2\n"`},
		{"", "this is not a Parquet file: it has 0 bytes"},
		{string(damaged), "the Parquet file is damaged: a footer of 2,"},
	} {
		inDir(t, "x.parquet", c.bytes)
		_, err := readFeatures(t.Context(), "x.parquet", FeatureOptions{})
		if err == nil || !strings.HasPrefix(err.Error(), "reading x.parquet: "+c.want) || !errors.Is(err, fault.ErrFormat) {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}
