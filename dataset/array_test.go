package dataset

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"credence/internal/array"
	"credence/internal/fault"
)

// rowsOf reads every row.
func rowsOf(t testing.TB, r Rows) []float32 {
	t.Helper()
	var all []float32
	row := make([]float32, r.Width())
	for i := range r.Len() {
		if err := r.ReadRow(i, row); err != nil {
			t.Fatal(err)
		}
		all = append(all, row...)
	}
	return all
}

// count returns n numbers from first.
func count(first, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(first + i)
	}
	return x
}

// The files are written by numpy; see testdata/make.py.
func TestNPYOfNumpy(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.npy")
	if err != nil || len(paths) < 20 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".npy")
		want := count(-5, 12)
		switch {
		case name == "special":
			continue
		case name == "fortran":
			want = count(-5, 24)
		case name == "b1":
			want = []float32{0, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1}
		case strings.Contains(name, "u"):
			want = count(0, 12)
		}
		f, err := readFeatures(t.Context(), path, FeatureOptions{})
		if err != nil {
			t.Error(err)
			continue
		}
		if got := rowsOf(t, f.Rows); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", path, got, want)
		}
		if f.Items[3] != "3" || len(f.Items) != 4 {
			t.Errorf("%s: items %v", path, f.Items)
		}
		f.Close()
	}
	a, err := array.OpenNPY("testdata/special.npy")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	// 6e-8 is the smallest half, 2⁻²⁴.
	got, inf := rowsOf(t, a), float32(math.Inf(1))
	want := []float32{nan, inf, -inf, 65504, 1.0 / (1 << 24), 0}
	if got[0] == got[0] || !slices.Equal(got[1:], want[1:]) || !math.Signbit(float64(got[5])) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestNPZAndIDX(t *testing.T) {
	for _, c := range []struct {
		path, array string
		shape       []int
		want        []float32
	}{
		{"stored.npz", "", []int{3}, count(-5, 12)},
		{"stored.npz", "y", []int{1}, count(0, 4)},
		{"packed.npz", "", []int{3}, count(-5, 12)},
		{"images.idx", "", []int{1, 2, 2}, count(0, 12)},
		{"images-ubyte.gz", "", []int{1, 2, 2}, count(0, 12)},
		{"floats.idx", "", []int{2}, count(0, 4)},
	} {
		// A limit of a few bytes unpacks into a temporary file.
		for _, memory := range []int64{0, 5} {
			f, err := readFeatures(t.Context(), "testdata/"+c.path, FeatureOptions{Array: c.array, Memory: memory, CacheDir: t.TempDir()})
			if err != nil {
				t.Error(err)
				continue
			}
			if !slices.Equal(f.Features[0].Shape, c.shape) {
				t.Errorf("%s: shape %v, want %v", c.path, f.Features[0].Shape, c.shape)
			}
			if got := rowsOf(t, f.Rows); !slices.Equal(got, c.want) {
				t.Errorf("%s: got %v, want %v", c.path, got, c.want)
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestLayout(t *testing.T) {
	for _, c := range []struct {
		item  []int
		l     Layout
		shape []int
	}{
		{[]int{}, "", []int{1}},
		{[]int{5}, "", []int{5}},
		{[]int{28, 28}, "", []int{1, 28, 28}},
		{[]int{3, 8, 8}, "", []int{3, 8, 8}},
		{[]int{8, 8, 3}, "", []int{3, 8, 8}},
		{[]int{8, 8, 8}, "", []int{1, 8, 8, 8}},
		{[]int{1, 8, 8, 8}, "", []int{1, 8, 8, 8}},
		{[]int{8, 8, 8, 2}, "", []int{2, 8, 8, 8}},
		{[]int{8, 8, 8}, CHW, []int{8, 8, 8}},
		{[]int{8, 8}, Vector, []int{64}},
	} {
		n := 1
		for _, s := range c.item {
			n *= s
		}
		shape, _, err := c.l.arrange(c.item, &Memory{N: 1, W: n})
		if err != nil || !slices.Equal(shape, c.shape) {
			t.Errorf("%v as %q: %v, %v, want %v", c.item, c.l, shape, err, c.shape)
		}
	}
	_, rows, _ := autoLayout.arrange([]int{5, 1, 2}, &Memory{1, 10, count(0, 10)})
	if got := rowsOf(t, rows); !slices.Equal(got, []float32{0, 2, 4, 6, 8, 1, 3, 5, 7, 9}) {
		t.Errorf("channels first: %v", got)
	}
	if _, _, err := HW.arrange([]int{5}, nil); err == nil || err.Error() != "layout HW: expected items with 2 axes, found 1: shape 5" {
		t.Error(err)
	}
}

func TestArraysRefused(t *testing.T) {
	head := func(text string) string {
		return "\x93NUMPY\x01\x00" + string([]byte{byte(len(text)), byte(len(text) >> 8)}) + text
	}
	for _, c := range []struct{ name, bytes, want string }{
		{"x.npy", "", "the file is empty"},
		{"x.npy", "\x93NUM", "the file is truncated: 4 bytes of a header"},
		{"x.npy", "PK\x03\x04........", `this is not an NPY file: it begins with "PK\x03\x04.."`},
		{"x.npy", "\x93NUMPY\x09\x00\x10\x00", "expected NPY version 1 to 3, found 9.0"},
		{"x.npy", "\x93NUMPY\x02\x00\xff\xff\xff\xff", "expected a header of at most 65,536 bytes, found 4,294,967,295"},
		{"x.npy", "\x93NUMPY\x01\x00\x40\x00{'descr'", "the header is truncated"},
		{"x.npy", head("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }") + "1234", "the file is truncated: expected 24 bytes for 2×3 of <f4, found 4"},
		{"x.npy", head("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99999999999), }"), "impossible shape 99999999999×99999999999"},
		{"x.npy", head("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 3), }"), "expected a nonempty array, found shape 0×3"},
		{"x.npy", head("{'descr': '<f4', 'fortran_order': False, 'shape': (), }"), "expected an array with one row per item, found a single number"},
		{"x.npy", head("{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }"), `header "{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }": expected elements of type bool, integer, float16, float32 or float64, found "<c8"`},
		{"x.npy", head("{'descr': '<U4', 'fortran_order': False, 'shape': (1,), }"), "expected an array of numbers, found texts"},
		{"x.npy", head("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }"), `header "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }": expected an array of plain numbers: expected a string, found "[('a', '<f4')], 'for"`},
		{"x.npy", head("{'descr': '<f4', 'shape': (1,), }"), `header "{'descr': '<f4', 'shape': (1,), }": expected descr, fortran_order and shape`},
		{"x.npz", "PK", "this is not an NPZ file: zip: not a valid zip file"},
		{"x.idx", "\x00", "the file is empty or truncated"},
		{"x.idx", "\x01\x00\x08\x01", `this is not an IDX file: it begins with "\x01\x00\b\x01"`},
		{"x.idx", "\x00\x00\x07\x01", "unknown element type 0x07"},
		{"x.idx", "\x00\x00\x08\x00", "expected 1 to 8 axes, found 0"},
		{"x.idx", "\x00\x00\x08\x01\x00", "the header is truncated"},
		{"x.idx", "\x00\x00\x08\x01\x00\x00\x00\x09abc", "the file is truncated: expected 9 bytes for 9 of |u1, found 3"},
	} {
		inDir(t, c.name, c.bytes)
		_, err := readFeatures(t.Context(), c.name, FeatureOptions{})
		if err == nil || err.Error() != "reading "+c.name+": "+c.want || !errors.Is(err, fault.ErrFormat) {
			t.Errorf("got  %v\nwant reading %s: %s", err, c.name, c.want)
		}
	}
}

// A stream reports the precision lost in every array of an NPZ file, not only in the first.
func TestStreamPrecisionLost(t *testing.T) {
	t.Chdir(t.TempDir())
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	header := func(descr, shape string) []byte {
		text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n", descr, shape)
		return append(binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(text))), text...)
	}
	for name, body := range map[string][]byte{
		"ids": append(header("|S1", "(2,)"), "ab"...),
		"u":   binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(header("<i8", "(2, 1)"), 1), 2),
		"v":   binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(header("<i8", "(2, 1)"), 3), 1<<30+1),
	} {
		w, _ := z.Create(name + ".npy")
		w.Write(body)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("x.npz", b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	parts := []Feature{{Name: "u", Kind: Tensor, Shape: []int{1}}, {Name: "v", Kind: Tensor, Shape: []int{1}}}
	s, err := OpenStream(t.Context(), "x.npz", parts, StreamOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, err := range s.All() {
		if err != nil {
			t.Fatal(err)
		}
	}
	want := "[x.npz/v.npy: 1 whole number rounded to seven digits, such as 1073741825]"
	if got := fmt.Sprint(s.Warnings()); got != want {
		t.Errorf("warnings %s, want %s", got, want)
	}
}
