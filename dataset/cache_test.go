package dataset

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"credence/internal/nifti"
)

// readCached reads features that exceed the memory limit and closes them.
func readCached(t *testing.T, path string, opts FeatureOptions) []float32 {
	t.Helper()
	f, err := readFeatures(t.Context(), path, opts)
	if err != nil {
		t.Fatal(err)
	}
	rows := rowsOf(t, f.Rows)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return rows
}

// editInPlace changes a file but neither its size nor its time.
func editInPlace(t *testing.T, path string, b []byte) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil || info.Size() != int64(len(b)) {
		t.Fatalf("%s: %d bytes for %v (%v)", path, len(b), info, err)
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
}

// square returns a gray PNG of 8×8 pixels, without compression, so that all have the
// same size.
func square(t *testing.T, gray uint8) []byte {
	t.Helper()
	img := image.NewGray(image.Rect(0, 0, 8, 8))
	for i := range img.Pix {
		img.Pix[i] = color.Gray{Y: gray}.Y
	}
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.NoCompression}).Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Cached features are replaced when a file they were read from changes: any image,
// even one that is edited in place and keeps its size and time.
func TestCacheFollowsImages(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("images", 0o755); err != nil {
		t.Fatal(err)
	}
	table := "item,path\n"
	for k := range 4 {
		name := fmt.Sprintf("images/%d.png", k)
		if err := os.WriteFile(name, square(t, uint8(10*k)), 0o644); err != nil {
			t.Fatal(err)
		}
		table += fmt.Sprintf("i%d,%s\n", k, name)
	}
	if err := os.WriteFile("table.csv", []byte(table), 0o644); err != nil {
		t.Fatal(err)
	}
	opts := FeatureOptions{Memory: 1, CacheDir: "cache"}
	for _, path := range []string{"images", "table.csv"} {
		was := readCached(t, path, opts)
		if got := readCached(t, path, opts); !slices.Equal(got, was) {
			t.Errorf("%s: a second reading gives other values", path)
		}
		editInPlace(t, "images/2.png", square(t, 200))
		if got := readCached(t, path, opts); got[2*64] != 200 || got[64] != 10 {
			t.Errorf("%s: the edit of an image is not seen: %v, %v", path, got[64], got[2*64])
		}
		editInPlace(t, "images/2.png", square(t, 20))
	}
}

func TestCacheFollowsTable(t *testing.T) {
	text := many("id,a,b", "#,#,-#", 50)
	inDir(t, "items.csv", text)
	opts := FeatureOptions{Memory: 100, CacheDir: "cache"}
	was := readCached(t, "items.csv", opts)
	editInPlace(t, "items.csv", []byte(strings.Replace(text, "7,7,-7", "7,8,-9", 1)))
	got := readCached(t, "items.csv", opts)
	whole := readCached(t, "items.csv", FeatureOptions{})
	if slices.Equal(got, was) || !slices.Equal(got, whole) {
		t.Error("the edit is not seen")
	}
	// A copy is served by the same cache.
	b, err := os.ReadFile("items.csv")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("copy.csv", b, 0o644); err != nil {
		t.Fatal(err)
	}
	readCached(t, "copy.csv", opts)
	if files, _ := filepath.Glob("cache/*"); len(files) != 2 {
		t.Errorf("caches %v, want 2", files)
	}
}

// A cache that is damaged anywhere, or truncated, is replaced.
func TestCacheDamaged(t *testing.T) {
	inDir(t, "items.csv", many("id,a,b", "#,#,-#", 50))
	opts := FeatureOptions{Memory: 100, CacheDir: "cache"}
	want := readCached(t, "items.csv", opts)
	files, err := filepath.Glob("cache/*")
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	good, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, bad []byte) {
		t.Helper()
		if err := os.WriteFile(files[0], bad, 0o644); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(readCached(t, "items.csv", opts), want) {
			t.Errorf("%s: other values", what)
		}
		if b, err := os.ReadFile(files[0]); err != nil || !bytes.Equal(b, good) {
			t.Errorf("%s: the cache was not made anew (%v)", what, err)
		}
	}
	for at := range good {
		bad := bytes.Clone(good)
		bad[at] ^= 0x10
		check(fmt.Sprint("byte ", at), bad)
	}
	for _, n := range []int{0, 20, 150, len(good) - 1} {
		check(fmt.Sprint(n, " bytes"), good[:n])
	}
	check("longer", append(bytes.Clone(good), 0))
	// A valid one is used unchanged.
	old := time.Now().Add(-time.Hour).Truncate(time.Second)
	if err := os.Chtimes(files[0], old, old); err != nil {
		t.Fatal(err)
	}
	readCached(t, "items.csv", opts)
	if info, err := os.Stat(files[0]); err != nil || !info.ModTime().Equal(old) {
		t.Error("a whole cache was made anew", err)
	}
}

// Prepared volumes are replaced when their files change.
func TestVolumeCacheFollowsFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	v := &nifti.Volume{Dim: [3]int{6, 5, 4}, Spacing: [3]float64{1, 1, 1}, Data: make([]float32, 120)}
	for i := range v.Data {
		v.Data[i] = float32(i * i % 97)
	}
	if err := nifti.WriteFile("brain.nii", v, nifti.WriteOptions{Type: nifti.Int16}); err != nil {
		t.Fatal(err)
	}
	o := FeatureOptions{Volume: smallVolumes}
	o.Volume.CacheDir = "kept"
	was := readCached(t, "brain.nii", o)
	b, err := os.ReadFile("brain.nii")
	if err != nil {
		t.Fatal(err)
	}
	for i := len(b) - 60; i < len(b); i++ {
		b[i] ^= 0x05
	}
	editInPlace(t, "brain.nii", b)
	got := readCached(t, "brain.nii", o)
	if slices.Equal(got, was) || !slices.Equal(got, readCached(t, "brain.nii", FeatureOptions{Volume: smallVolumes})) {
		t.Error("the edit of a volume is not seen")
	}
}
