package table

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"credence/internal/budget"
	"credence/internal/python"
)

// arrowOf reads a stream.
func arrowOf(t testing.TB, b []byte) (*arrowTable, error) {
	table, err := newArrow(t.Context(), bufio.NewReader(bytes.NewReader(b)), "x", budget.Default)
	if table != nil {
		table.src = io.NopCloser(nil)
	}
	return table, err
}

// arrowCell is a cell with its kind.
func arrowCell(c *Cell) string {
	switch c.Kind {
	case MissingCell:
		return "-"
	case WholeCell:
		return "#" + cellText(c)
	case TextCell:
		return fmt.Sprintf("%q", c.Text)
	}
	return cellText(c)
}

// TestArrowTypes reads a stream of pyarrow (testdata/arrow.py), with nulls, structures, lists and unsupported columns.
func TestArrowTypes(t *testing.T) {
	b, err := os.ReadFile("testdata/types.arrows")
	if err != nil {
		t.Fatal(err)
	}
	table, err := NewPiped(t.Context(), io.NopCloser(bytes.NewReader(b)), "x", Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"item": `"a" "ä\n" ""`, "large": `"x" - "yz"`, "bytes": `"p" "q" -`, "i8": "#-1 - #127", "u16": "#1 #65535 -",
		"i32": "#-2147483648 #0 #7", "u64": `"18446744073709551615" #0 #5`, "half": "0.5 -2 -", "f32": "0.25 - 1.5", "f64": "0.1 NaN -",
		"flag": `"true" - "false"`, "price": "-1.25 - 12345.5", "day": "#2 - #-1", "at": "#1000001 - #2", "none": "- - -",
		"list": "[1 NaN] - -", "whole": "[1] [2 3] -", "pair": "[1 2] - [5 6]", "s.x": "1.5 - -", "s.y": `"u" - "v"`,
		"words": "lists of text are not supported", "map": "values of its type are not supported", "last": "1 2 3",
	}
	got := map[string][]string{}
	err = Records(t.Context(), table, func(rec []Cell) error {
		for i, name := range table.Header() {
			if table.Unread(i) == nil {
				got[name] = append(got[name], arrowCell(&rec[i]))
			}
		}
		return nil
	})
	if err != nil || table.Line() != 3 {
		t.Fatal(table.Line(), err)
	}
	for i, name := range table.Header() {
		text := strings.Join(got[name], " ")
		if why := table.Unread(i); why != nil {
			text = why.Error()
		}
		if text != want[name] {
			t.Errorf("column %s: %s, want %s", name, text, want[name])
		}
		delete(want, name)
	}
	if len(want) > 0 {
		t.Errorf("there are no columns %v", want)
	}
	if e := table.ErrorAt(0, "it is bad").Error(); e != "reading x: row 3, column item: it is bad" {
		t.Error(e)
	}
}

// writeArrow writes a stream of several messages.
func writeArrow(t testing.TB, rows int) []byte {
	var b bytes.Buffer
	w, err := NewArrowWriter(&b, []ParquetColumn{{"item", ParquetText}, {"mean", ParquetNumber}, {"k", ParquetWhole}, {"abstain", ParquetBool}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		if i == 7 {
			for k := range 4 {
				w.Null(k)
			}
			continue
		}
		w.Text(0, fmt.Sprintf("ï%d", i))
		w.Number(1, float64(i)/3)
		w.Whole(2, -int64(i))
		w.Bool(3, i%3 == 0)
		if i%40 == 39 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestArrowWriter(t *testing.T) {
	b := writeArrow(t, 100)
	table, err := arrowOf(t, b)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(table.Header(), []string{"item", "mean", "k", "abstain"}) {
		t.Error(table.Header())
	}
	n := 0
	err = Records(t.Context(), table, func(rec []Cell) error {
		want := []string{fmt.Sprintf("%q", fmt.Sprintf("ï%d", n)), fmt.Sprint(float64(n) / 3), fmt.Sprintf("#%d", -n), fmt.Sprintf("%q", fmt.Sprint(n%3 == 0))}
		for k := range rec {
			if n == 7 {
				want[k] = "-"
			}
			if got := arrowCell(&rec[k]); got != want[k] {
				t.Errorf("row %d: %s, want %s", n, got, want[k])
			}
		}
		n++
		return nil
	})
	if err != nil || n != 100 {
		t.Error(n, err)
	}
	if empty, err := arrowOf(t, writeArrow(t, 0)); err != nil {
		t.Error(err)
	} else if _, err := empty.Next(); err != io.EOF {
		t.Error(err)
	}
	path := filepath.Join(t.TempDir(), "x.arrows")
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	python.Check(t, "pyarrow", `
import sys, pyarrow as pa
t = pa.ipc.open_stream(sys.argv[1]).read_all()
t.validate(full=True)
assert t.column_names == ["item", "mean", "k", "abstain"], t.column_names
assert [str(f.type) for f in t.schema] == ["string", "double", "int64", "bool"], t.schema
assert t.num_rows == 100 and t["mean"][3].as_py() == 1 and t["k"][99].as_py() == -99
assert [c[7].as_py() for c in t.columns] == [None] * 4 and t["item"][8].as_py() == "ï8"
assert t["abstain"].to_pylist()[:4] == [True, False, False, True]`, path)
}

// TestArrowDamaged checks that a truncated stream is an error, except between messages, and that unsupported
// variants have errors of their own.
func TestArrowDamaged(t *testing.T) {
	b := writeArrow(t, 50)
	whole := 0
	for n := range len(b) {
		table, err := arrowOf(t, b[:n])
		if err == nil {
			for err == nil {
				_, err = table.Next()
			}
			if err == io.EOF {
				whole++
				continue
			}
		}
		if !strings.Contains(err.Error(), "Arrow stream") {
			t.Fatalf("%d bytes: %v", n, err)
		}
	}
	// After each of three messages, and there with the mark of the next one or half of the end.
	if whole > 9 {
		t.Errorf("%d streams that are cut short read as whole", whole)
	}
	long := slices.Clone(b)
	copy(long[4:], []byte{0xff, 0xff, 0xff, 0x7f})
	if _, err := arrowOf(t, long); err == nil {
		t.Error("metadata of 2 GB are read")
	}
	if _, err := arrowOf(t, append(slices.Clone(arrowMark), 0, 0, 0, 0)); err == nil || !strings.Contains(err.Error(), "expected a schema as the first message") {
		t.Error(err)
	}
	if _, err := NewArrowWriter(io.Discard, []ParquetColumn{{"a", ParquetText}, {"a", ParquetText}}); err == nil {
		t.Error("two columns of one name are written")
	}
}

// TestPipedText checks that text is recognized, even if it is shorter than the mark of an Arrow stream.
func TestPipedText(t *testing.T) {
	table, err := NewPiped(t.Context(), io.NopCloser(strings.NewReader("a\n1")), "x", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if rec, err := table.Next(); err != nil || rec[0].Text != "1" {
		t.Error(rec, err)
	}
	if _, err := NewPiped(t.Context(), io.NopCloser(strings.NewReader("\xff\xfea\x00")), "x", Options{}); err == nil || !strings.Contains(err.Error(), "UTF-16") {
		t.Error(err)
	}
}

// readArrow reads the first rows of a stream that may be damaged in any way.
func readArrow(t *testing.T, b []byte) {
	table, err := newArrow(t.Context(), bufio.NewReader(bytes.NewReader(b)), "x", 1<<20)
	if err != nil {
		return
	}
	for range 100 {
		rec, err := table.Next()
		if err != nil {
			return
		}
		for i := range rec {
			if text := arrowCell(&rec[i]); text == "" {
				t.Error("a cell without a text")
			}
		}
	}
}

// TestArrowMutants checks that changed bytes, mostly in the metadata, result in other cells or an error.
func TestArrowMutants(t *testing.T) {
	types, err := os.ReadFile("testdata/types.arrows")
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, whole := range [][]byte{types, writeArrow(t, 50)} {
		for range 4000 {
			b := slices.Clone(whole)
			for range 1 + r.IntN(4) {
				at := r.IntN(len(b))
				switch r.IntN(3) {
				case 0:
					b[at] = byte(r.IntN(256))
				case 1:
					b[at] ^= 1 << r.IntN(8)
				default:
					b[at] = []byte{0, 1, 0x7f, 0x80, 0xff}[r.IntN(5)]
				}
			}
			readArrow(t, b)
		}
	}
}

// TestArrowFields checks that too many or too deeply nested fields are an error before all of them are read: they may
// refer to one another without end.
func TestArrowFields(t *testing.T) {
	field := flatFields{0: "x", 1: int8(1), 2: int8(arrowBool), 3: flatFields{}}
	deep := field
	for range arrowDeepest + 1 {
		deep = flatFields{0: "s", 2: int8(arrowStruct), 3: flatFields{}, 5: []flatFields{deep}}
	}
	for _, fields := range [][]flatFields{{deep}, slices.Repeat([]flatFields{field}, arrowMostFields+1)} {
		var b bytes.Buffer
		w := &ArrowWriter{w: &b}
		if err := w.message(arrowSchema, flatFields{1: fields}, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := arrowOf(t, b.Bytes()); err == nil || !strings.Contains(err.Error(), "more than 100000 fields, or") {
			t.Error(err)
		}
	}
}

func FuzzArrow(f *testing.F) {
	f.Add(writeArrow(f, 50))
	b, err := os.ReadFile("testdata/types.arrows")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(readArrow)
}
