package table

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"

	"credence/internal/budget"
	"credence/internal/python"
)

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
	table, err := newParquet(t.Context(), "x.parquet", bytes.NewReader(b.Bytes()), int64(b.Len()), budget.Default)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(table.Header(), []string{"item", "mean", "k", "abstain"}) {
		t.Error(table.Header())
	}
	n := 0
	err = Records(t.Context(), table, func(rec []Cell) error {
		if rec[0].Text != fmt.Sprintf("i%d", n) || (n == 7) != (rec[1].Kind == MissingCell) || n != 7 && rec[1].Num != float64(n)/3 || rec[2].Whole != int64(n) {
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
	python.Check(t, "pyarrow.parquet", `
import sys, pyarrow.parquet as pq
t = pq.read_table(sys.argv[1])
assert t.column_names == ["item", "mean", "k", "abstain"], t.column_names
assert t["mean"][3].as_py() == 1 and t["mean"][7].as_py() is None
assert t["item"][99].as_py() == "i99" and t["abstain"][1].as_py() is False`, path)
}

func FuzzParquet(f *testing.F) {
	fuzzFiles(f, "*.parquet")
	fuzzPages(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		table, err := newParquet(t.Context(), "x", bytes.NewReader(b), int64(len(b)), budget.Default)
		if err != nil {
			return
		}
		defer table.Close()
		for range 100 {
			if _, err := table.Next(); err != nil {
				return
			}
		}
	})
}

// fuzzPages adds a short file for every codec and encoding, and for either version of
// pages, so that mutations reach all of them quickly.
func fuzzPages(f *testing.F) {
	type row struct {
		Plain  float64   `parquet:"plain,plain"`
		Dict   string    `parquet:"dict,dict"`
		Delta  int64     `parquet:"delta,delta"`
		Prefix string    `parquet:"prefix,delta"`
		Split  float32   `parquet:"split,split"`
		Maybe  *int32    `parquet:"maybe,optional"`
		Flag   bool      `parquet:"flag"`
		List   []float64 `parquet:"list,list"`
	}
	three := int32(3)
	rows := []row{{1, "a", 1, "abc", 1, nil, true, nil}, {2, "b", 2, "abd", 2, &three, false, []float64{1, 2}}, {3, "a", 9, "x", 3, &three, true, []float64{3}}}
	for _, codec := range []compress.Codec{&parquet.Uncompressed, &parquet.Snappy, &parquet.Gzip, &parquet.Zstd, &parquet.Brotli, &parquet.Lz4Raw} {
		for version := 1; version <= 2; version++ {
			var b bytes.Buffer
			w := parquet.NewGenericWriter[row](&b, parquet.Compression(codec), parquet.DataPageVersion(version))
			if _, err := w.Write(rows); err != nil {
				f.Fatal(err)
			}
			if err := w.Close(); err != nil {
				f.Fatal(err)
			}
			f.Add(b.Bytes())
		}
	}
}

func fuzzFiles(f *testing.F, pattern string) {
	paths, _ := filepath.Glob("../../dataset/testdata/" + pattern)
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
}
