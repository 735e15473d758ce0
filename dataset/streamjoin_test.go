package dataset

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"credence/internal/array"
)

// writeFiles writes files into a new folder and changes to it.
func writeFiles(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func npyText(t *testing.T, shape []int, values ...float32) string {
	t.Helper()
	var b strings.Builder
	if err := array.WriteNPY(&b, shape, values); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// readStream returns the features of a stream, then a line per item.
func readStream(s *Stream) (string, error) {
	var out strings.Builder
	for {
		b, err := s.Next()
		if err == io.EOF {
			return out.String(), nil
		}
		if err != nil {
			return out.String(), err
		}
		if out.Len() == 0 {
			for _, p := range b.Features {
				fmt.Fprintf(&out, "%s;", p.Name)
			}
			out.WriteByte('\n')
		}
		row := make([]float32, b.Rows.Width())
		for i, id := range b.Items {
			if err := b.Rows.ReadRow(i, row); err != nil {
				return "", err
			}
			fmt.Fprintln(&out, id, row)
			if b.Bad != nil && b.Bad[i] != nil {
				fmt.Fprintln(&out, " bad:", b.Bad[i])
			}
		}
	}
}

// TestJoinedStream checks that prediction finds the features that training joins from
// several files, under the same names.
func TestJoinedStream(t *testing.T) {
	writeFiles(t, map[string]string{
		"a.csv":     "item,age,x\np,1,10\nq,2,20\n",
		"b.csv":     "id,age\nq,200\np,100\n",
		"e.npy":     npyText(t, []int{2, 2}, 1, 2, 3, 4),
		"f.npy":     npyText(t, []int{2, 2}, 5, 6, 7, 8),
		"short.npy": npyText(t, []int{1, 2}, 5, 6),
		"long.npy":  npyText(t, []int{3, 2}, 5, 6, 7, 8, 9, 10),
		"wide.npy":  npyText(t, []int{2, 3}, 5, 6, 7, 8, 9, 10),
		"one.csv":   "id,age\np,100\n",
		"bad.csv":   "item,age,x\np,old,10\nq,2,20\n",
		"plain.csv": "age,x\n1,10\n2,20\n",
		"other.csv": "item,height\np,1\nq,2\n",
	})
	f, err := readJoined(t.Context(), []string{"a.csv", "b.csv", "e.npy", "f.npy"}, newReading(FeatureOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	parts := f.Features
	const header = "age;x;age 2;x 2;x 3;\n"
	for _, c := range []struct{ files, want, err string }{
		{"a.csv b.csv e.npy f.npy", header + "p [1 10 100 1 2 5 6]\nq [2 20 200 3 4 7 8]\n", ""},
		{"- b.csv e.npy f.npy", header + "p [1 10 100 1 2 5 6]\nq [2 20 200 3 4 7 8]\n", ""},
		{"plain.csv b.csv e.npy f.npy", header + "q [1 10 200 1 2 5 6]\np [2 20 100 3 4 7 8]\n", ""},
		{"e.npy a.csv b.csv f.npy", "x 2;age;x;age 2;x 3;\np [1 2 1 10 100 5 6]\nq [3 4 2 20 200 7 8]\n", ""},
		{"a.csv one.csv e.npy f.npy", header + "p [1 10 100 1 2 5 6]\nq [NaN NaN NaN NaN NaN NaN NaN]\n" +
			" bad: reading one.csv: no features for item \"q\"\n", ""},
		{"bad.csv b.csv e.npy f.npy", header + "p [NaN NaN NaN NaN NaN NaN NaN]\n" +
			" bad: reading bad.csv: line 2, column 2 (age): expected a number, found \"old\"\nq [2 20 200 3 4 7 8]\n", ""},
		{"a.csv b.csv e.npy short.npy", "", "reading short.npy: 1 item, but the first file has more, and without ids they are joined by position"},
		{"a.csv b.csv e.npy long.npy", "", "reading long.npy: 3 items, but the first file has 2, and without ids they are joined by position"},
		{"a.csv b.csv e.npy wide.npy", "", `reading wide.npy: feature "x 3": expected items of shape 2 as in training, found 3`},
		{"a.csv b.csv e.npy", "", `no feature "x 3" (tensor 2) in a.csv, b.csv, e.npy: the model was trained with it`},
		{"a.csv e.npy f.npy", "", `no feature "age 2" (numeric) in a.csv, e.npy, f.npy: the model was trained with it`},
		{"a.csv b.csv e.npy f.npy wide.npy", "", "reading wide.npy: the model has no further array or image feature, which this file could contain"},
		{"a.csv b.csv e.npy f.npy other.csv", "", "reading other.csv: none of the columns [item, height] is a feature of the model"},
		{"a.csv none.csv", "", "reading none.csv: " + syscall.ENOENT.Error()},
	} {
		files := strings.Fields(c.files)
		opts := StreamOptions{KeepBad: true, Beside: files[1:]}
		before := openFiles()
		var s *Stream
		var err error
		if files[0] == "-" {
			text, _ := os.ReadFile("a.csv")
			s, err = NewStream(t.Context(), strings.NewReader(string(text)), "standard input", parts, opts)
		} else {
			s, err = OpenStream(t.Context(), files[0], parts, opts)
		}
		got := ""
		if err == nil {
			got, err = readStream(s)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		if n := openFiles(); n != before {
			t.Errorf("%s: %d files are open, %d before", c.files, n, before)
		}
		if c.err != "" {
			if err == nil || err.Error() != c.err {
				t.Errorf("%s: error %v\nwant %s", c.files, err, c.err)
			}
		} else if err != nil || got != c.want {
			t.Errorf("%s: %v\ngot\n%s\nwant\n%s", c.files, err, got, c.want)
		}
	}

	// The same with all items at once, as for an evaluation.
	g, err := readJoined(t.Context(), []string{"a.csv", "b.csv", "e.npy", "f.npy"}, newReading(FeatureOptions{Schema: parts}))
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if got, want := fmt.Sprint(g.Features, rowsOf(t, g.Rows)), fmt.Sprint(parts, rowsOf(t, f.Rows)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestWeightColumn(t *testing.T) {
	writeFiles(t, map[string]string{"a.csv": "item,x,w\np,1,0\nq,2,2.5\n", "neg.csv": "item,x,w\np,1,-1\n", "none.csv": "item,x,w\np,1,\n"})
	f, err := readFeatures(t.Context(), "a.csv", FeatureOptions{WeightColumn: "w"})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(f.Weights, f.Features, f.Columns); got != "[0 2.5] [x: numeric] [item: item x: numeric w: weight]" {
		t.Error(got)
	}
	ds, err := join(f, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := ds.Select([]int{1}).Weights; !slices.Equal(got, []float64{2.5}) {
		t.Error(got)
	}
	for file, want := range map[string]string{
		"neg.csv":  `reading neg.csv: line 2, column 3 (w): expected a weight from 0 to 1e9, found "-1"`,
		"none.csv": `reading none.csv: line 2, column 3 (w): expected a weight from 0 to 1e9, found ""`,
	} {
		if _, err := readFeatures(t.Context(), file, FeatureOptions{WeightColumn: "w"}); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

func TestStdin(t *testing.T) {
	text := []byte("item,x,a,b\np,1,3,0\nq,2,1,2\n")
	ds, err := Load(t.Context(), LoadOptions{Data: []string{"-"}, FeatureOptions: FeatureOptions{TableOptions: TableOptions{Stdin: text}},
		VotesOptions: VotesOptions{Columns: []string{"a", "b"}, Form: Counted, TableOptions: TableOptions{Stdin: text}}})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(ds.Items, ds.Counts, ds.Features); got != "[p q] [3 0 1 2] [x: numeric]" {
		t.Error(got)
	}
	if !strings.HasSuffix(ds.Votes.String(), "of standard input") {
		t.Error(ds.Votes)
	}
	_, err = ReadVotes(t.Context(), "-", VotesOptions{TableOptions: TableOptions{Stdin: []byte{}}})
	if err == nil || err.Error() != "reading standard input: the file is empty" {
		t.Error(err)
	}
}

// openFiles returns the number of open files of the process, or 0 where the system does not report it.
func openFiles() int {
	list, _ := os.ReadDir("/proc/self/fd")
	return len(list)
}
