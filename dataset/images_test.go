package dataset

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"credence/internal/budget"
)

// The images are written by Pillow; see testdata/make.py.
func TestImages(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"gray.png", "color.png", "flat.jpg", "gray16.png"} {
		b, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(dir, "in"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "in", name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f, err := readFeatures(t.Context(), dir, FeatureOptions{Image: ImageOptions{Height: 2, Width: 3}})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(f.Items, []string{"in/color.png", "in/flat.jpg", "in/gray.png", "in/gray16.png"}) || !slices.Equal(f.Features[0].Shape, []int{3, 2, 3}) {
		t.Fatal(f.Items, f.Features)
	}
	row := make([]float32, 18)
	near := func(i int, tol float64, want ...float32) {
		t.Helper()
		if err := f.Rows.ReadRow(i, row); err != nil {
			t.Fatal(err)
		}
		for k, w := range want {
			if math.Abs(float64(row[k]-w)) > tol {
				t.Errorf("%s: got %v, want %v", f.Items[i], row, want)
				return
			}
		}
	}
	near(0, 0, 200, 200, 200, 200, 200, 200, 100, 100, 100, 0, 0, 0, 0)
	near(1, 3, 200, 200, 200, 200, 200, 200, 100, 100, 100, 100, 100, 100, 50, 50, 50, 50, 50, 50)
	near(2, 0, 0, 50, 100, 150, 200, 250, 0, 50)
	near(3, 1e-4, 0, 10000.0/257, 20000.0/257, 30000.0/257)

	// A table with a column of paths; gray by choice.
	csv := filepath.Join(dir, "items.csv")
	if err := os.WriteFile(csv, []byte("item,age,file\na,1,in/gray.png\nb,2,in/color.png\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err = readFeatures(t.Context(), csv, FeatureOptions{ImageColumn: "file", Image: ImageOptions{Gray: true}})
	if err != nil {
		t.Fatal(err)
	}
	got := rowsOf(t, f.Rows)
	if f.Rows.Width() != 7 || !slices.Equal(got[:7], []float32{1, 0, 50, 100, 150, 200, 250}) {
		t.Error(f.Features, got)
	}

	// The same features, streamed.
	s, err := OpenStream(t.Context(), csv, f.Features, StreamOptions{FeatureOptions: FeatureOptions{ImageColumn: "file"}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b, err := s.Next()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(rowsOf(t, b.Rows), got) {
		t.Error("the stream reads other values")
	}
	s, err = OpenStream(t.Context(), dir, []Feature{f.Features[1]}, StreamOptions{Batch: 3})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for b, err := range s.All() {
		if err != nil {
			t.Fatal(err)
		}
		n += len(b.Items)
	}
	if n != 4 {
		t.Errorf("%d images streamed, want 4", n)
	}
}

func TestImagesRefused(t *testing.T) {
	inDir(t, "a.png", "not an image")
	if _, err := readFeatures(t.Context(), ".", FeatureOptions{}); err == nil || err.Error() != "reading a.png: this is not a PNG or JPEG image: image: unknown format" {
		t.Error(err)
	}
	t.Chdir(t.TempDir())
	if _, err := readFeatures(t.Context(), ".", FeatureOptions{}); err == nil || err.Error() != "reading .: no Parquet files, no PNG or JPEG images and no NIfTI volumes in this folder" {
		t.Error(err)
	}
	// A header with a size of 2³¹ × 2³¹ pixels.
	huge := "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x7f\xff\xff\xff\x7f\xff\xff\xff\x08\x00\x00\x00\x00"
	if err := decodeImageFrom("x.png", bytes.NewReader([]byte(huge)), []int{1, 1, 1}, budget.NewShared(budget.Least), make([]float32, 1)); err == nil {
		t.Error("a huge image is accepted")
	}
}

func FuzzImage(f *testing.F) {
	for _, name := range []string{"gray.png", "gray16.png", "color.png", "flat.jpg"} {
		b, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := imageConfig("x", bytes.NewReader(b))
		if err != nil || c.Width*c.Height > 1<<16 {
			return
		}
		decodeImageFrom("x", bytes.NewReader(b), []int{3, 2, 2}, budget.NewShared(budget.Default), make([]float32, 12))
	})
}

// Paths of images can also be the ids of the items.
func TestImagesAsIDs(t *testing.T) {
	b, err := os.ReadFile("testdata/gray.png")
	if err != nil {
		t.Fatal(err)
	}
	inDir(t, "a.png", string(b))
	for name, text := range map[string]string{"items.csv": "image,age\na.png,40\n", "alone.csv": "image\na.png\n"} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		file, columns, warning string
		opts                   FeatureOptions
	}{
		{"items.csv", "image: item\nage: numeric\nimage: tensor 1×2×3", "", FeatureOptions{ImageColumn: "image"}},
		{"items.csv", "image: item\nage: numeric\nimage: tensor 1×2×3", "", FeatureOptions{Features: []string{"image", "age"}}},
		{"alone.csv", "image: item\nimage: tensor 1×2×3", "", FeatureOptions{}},
		{"items.csv", "image: item\nage: numeric", `column "image" contains file paths, which are used only as ids`, FeatureOptions{}},
	} {
		f, err := readFeatures(t.Context(), c.file, c.opts)
		if err != nil {
			t.Errorf("%s: %v", c.file, err)
			continue
		}
		if got := columnLines(f.Columns); got != c.columns || !slices.Equal(f.Items, []string{"a.png"}) || warningText(f.Warnings) != c.warning {
			t.Errorf("%s: got items %v and columns\n%s\nwarnings %v", c.file, f.Items, got, f.Warnings)
		}
	}
}
