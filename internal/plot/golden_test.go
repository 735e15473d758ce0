package plot

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"testing"
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
	got, file := svg(t, f), filepath.Join("testdata", name+".svg")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, got, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if runtime.GOARCH != "amd64" {
		t.Skip("other architectures round differently, which may move a point by a hundredth of a pixel")
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s has changed. To accept: UPDATE_GOLDEN=1 go test ./internal/plot, then look at it", file)
	}
}
