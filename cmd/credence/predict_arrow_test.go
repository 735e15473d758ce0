package main

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"credence/internal/table"
)

// arrowItems returns the items of a CSV file as an Arrow stream: ids, then numbers.
func arrowItems(t *testing.T, path string) []byte {
	t.Helper()
	in, err := table.Open(t.Context(), path, table.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var b bytes.Buffer
	w, err := table.NewArrowWriter(&b, numberColumns(in))
	if err != nil {
		t.Fatal(err)
	}
	err = table.Records(t.Context(), in, func(rec []table.Cell) error {
		w.Text(0, rec[0].String())
		for i := 1; i < len(rec); i++ {
			if x, ok := rec[i].Number(false); ok {
				w.Number(i, x)
			} else {
				w.Null(i)
			}
		}
		if in.Line()%100 == 0 {
			return w.Flush()
		}
		return nil
	})
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestPredictArrow: items that come as an Arrow stream have the predictions of the same items in CSV, and an Arrow
// stream of predictions has the cells of a Parquet file.
func TestPredictArrow(t *testing.T) {
	partsModel(t, 3, 150)
	stream := arrowItems(t, "new.csv")
	for _, flags := range []string{"", "--wide --level 0.5,0.9 --hpd", "--full --max-width 0.3", "--only mean", "--names tidymodels"} {
		must(t, "predict run new.csv -o one.csv --overwrite "+flags)
		must(t, "predict run new.csv -o one.parquet --overwrite "+flags)
		want, err := os.ReadFile("one.csv")
		if err != nil {
			t.Fatal(err)
		}
		if got := piped(t, "predict run - --format csv "+flags, stream); !bytes.Equal(got, want) {
			t.Errorf("%s: predictions of an Arrow stream differ", flags)
		}
		arrow, err := table.NewPiped(t.Context(), io.NopCloser(bytes.NewReader(piped(t, "predict run - --format arrow --batch 70 "+flags, stream))), "arrow", table.Options{})
		if err != nil {
			t.Fatal(err)
		}
		parquet, err := table.Open(t.Context(), "one.parquet", table.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if a, p := cellsOf(t, arrow), cellsOf(t, parquet); a != p || strings.Count(a, "\n") < 150 {
			t.Errorf("%s: Arrow and Parquet differ: %.300s\n%.300s", flags, a, p)
		}
	}
	for _, c := range []struct{ stream, want string }{
		{string(stream[:len(stream)/2]), "reading standard input: the Arrow stream is damaged or truncated after "},
		{"\xff\xff\xff\xff\x00\x00\x00\x00", "expected a schema as the first message"},
	} {
		var stderr bytes.Buffer
		if code := program(strings.Fields("predict run - --format csv"), strings.NewReader(c.stream), io.Discard, &stderr); code != exitError || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("exit code %d: %s", code, &stderr)
		}
	}
}

// piped runs a command line on what standard input has, and returns what it writes.
func piped(t *testing.T, line string, stdin []byte) []byte {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := program(strings.Fields(line), bytes.NewReader(stdin), &stdout, &stderr); code != exitOK {
		t.Fatalf("%s: exit code %d\n%s", line, code, &stderr)
	}
	return stdout.Bytes()
}

// cellsOf returns the header and the cells of a table as text.
func cellsOf(t *testing.T, in table.Table) string {
	t.Helper()
	defer in.Close()
	var b strings.Builder
	b.WriteString(strings.Join(in.Header(), " | ") + "\n")
	err := table.Records(t.Context(), in, func(rec []table.Cell) error {
		for i := range rec {
			b.WriteString(rec[i].String() + " | ")
		}
		b.WriteString("\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
