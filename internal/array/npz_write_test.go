package array

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"credence/internal/python"
)

// What WriteNPZ writes is what this package and numpy read.
func TestWriteNPZ(t *testing.T) {
	var b bytes.Buffer
	ids := []string{"a", "漢字.png", ""}
	if err := WriteNPZ(&b, ids, []Named{{"x", []int{3, 2}, []float32{1, 2, 3, 4, 5, 6}}}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.npz")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := ReadTexts(context.Background(), path, "ids", Options{Memory: 1 << 20, Dir: func() (string, error) { return t.TempDir(), nil }})
	if err != nil || !slices.Equal(got, ids) {
		t.Errorf("%q, %v", got, err)
	}
	python.Check(t, "numpy", `import sys, numpy
z = numpy.load(sys.argv[1])
assert list(z["ids"]) == ["a", "漢字.png", ""] and (z["x"] == [[1, 2], [3, 4], [5, 6]]).all(), dict(z)`, path)
}
