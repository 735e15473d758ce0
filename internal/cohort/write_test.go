package cohort

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"credence/internal/nifti"
)

var tiny = Size{14, 16, 12}

func mustWrite(t *testing.T, dir string, c *Cohort, o WriteOptions) {
	t.Helper()
	if err := Write(context.Background(), dir, c, o); err != nil {
		t.Fatal(err)
	}
}

// content returns the files of a folder by name.
func content(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, pattern := range []string{"*.*", "volumes/*"} {
		names, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			short, _ := filepath.Rel(dir, name)
			files[filepath.ToSlash(short)] = text
		}
	}
	return files
}

func sameFiles(t *testing.T, what string, a, b map[string][]byte) {
	t.Helper()
	if len(a) != len(b) {
		t.Errorf("%s: %d files and %d", what, len(a), len(b))
	}
	for name := range a {
		if !bytes.Equal(a[name], b[name]) {
			t.Errorf("%s: %s differs", what, name)
		}
	}
}

func TestWriteOnAnyNumberOfCores(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	c := mustNew(t, Options{Scans: 5, Fresh: 2, Seed: 1})
	var files [2]map[string][]byte
	for i := range files {
		runtime.GOMAXPROCS(i + 1)
		dir := filepath.Join(t.TempDir(), "cohort")
		mustWrite(t, dir, c, WriteOptions{Size: tiny})
		files[i] = content(t, dir)
	}
	sameFiles(t, "one core and two", files[0], files[1])
	if n := len(files[0]); n != 7+8 {
		t.Errorf("%d files", n)
	}
	head, _, _ := strings.Cut(string(files[0]["clinical.csv"]), "\n")
	if want := "subject,visit,scan,path,DX,MMSE,CDR,part,synthetic,truth_s,truth_shown,truth_pi_DX,truth_pi_CDR,truth_pi_MMSE,truth_p"; head != want {
		t.Errorf("columns %s", head)
	}
	if !strings.HasPrefix(string(files[0]["README.txt"]), "SYNTHETIC DATA.") {
		t.Error("the README does not begin by saying that the data are synthetic")
	}
}

// A folder that was cut short is completed; what is whole is not touched.
func TestWriteResumes(t *testing.T) {
	c := mustNew(t, Options{Scans: 4, Seed: 1})
	dir := t.TempDir()
	stopped, stop := context.WithCancel(context.Background())
	o := WriteOptions{Size: tiny, Progress: func(done, total int) {
		if total != 4 {
			t.Errorf("%d of %d", done, total)
		}
		stop()
	}}
	if err := Write(stopped, dir, c, o); !errors.Is(err, context.Canceled) {
		t.Fatalf("ended with %v", err)
	}
	if n := len(content(t, dir)); n == 4+5 {
		t.Fatal("nothing was cut short")
	}
	mustWrite(t, dir, c, WriteOptions{Size: tiny})
	whole := content(t, dir)

	kept := filepath.Join(dir, c.Scans[0].Path())
	cut := filepath.Join(dir, c.Scans[1].Path())
	before, err := os.Stat(kept)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(cut, 100); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, c.Scans[2].Path())); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, dir, c, WriteOptions{Size: tiny})
	sameFiles(t, "resumed", whole, content(t, dir))
	if after, err := os.Stat(kept); err != nil || !after.ModTime().Equal(before.ModTime()) {
		t.Error("a volume that was whole was written again")
	}
}

func TestWriteRefuses(t *testing.T) {
	c := mustNew(t, Options{Scans: 3, Fresh: 1, Seed: 1})
	dir := t.TempDir()
	other := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(other, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Write(context.Background(), dir, c, WriteOptions{Size: tiny}); !errors.Is(err, ErrOccupied) {
		t.Errorf("a folder with other files: %v", err)
	}
	mustWrite(t, dir, c, WriteOptions{Size: tiny, Overwrite: true})
	d := mustNew(t, Options{Scans: 2, Seed: 2})
	if err := Write(context.Background(), dir, d, WriteOptions{Size: tiny}); !errors.Is(err, ErrOccupied) {
		t.Errorf("a folder with another cohort: %v", err)
	}
	mustWrite(t, dir, d, WriteOptions{Size: tiny, Overwrite: true})
	files := content(t, dir)
	if string(files["notes.txt"]) != "mine" {
		t.Error("a file of someone else was changed")
	}
	delete(files, "notes.txt")
	fresh := filepath.Join(t.TempDir(), "fresh")
	mustWrite(t, fresh, d, WriteOptions{Size: tiny})
	sameFiles(t, "overwritten", content(t, fresh), files)
	if err := Write(context.Background(), t.TempDir(), c, WriteOptions{Size: Size{2, 96, 80}}); err == nil {
		t.Error("a volume of two slices was written")
	}
}

// What is written is read back turned the right way round: from left to right.
func TestVolumeReadsBack(t *testing.T) {
	c := mustNew(t, Options{Scans: 1, Seed: 1})
	dir := t.TempDir()
	mustWrite(t, dir, c, WriteOptions{Size: tiny})
	v, err := nifti.Read(t.Context(), filepath.Join(dir, c.Scans[0].Path()))
	if err != nil {
		t.Fatal(err)
	}
	if v.Dim != [3]int(tiny) {
		t.Fatalf("%v voxels", v.Dim)
	}
	if a := v.Affine; !(a[0][0] > 0 && a[1][1] > 0 && a[2][2] > 0) {
		t.Errorf("affine %v", a)
	}
	drawn := c.Picture(0).Volume(tiny)
	if a := drawn.Affine; a[0][0] >= 0 {
		t.Errorf("affine as stored: %v", a)
	}
	for z := range tiny[2] {
		for y := range tiny[1] {
			for x := range tiny[0] {
				if v.At(x, y, z) != drawn.At(tiny[0]-1-x, y, z) {
					t.Fatalf("voxel (%d, %d, %d) is %v", x, y, z, v.At(x, y, z))
				}
			}
		}
	}
}
