package table

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// skipFile writes rows from first on: as CSV, with blank lines and texts of two lines, or as Parquet in row groups.
func skipFile(t *testing.T, path string, first, rows, group int) {
	t.Helper()
	if filepath.Ext(path) == ".csv" {
		var b strings.Builder
		b.WriteString("id,x\n")
		for i := range rows {
			fmt.Fprintf(&b, "%d,\"a\n%d\"\n", first+i, first+i)
			if i%100 == 7 {
				b.WriteString("\n")
			}
		}
		if err := os.WriteFile(path, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	type row struct {
		ID int64  `parquet:"id"`
		X  string `parquet:"x"`
	}
	list := make([]row, rows)
	for i := range list {
		list[i] = row{int64(first + i), fmt.Sprintf("a\n%d", first+i)}
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := parquet.NewGenericWriter[row](f, parquet.MaxRowsPerRowGroup(int64(group)))
	if _, err := w.Write(list); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestSkip checks the records between skips of any length, to the end.
func TestSkip(t *testing.T) {
	const rows = 30000
	dir := t.TempDir()
	one, many, text := filepath.Join(dir, "one.parquet"), filepath.Join(dir, "many"), filepath.Join(dir, "x.csv")
	skipFile(t, one, 0, rows, 7000)
	skipFile(t, text, 0, rows, 0)
	if err := os.Mkdir(many, 0o777); err != nil {
		t.Fatal(err)
	}
	for i, bounds := range [][2]int{{0, 4000}, {4000, 4000}, {4000, 19000}, {19000, rows}} {
		skipFile(t, filepath.Join(many, fmt.Sprintf("part-%d.parquet", i)), bounds[0], bounds[1]-bounds[0], 5000)
	}
	for _, path := range []string{one, many, text} {
		for seed := range uint64(12) {
			r := rand.New(rand.NewPCG(seed, 0))
			in, err := Open(t.Context(), path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			at := 0
			for at < rows {
				n := r.IntN([]int{30, 4000, 16000}[r.IntN(3)])
				if r.IntN(2) == 0 {
					for range min(n, 300) {
						rec, err := in.Next()
						if err == io.EOF && at == rows {
							break
						}
						if err != nil || rec[0].String() != fmt.Sprint(at) || rec[1].Text != fmt.Sprintf("a\n%d", at) {
							t.Fatalf("%s: record %d is %v %v", path, at, rec, err)
						}
						at++
					}
					continue
				}
				k, err := Skip(in, n)
				if err != nil || k != min(n, rows-at) {
					t.Fatalf("%s: %d of %d records passed over at %d: %v", path, k, n, at, err)
				}
				at += k
			}
			if _, err := in.Next(); err != io.EOF {
				t.Errorf("%s: behind the end there is %v", path, err)
			}
			if k, err := Skip(in, 10000); k != 0 || err != nil {
				t.Errorf("%s: %d records behind the end: %v", path, k, err)
			}
			if err := in.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
