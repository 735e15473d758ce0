// Package golden compares the output of tests with files that were looked at when they were accepted.
package golden

import (
	"bytes"
	"os"
	"runtime"
	"testing"
)

// Compare compares got with a file. With UPDATE_GOLDEN=1 in the environment it writes the file instead. Architectures
// other than amd64 round differently, which may move a point of a figure by a hundredth of a pixel: there the test is
// skipped.
func Compare(t testing.TB, file string, got []byte) {
	t.Helper()
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, got, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if runtime.GOARCH != "amd64" {
		t.Skip("other architectures round differently")
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s has changed. To accept: UPDATE_GOLDEN=1 go test in this package, then look at it", file)
	}
}
