package table

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"credence/internal/budget"
)

// endless repeats a text n times.
type endless struct {
	text string
	n    int
	rest string
}

func (e *endless) Read(b []byte) (int, error) {
	if e.rest == "" {
		if e.n == 0 {
			return 0, io.EOF
		}
		k := min(e.n, 1+4096/len(e.text))
		e.rest, e.n = strings.Repeat(e.text, k), e.n-k
	}
	n := copy(b, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

// packed compresses the contents of readers.
func packed(t testing.TB, from ...io.Reader) []byte {
	t.Helper()
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if _, err := io.Copy(z, io.MultiReader(from...)); err != nil {
		t.Fatal(err)
	}
	z.Close()
	return b.Bytes()
}

// Texts that need much more memory than allowed are rejected before it is allocated.
func TestTextLimits(t *testing.T) {
	if testing.Short() {
		t.Skip("reads hundreds of megabytes")
	}
	const limit = budget.Least
	line := strings.NewReader
	for _, c := range []struct {
		name string
		text []byte
		rows int // before the error
		want string
	}{
		{"a long field", packed(t, line("a,b\n1,2\n3,"), &endless{text: "xxxxxxxx", n: 5 << 20}, line("\n")), 1,
			"line 3: a record of"},
		{"a long quoted field", packed(t, line("a,b\n1,2\n3,\""), &endless{text: "x\n", n: 20 << 20}, line("\"\n")), 1,
			"line 3: a record of"},
		{"a wide header", packed(t, &endless{text: "a,", n: 20 << 20}), 0, "line 1: a record of"},
		{"a header that makes much of little", packed(t, &endless{text: ",", n: 200_000}, line("\n1\n")), 0,
			"line 1: a header of 200,001 columns would take"},
		{"blank rows of many lengths", packed(t, line("a,b\n"), &endless{text: ",\n,,\n", n: 1 << 20}, line("1,2\n")), 0,
			"many blank rows would take"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			rows, err := 0, error(nil)
			table, err := NewText(t.Context(), io.NopCloser(bytes.NewReader(c.text)), "x.csv.gz", Options{Memory: limit})
			for ; err == nil; rows++ {
				_, err = table.Next()
			}
			runtime.ReadMemStats(&after)
			if !errors.Is(err, budget.ErrMemory) || !strings.Contains(err.Error(), c.want) || max(rows-1, 0) != c.rows {
				t.Errorf("after %d rows: %v, want %q", rows-1, err, c.want)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > 5*limit {
				t.Errorf("%d bytes allocated", took)
			}
		})
	}
}

// A text may end with the line that declares its separator.
func TestNoHeader(t *testing.T) {
	for _, text := range []string{"sep=,", "sep=,\n", "sep=;\r\n", "\ufeffsep=|"} {
		_, err := NewText(t.Context(), io.NopCloser(strings.NewReader(text)), "x.csv", Options{})
		if err == nil || err.Error() != "reading x.csv: no header" {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Blank rows take no memory, those at the end are dropped, and those in between keep
// their position.
func TestBlankRows(t *testing.T) {
	const n = 3 << 20
	text := packed(t, strings.NewReader("a,b\n1,2\n"), &endless{text: ",\n", n: n}, strings.NewReader("3,4\n, , \n"), &endless{text: "\" \",\n", n: n})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	table, err := NewText(t.Context(), io.NopCloser(bytes.NewReader(text)), "x.csv.gz", Options{Memory: budget.Least})
	if err != nil {
		t.Fatal(err)
	}
	rows, last := 0, ""
	for {
		rec, err := table.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		rows++
		if rec[0].Text != "" {
			last = fmt.Sprint(rows, table.Line(), rec[0].Text, rec[1].Text)
		}
	}
	runtime.ReadMemStats(&after)
	if want := fmt.Sprint(n+2, n+3, "3", "4"); rows != n+2 || last != want {
		t.Errorf("%d rows, of which the last says %s, want %s", rows, last, want)
	}
	if took := int64(after.HeapSys) - int64(before.HeapSys); took > 100<<20 {
		t.Errorf("%d bytes taken", took)
	}
}
