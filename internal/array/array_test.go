package array

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"credence/internal/par"
	"credence/internal/python"
)

// rowsOf reads all values of an array.
func rowsOf(t testing.TB, a *Array) []float32 {
	t.Helper()
	var all []float32
	row := make([]float32, a.Width())
	for i := range a.Len() {
		if err := a.ReadRow(i, row); err != nil {
			t.Fatal(err)
		}
		all = append(all, row...)
	}
	return all
}

func TestWriteNPY(t *testing.T) {
	var b bytes.Buffer
	if err := WriteNPY(&b, []int{2, 3}, []float32{0, 1, 2, 3, 4, 5}); err != nil {
		t.Fatal(err)
	}
	a, err := npyArray("x.npy", bytes.NewReader(b.Bytes()), 0, int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if got := rowsOf(t, a); !slices.Equal(got, []float32{0, 1, 2, 3, 4, 5}) || a.offset%64 != 0 {
		t.Errorf("got %v at %d", got, a.offset)
	}
	path := filepath.Join(t.TempDir(), "x.npy")
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	python.Check(t, "numpy", "import numpy, sys; a = numpy.load(sys.argv[1]); assert a.shape == (2, 3) and a.dtype == 'f4' and (a.ravel() == numpy.arange(6)).all()", path)
	if err := WriteNPY(&b, []int{2}, nil); err == nil {
		t.Error("two values promised, none given: no error")
	}
}

func TestNPZNames(t *testing.T) {
	for array, want := range map[string]string{"z": `reading ../../dataset/testdata/stored.npz: no array "z" among [x, y]`} {
		if _, err := OpenNPZ(t.Context(), "../../dataset/testdata/stored.npz", array, Options{}); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
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

// readSome reads the first rows of an open array. The only error allowed is a number that does not fit into
// 32 bits.
func readSome(t *testing.T, a *Array, err error) {
	if err != nil {
		return
	}
	defer a.Close()
	if a.Width() > 1<<20 {
		return
	}
	tooLarge := func(err error) bool { return strings.Contains(err.Error(), "expected values within ±3.4e38") }
	if a, err = a.RowMajor(t.Context(), Options{Memory: 1 << 30}); err != nil {
		if !tooLarge(err) {
			t.Fatal(err)
		}
		return
	}
	row := make([]float32, a.Width())
	for i := range min(a.Len(), 10) {
		if err := a.ReadRow(i, row); err != nil && !tooLarge(err) {
			t.Fatal(err)
		}
	}
}

func FuzzNPY(f *testing.F) {
	fuzzFiles(f, "*.npy")
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := npyArray("x", bytes.NewReader(b), 0, int64(len(b)))
		readSome(t, a, err)
	})
}

func FuzzNPZ(f *testing.F) {
	fuzzFiles(f, "*.npz")
	// The array itself, in an archive with valid checksums: mutations of an archive
	// hardly ever get that far.
	paths, _ := filepath.Glob("../../dataset/testdata/*.npy")
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if bytes.HasPrefix(b, []byte("\x93")) {
			var packed bytes.Buffer
			z := zip.NewWriter(&packed)
			w, err := z.CreateHeader(&zip.FileHeader{Name: "x.npy", Method: uint16(len(b) % 2 * 8)})
			if err != nil {
				t.Fatal(err)
			}
			w.Write(b)
			z.Close()
			b = packed.Bytes()
		}
		a, err := npzArray(t.Context(), "x", bytes.NewReader(b), int64(len(b)), "", Options{Memory: 1 << 30})
		readSome(t, a, err)
	})
}

func FuzzIDs(f *testing.F) {
	fuzzFiles(f, "*.npy")
	for _, id := range idArrays {
		f.Add(npyOf(id.descr, len(id.want), id.bytes))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		h, err := readNPYHeader("x", r, false)
		if err != nil {
			return
		}
		if ids, err := h.texts(t.Context(), "x", r, Options{Memory: 1 << 20}); err == nil && len(ids) != h.shape[0] {
			t.Errorf("%d ids of %v", len(ids), h.shape)
		}
	})
}

func FuzzIDX(f *testing.F) {
	fuzzFiles(f, "*.idx")
	fuzzFiles(f, "*.gz")
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := idxArray(t.Context(), "x", bytes.NewReader(b), int64(len(b)), Options{Memory: 1 << 30})
		readSome(t, a, err)
	})
}

// countingReader counts the calls of ReadAt.
type countingReader struct {
	*bytes.Reader
	reads atomic.Int64
}

func (c *countingReader) ReadAt(p []byte, at int64) (int, error) {
	c.reads.Add(1)
	return c.Reader.ReadAt(p, at)
}

// poolsForget is true if a pool may drop objects at any time.
var poolsForget bool

// TestRowBlocks checks that rows are the same in any order of reading, by one goroutine or several, and that
// sequential rows take few reads.
func TestRowBlocks(t *testing.T) {
	const n, w = 5000, 7
	values := make([]float32, n*w)
	for i := range values {
		values[i] = float32(i)
	}
	var b bytes.Buffer
	if err := WriteNPY(&b, []int{n, w}, values); err != nil {
		t.Fatal(err)
	}
	src := &countingReader{Reader: bytes.NewReader(b.Bytes())}
	a, err := npyArray("x.npy", src, 0, int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	src.reads.Store(0)
	if got := rowsOf(t, a); !slices.Equal(got, values) {
		t.Error("rows in order differ")
	}
	if reads := src.reads.Load(); reads > n/50 && !poolsForget { // a collection may take a block away
		t.Errorf("%d reads of %d rows in order", reads, n)
	}
	par.For(3*n, func(j int) {
		i := j % n
		if j >= n {
			i = j * 7919 % n
		}
		row := make([]float32, w)
		if err := a.ReadRow(i, row); err != nil || !slices.Equal(row, values[i*w:(i+1)*w]) {
			t.Errorf("row %d: %v, %v", i, row, err)
		}
	})
}
