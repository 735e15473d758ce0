package table

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// writeParquet writes rows of texts, numbers and whole numbers, by the types of the first.
func writeParquet(t *testing.T, path string, names []string, rows ...[]any) {
	t.Helper()
	var columns []ParquetColumn
	for i, name := range names {
		kind := ParquetText
		if len(rows) > 0 {
			switch rows[0][i].(type) {
			case float64:
				kind = ParquetNumber
			case int64:
				kind = ParquetWhole
			case bool:
				kind = ParquetBool
			}
		}
		columns = append(columns, ParquetColumn{name, kind})
	}
	var b bytes.Buffer
	w, err := NewParquetWriter(&b, columns)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if err := w.Write(row...); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// cellsOf returns all records of a table, as text.
func cellsOf(t *testing.T, table Table) []string {
	t.Helper()
	var list []string
	err := Records(t.Context(), table, func(rec []Cell) error {
		var cells []string
		for i := range rec {
			cells = append(cells, rec[i].String())
		}
		list = append(list, strings.Join(cells, " "))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// A folder as Spark writes it: files in the order of their names, columns in any order, and
// names that begin with "_" or "." skipped.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	writeParquet(t, file("part-00010.snappy.parquet"), []string{"item", "x"}, []any{"e", 5.0})
	writeParquet(t, file("part-00000.snappy.parquet"), []string{"item", "x"}, []any{"a", 1.0}, []any{"b", nil})
	writeParquet(t, file("part-00001.snappy.parquet"), []string{"x", "item"}, []any{int64(3), "c"}, []any{int64(4), "d"})
	writeParquet(t, file("part-00002.snappy.parquet"), []string{"item", "x"})
	writeParquet(t, file("_temporary/0/part-00003.parquet"), []string{"z"}, []any{"no"})
	for _, other := range []string{"_SUCCESS", ".part-00000.snappy.parquet.crc", "_metadata", "notes.txt"} {
		if err := os.WriteFile(file(other), []byte("no Parquet"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	_, err := Open(t.Context(), dir, Options{})
	if err == nil || !strings.HasSuffix(err.Error(), fmt.Sprintf(`part-00002.snappy.parquet: column "x": expected numbers, as in %s, found texts`, file("part-00000.snappy.parquet"))) {
		t.Fatal(err)
	}
	if err := os.Remove(file("part-00002.snappy.parquet")); err != nil {
		t.Fatal(err)
	}
	table, err := Open(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	if got := table.(*folder).Rows(); got != 5 {
		t.Errorf("%d rows", got)
	}
	if got, want := cellsOf(t, table), []string{"a 1", "b ", "c 3", "d 4", "e 5"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := table.ErrorAt(1, "bad").Error(), "part-00010.snappy.parquet: row 1, column x: bad"; !strings.HasSuffix(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := Place(table, 4), "row 2 of "+file("part-00001.snappy.parquet"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Names of subfolders are columns.
func TestFolderPartitions(t *testing.T) {
	dir := t.TempDir()
	writeParquet(t, filepath.Join(dir, "site=B%2FC/year=2023/p.parquet"), []string{"item"}, []any{"b"})
	writeParquet(t, filepath.Join(dir, "site=A/year=2024/p.parquet"), []string{"item"}, []any{"a"})
	writeParquet(t, filepath.Join(dir, "site=__HIVE_DEFAULT_PARTITION__/year=2022/p.parquet"), []string{"item"}, []any{"c"})
	table, err := Open(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	if got := strings.Join(table.Header(), " "); got != "item site year" {
		t.Error(got)
	}
	if got, want := cellsOf(t, table), []string{"a A 2024", "b B/C 2023", "c  2022"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Columns that are not requested are not read from any of the files.
func TestFolderOnly(t *testing.T) {
	dir := t.TempDir()
	writeParquet(t, filepath.Join(dir, "1.parquet"), []string{"a", "b"}, []any{"1", "2"})
	writeParquet(t, filepath.Join(dir, "2.parquet"), []string{"b", "a"}, []any{"4", "3"})
	table, err := Open(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	Only(table, 1)
	if got, want := cellsOf(t, table), []string{" 2", " 4"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFolderMistakes(t *testing.T) {
	good := func(dir, name string) {
		writeParquet(t, filepath.Join(dir, name), []string{"item", "x"}, []any{"a", 1.0})
	}
	for _, c := range []struct {
		name string
		make func(dir string)
		want string
	}{
		{"empty", func(string) {}, "no Parquet files (.parquet) in this folder"},
		{"lacks", func(dir string) {
			good(dir, "1.parquet")
			writeParquet(t, filepath.Join(dir, "2.parquet"), []string{"item"}, []any{"b"})
		}, `2.parquet: expected column "x", as in DIR/1.parquet`},
		{"more", func(dir string) {
			good(dir, "1.parquet")
			writeParquet(t, filepath.Join(dir, "2.parquet"), []string{"item", "x", "y"}, []any{"b", 2.0, 2.0})
		}, `2.parquet: unexpected column "y": DIR/1.parquet has [item, x]`},
		{"kind", func(dir string) {
			good(dir, "1.parquet")
			writeParquet(t, filepath.Join(dir, "2.parquet"), []string{"item", "x"}, []any{"b", true})
		}, `2.parquet: column "x": expected numbers, as in DIR/1.parquet, found true and false`},
		{"subfolder", func(dir string) { good(dir, "old/1.parquet") },
			`1.parquet: expected a subfolder of the form key=value, found "old"`},
		{"keys", func(dir string) { good(dir, "a=1/1.parquet"); good(dir, "b=1/1.parquet") },
			`b=1/1.parquet: expected subfolders for [a], as for DIR/a=1/1.parquet, found [b]`},
		{"twice", func(dir string) { good(dir, "x=1/1.parquet") }, `duplicate column "x": already column 2`},
		{"damaged", func(dir string) {
			good(dir, "1.parquet")
			if err := os.WriteFile(filepath.Join(dir, "2.parquet"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}, "2.parquet: this is not a Parquet file: it has 0 bytes"},
	} {
		dir := t.TempDir()
		c.make(dir)
		_, err := Open(t.Context(), dir, Options{})
		if want := strings.NewReplacer("DIR/", dir+string(filepath.Separator), "=1/", "=1"+string(filepath.Separator)).Replace(c.want); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", c.name, err, want)
		}
	}
}
