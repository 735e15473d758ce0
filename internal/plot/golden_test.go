package plot

import (
	"bytes"
	"path/filepath"
	"testing"

	"credence/internal/golden"
)

// svg returns the file of a figure.
func svg(t testing.TB, f Figure) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := WriteSVG(&b, f); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// compareGolden compares a figure with its file in testdata, which was looked at
// in a browser, light and dark. UPDATE_GOLDEN=1 rewrites it.
func compareGolden(t *testing.T, name string, f Figure) {
	t.Helper()
	golden.Compare(t, filepath.Join("testdata", name+".svg"), svg(t, f))
}
