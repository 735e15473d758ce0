package array

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"credence/internal/python"
)

// recordsFile is a file of two records.
func recordsFile(t testing.TB) []byte {
	t.Helper()
	b, err := HeaderRecords([]Field{{Name: "weights", Shape: []int{2}}, {Name: "alpha", Shape: []int{2, 3}}, {Name: "gain"}}, 2)
	if err != nil {
		t.Fatal(err)
	}
	return AppendNumbers(b, []float64{0.5, 0.5, 1, 2, 3, 4, 5, 6, 7, 0.25, 0.75, 11, 12, 13, 14, 15, 16, 17})
}

func TestRecords(t *testing.T) {
	b := recordsFile(t)
	r, err := readRecords("r.npy", bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Append(nil, 1, r.Field("alpha")); r.N != 2 || !slices.Equal(got, []float64{11, 12, 13, 14, 15, 16}) {
		t.Errorf("%d records, alpha of the second %v", r.N, got)
	}
	if got := r.Append(nil, 0, r.Field("gain")); !slices.Equal(got, []float64{7}) || r.Field("beta") != -1 {
		t.Errorf("gain of the first %v, beta at %d", got, r.Field("beta"))
	}
}

// TestRecordsNumpy reads a file with numpy, and a file written by numpy.
func TestRecordsNumpy(t *testing.T) {
	python.Interpreter(t, "numpy") // without it there is no second file
	head, err := HeaderRecords([]Field{{Name: "mean", Shape: []int{2}}, {Name: "gain"}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "r.npy")
	if err := os.WriteFile(path, AppendNumbers(head, []float64{0.25, 0.75, 3}), 0o644); err != nil {
		t.Fatal(err)
	}
	other := path + "-2.npy"
	python.Check(t, "numpy", `import numpy, sys
a = numpy.load(sys.argv[1])
assert a.shape == (1,) and a['mean'].tolist() == [[.25, .75]] and a['gain'].tolist() == [3]
b = numpy.zeros(3, [('weights', 'f8', (1,)), ('x', 'f8')])
b['weights'], b['x'] = 1, range(3)
numpy.save(sys.argv[1] + '-2.npy', b)`, path)
	r, err := ReadRecords(other)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Append(r.Append(nil, 2, 0), 2, 1); r.N != 3 || !slices.Equal(got, []float64{1, 2}) {
		t.Errorf("%d records, the last %v", r.N, got)
	}
}

func TestRecordsRefused(t *testing.T) {
	for descr, want := range map[string]string{
		"'<f8'":                                "expected an array of records",
		"[('a', '<f4')]":                       `field "a": expected type <f8 (float64), found "<f4"`,
		"[('a', '<f8', (9,))]":                 "the file is truncated: expected 2 records of 72 bytes",
		"[]":                                   "records without fields",
		"[('a', [('b', '<f8')])]":              "expected a field such as",
		"[('a', '<f8', (99999999, 99999999))]": "has more than",
	} {
		text := "{'descr': " + descr + ", 'fortran_order': False, 'shape': (2,), }\n"
		b := append([]byte(npyMagic), 1, 0, byte(len(text)), 0)
		b = append(append(b, text...), make([]byte, 64)...)
		if _, err := readRecords("r.npy", bytes.NewReader(b), int64(len(b))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", descr, err, want)
		}
	}
}

func FuzzRecords(f *testing.F) {
	f.Add(recordsFile(f))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := readRecords("x", bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		for i := range r.N {
			for k := range r.Fields {
				r.Append(nil, i, k)
			}
			if i > 100 {
				break
			}
		}
	})
}
