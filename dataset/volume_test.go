package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"credence/internal/array"
	"credence/internal/fault"
	"credence/internal/nifti"
	"credence/internal/rng"
	"credence/internal/volume"
)

// cohort changes to a folder with n volumes scans/0.nii.gz, … of random values
// and orientation from left or from right, and a table of them.
func cohort(t testing.TB, n int) {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.Mkdir("scans", 0o755); err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	table.WriteString("item,path,a,b\n")
	for i := range n {
		r := rand.New(rng.New(uint64(i), "cohort"))
		v := &nifti.Volume{Dim: [3]int{6, 5, 4}, Spacing: [3]float64{1, 1, 1}, Data: make([]float32, 120)}
		for j := range v.Data {
			v.Data[j] = float32(100 + r.IntN(1000))
		}
		if i%2 == 1 {
			v.Affine = [3][4]float64{{-1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}
		}
		name := fmt.Sprintf("scans/%d.nii.gz", i)
		if err := nifti.WriteFile(name, v, nifti.WriteOptions{Type: nifti.Int16}); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&table, "s%d,%s,%d,%d\n", i, name, i%2, 1)
	}
	if err := os.WriteFile("manifest.csv", []byte(table.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

var smallVolumes = VolumeOptions{Size: [3]int{3, 4, 2}}

// A column of paths is found by its values, and the tensor is the resampled and
// normalized volume with z fastest.
func TestVolumes(t *testing.T) {
	cohort(t, 3)
	opts := FeatureOptions{Features: []string{"path"}, Volume: smallVolumes}
	f, err := readFeatures(t.Context(), "manifest.csv", opts)
	if err != nil {
		t.Fatal(err)
	}
	part := f.Features[0]
	if len(f.Features) != 1 || part.Name != "path" || !slices.Equal(part.Shape, []int{1, 3, 4, 2}) {
		t.Fatalf("parts %v", f.Features)
	}
	got := rowsOf(t, f.Rows)
	for i := range 3 {
		v, err := nifti.Read(t.Context(), fmt.Sprintf("scans/%d.nii.gz", i))
		if err != nil {
			t.Fatal(err)
		}
		if v, err = volume.Resample(v, [3]int{3, 4, 2}, volume.Stretch); err != nil {
			t.Fatal(err)
		}
		if err := volume.Normalize(v.Data, volume.Normalization{}); err != nil {
			t.Fatal(err)
		}
		for x := range 3 {
			for y := range 4 {
				for z := range 2 {
					want, have := v.At(x, y, z), got[i*24+(x*4+y)*2+z]
					if math.Abs(float64(want-have)) > 1e-3*math.Abs(float64(want)) { // float16
						t.Fatalf("volume %d, voxel %d %d %d is %v, want %v", i, x, y, z, have, want)
					}
				}
			}
		}
	}
	// The same by the name of the column, as the only column, from the folder,
	// and as a stream.
	for name, read := range map[string]func() (Rows, error){
		"named": func() (Rows, error) {
			f, err := readFeatures(t.Context(), "manifest.csv", FeatureOptions{ImageColumn: "path", Features: []string{}, Volume: smallVolumes})
			return f.Rows, err
		},
		"only": func() (Rows, error) {
			f, err := readFeatures(t.Context(), "manifest.csv", FeatureOptions{Ignore: []string{"a", "b"}, Volume: smallVolumes})
			return f.Rows, err
		},
		"votes beside": func() (Rows, error) {
			ds, err := Load(t.Context(), LoadOptions{Data: []string{"manifest.csv"}, FeatureOptions: FeatureOptions{Volume: smallVolumes},
				VotesOptions: VotesOptions{Columns: []string{"a", "b"}, Form: Wide}})
			return ds.Rows, err
		},
		"folder": func() (Rows, error) {
			f, err := readFeatures(t.Context(), "scans", FeatureOptions{Volume: smallVolumes})
			return f.Rows, err
		},
		"schema": func() (Rows, error) {
			f, err := readFeatures(t.Context(), "manifest.csv", FeatureOptions{Schema: f.Features})
			return f.Rows, err
		},
		"stream": func() (Rows, error) {
			s, err := OpenStream(t.Context(), "manifest.csv", f.Features, StreamOptions{})
			if err != nil {
				return nil, err
			}
			defer s.Close()
			b, err := s.Next()
			return b.Rows, err
		},
		"stream of the folder": func() (Rows, error) {
			s, err := OpenStream(t.Context(), "scans", f.Features, StreamOptions{})
			if err != nil {
				return nil, err
			}
			defer s.Close()
			b, err := s.Next()
			return b.Rows, err
		},
	} {
		rows, err := read()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !slices.Equal(rowsOf(t, rows), got) {
			t.Errorf("%s: other values", name)
		}
	}
	s, err := OpenStream(t.Context(), "scans/1.nii.gz", f.Features, StreamOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b, err := s.Next()
	if err != nil || !slices.Equal(b.Items, []string{"1.nii.gz"}) || !slices.Equal(rowsOf(t, b.Rows), got[24:48]) {
		t.Errorf("a single volume: %v, %v", b, err)
	}
}

// In a table with other features a column of paths is left out, not guessed.
func TestPathsLeftOut(t *testing.T) {
	cohort(t, 3)
	f, err := readFeatures(t.Context(), "manifest.csv", FeatureOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := `column "path" is left out: it contains file paths`
	if len(f.Features) != 2 || len(f.Warnings) != 2 || filepath.ToSlash(f.Warnings[0].Error()) != want {
		t.Errorf("parts %v, warnings %v", f.Features, f.Warnings)
	}
	if err := os.WriteFile("two.csv", []byte("item,p,q\na,x.nii,y.nii\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = readFeatures(t.Context(), "two.csv", FeatureOptions{Features: []string{"p", "q"}})
	if err == nil || err.Error() != `reading two.csv: columns "p" and "q" both contain paths of images or volumes: expected one such column` {
		t.Error(err)
	}
}

// The values do not depend on how volumes are stored nor on the number of
// threads.
func TestVolumeCache(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	cohort(t, 5)
	for _, st := range []string{"float32", "float16", "uint8"} {
		opts := func() FeatureOptions {
			o := FeatureOptions{Features: []string{"path"}, Volume: smallVolumes}
			o.Volume.Preparation.Store = st
			return o
		}
		read := func(o FeatureOptions) []float32 {
			t.Helper()
			f, err := readFeatures(t.Context(), "manifest.csv", o)
			if err != nil {
				t.Fatal(err)
			}
			return rowsOf(t, f.Rows)
		}
		want := read(opts())
		o := opts()
		o.Volume.CacheDir = "kept-" + st
		for _, threads := range []int{1, 3} {
			runtime.GOMAXPROCS(threads)
			if !slices.Equal(read(o), want) {
				t.Errorf("%s: the cache gives other values", st)
			}
		}
		files, err := filepath.Glob("kept-" + st + "/volume-*.bin")
		if err != nil || len(files) != 5 {
			t.Fatalf("%s: %d files in the cache, want 5", st, len(files))
		}
		// Above the memory limit, rows come from the cache.
		o.Memory = 1
		if !slices.Equal(read(o), want) {
			t.Errorf("%s: beyond memory, other values", st)
		}
		o.Volume.CacheDir, o.CacheDir = "", "spill-"+st
		if !slices.Equal(read(o), want) {
			t.Errorf("%s: beyond memory without a cache, other values", st)
		}
	}
}

// A damaged file of the cache is replaced. The cache depends on the content of a volume,
// not on its time.
func TestVolumeCacheDamaged(t *testing.T) {
	cohort(t, 1)
	o := FeatureOptions{Features: []string{"path"}, Volume: smallVolumes}
	o.Volume.CacheDir = "kept"
	read := func() []float32 {
		t.Helper()
		f, err := readFeatures(t.Context(), "manifest.csv", o)
		if err != nil {
			t.Fatal(err)
		}
		return rowsOf(t, f.Rows)
	}
	want := read()
	files, _ := filepath.Glob("kept/*")
	if len(files) != 1 {
		t.Fatal(files)
	}
	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for at := range whole {
		bad := slices.Clone(whole)
		bad[at] ^= 0x10
		for _, b := range [][]byte{bad, whole[:at], append(slices.Clone(whole), 0)} {
			if err := os.WriteFile(files[0], b, 0o644); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(read(), want) {
				t.Fatalf("byte %d: a damaged file is used", at)
			}
			if again, _ := os.ReadFile(files[0]); !slices.Equal(again, whole) {
				t.Fatalf("byte %d: the damaged file is not replaced", at)
			}
			if testing.Short() && at%7 != 0 {
				break
			}
		}
	}
	stale := "kept/.volume-00ff.bin.17.tmp" // of a process that was killed
	if err := os.WriteFile(stale, whole[:9], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes("scans/0.nii.gz", time.Time{}, time.Unix(1e9, 0)); err != nil {
		t.Fatal(err)
	}
	read()
	if files, _ = filepath.Glob("kept/*"); len(files) != 1 {
		t.Errorf("the same volume with another time is prepared again: %v", files)
	}
	if _, err := os.Lstat(stale); !os.IsNotExist(err) {
		t.Errorf("a file that was left half written stays: %v", err)
	}
}

func TestVolumesRefused(t *testing.T) {
	cohort(t, 2)
	if err := os.WriteFile("scans/1.nii.gz", []byte("nothing"), 0o644); err != nil {
		t.Fatal(err)
	}
	o := FeatureOptions{Features: []string{"path"}, Volume: smallVolumes}
	_, err := readFeatures(t.Context(), "manifest.csv", o)
	if !errors.Is(err, fault.ErrFormat) || !strings.HasPrefix(err.Error(), "reading "+filepath.FromSlash("scans/1.nii.gz")+": expected a NIfTI header") {
		t.Error(err)
	}
	if err := os.Remove("scans/1.nii.gz"); err != nil {
		t.Fatal(err)
	}
	if _, err = readFeatures(t.Context(), "manifest.csv", o); err == nil || filepath.ToSlash(err.Error()) != `reading manifest.csv: column "path" contains paths of missing files: scans/1.nii.gz (item "s1")` {
		t.Error(err)
	}
	// A stream reports the bad one and reads the other.
	part, err := volumeFeature(&FeatureOptions{ImageColumn: "path", Volume: smallVolumes})
	if err != nil {
		t.Fatal(err)
	}
	s, err := OpenStream(t.Context(), "manifest.csv", []Feature{part}, StreamOptions{KeepBad: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b, err := s.Next()
	if err != nil || len(b.Items) != 2 || b.Bad[0] != nil || b.Bad[1] == nil {
		t.Errorf("%v, %v", b, err)
	}
	for _, p := range []Preparation{{Fit: "crop"}, {Scale: "median"}, {Store: "int4"}, {Low: 5, High: 2}} {
		o.Volume.Preparation = p
		if _, err := readFeatures(t.Context(), "manifest.csv", o); err == nil {
			t.Errorf("%+v is accepted", p)
		}
	}
	o.Volume = VolumeOptions{Size: [3]int{-1, 2, 2}}
	if _, err := readFeatures(t.Context(), "manifest.csv", o); err == nil {
		t.Error("a negative size is accepted")
	}
	if err := os.WriteFile("scans/a.png", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := readFeatures(t.Context(), "scans", FeatureOptions{}); err == nil || err.Error() != "reading scans: both images (a.png) and volumes (0.nii.gz) in this folder: expected one kind" {
		t.Error(err)
	}
}

// A file without orientation is read, with a warning.
func TestVolumeUnoriented(t *testing.T) {
	cohort(t, 2)
	v := &nifti.Volume{Dim: [3]int{2, 2, 2}, Spacing: [3]float64{1, 1, 1}, Data: []float32{0, 1, 2, 3, 4, 5, 6, 7}}
	var b bytes.Buffer
	if err := nifti.Write(&b, v, nifti.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	clear(b.Bytes()[252:256]) // the codes of qform and sform
	if err := os.WriteFile("scans/x.nii", b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := readFeatures(t.Context(), "scans", FeatureOptions{Volume: smallVolumes})
	if err != nil {
		t.Fatal(err)
	}
	want := "1 volume without an orientation, assumed to run from right to left as in Analyze files: scans/x.nii"
	if len(f.Warnings) != 1 || filepath.ToSlash(f.Warnings[0].Error()) != want {
		t.Errorf("warnings %v", f.Warnings)
	}
}

// The transform stores how volumes were prepared.
func TestVolumeTransform(t *testing.T) {
	cohort(t, 4)
	ds, err := Load(t.Context(), LoadOptions{Data: []string{"manifest.csv"}, NoVotes: true,
		FeatureOptions: FeatureOptions{Features: []string{"path"}, Volume: VolumeOptions{Size: [3]int{2, 2, 2}, Preparation: Preparation{Scale: "range", Store: "uint8"}}}})
	if err != nil {
		t.Fatal(err)
	}
	tr, err := Fit(ds, []int{0, 1, 2, 3}, TransformOptions{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(tr)
	if err != nil {
		t.Fatal(err)
	}
	var again Transform
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	if p := again.Schema()[0].Volume; p == nil || *p != (Preparation{"stretch", "range", 0.5, 99.5, "uint8"}) {
		t.Errorf("%s", text)
	}
	if _, err := again.Over(ds); err != nil {
		t.Error(err)
	}
	other, err := readFeatures(t.Context(), "manifest.csv", FeatureOptions{Features: []string{"path"}, Volume: VolumeOptions{Size: [3]int{2, 2, 2}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := again.Over(&Dataset{Features: other.Features, Rows: other.Rows}); err == nil {
		t.Error("volumes prepared otherwise are accepted")
	}
	array := Feature{Name: "path", Kind: Tensor, Shape: []int{1, 2, 2, 2}}
	if _, err := again.Over(&Dataset{Features: []Feature{array}, Rows: other.Rows}); err == nil {
		t.Error("arrays are accepted for volumes")
	}
	bad := strings.Replace(string(text), `"scale":"range"`, `"scale":"best"`, 1)
	if err := json.Unmarshal([]byte(bad), &again); err == nil {
		t.Error("an unknown scale is accepted")
	}
}

func TestStore(t *testing.T) {
	r := rand.New(rng.New(7, "store"))
	x := make([]float32, 1000)
	for _, size := range []float64{1, 1e-3, 1e6, 1e30} {
		for i := range x {
			x[i] = float32(size * r.NormFloat64())
		}
		lo, hi := slices.Min(x), slices.Max(x)
		for s, tol := range map[store]float64{storeFloat32: 0, storeFloat16: float64(max(hi, -lo)) / 2048, storeUint8: float64(hi-lo) / 500} {
			b, y, z := make([]byte, s.size(len(x))), make([]float32, len(x)), make([]float32, len(x))
			s.encode(b, x)
			s.decode(y, b)
			for i := range x {
				if !(math.Abs(float64(x[i]-y[i])) <= tol) {
					t.Fatalf("%s: %v becomes %v", s, x[i], y[i])
				}
			}
			// Rounding twice changes nothing.
			s.encode(b, y)
			s.decode(z, b)
			if s != storeUint8 && !slices.Equal(y, z) {
				t.Errorf("%s: rounding twice is not rounding once", s)
			}
		}
	}
}

// Every float16 number is restored, and numbers between two are rounded to the nearest.
func TestHalf(t *testing.T) {
	for u := range uint32(1 << 16) {
		x := array.Half(uint16(u))
		if x != x {
			if y := array.Half(toHalf(x)); y == y {
				t.Fatalf("%04x: not a number becomes %v", u, y)
			}
			continue
		}
		if got := toHalf(x); got != uint16(u) {
			t.Fatalf("%04x (%v) becomes %04x", u, x, got)
		}
		if u&0x7fff < 0x7bff {
			next := array.Half(uint16(u + 1))
			mid := (float64(x) + float64(next)) / 2
			even := uint16(u + u&1)
			if got := toHalf(float32(mid)); got != even {
				t.Fatalf("half way between %v and %v: %04x, want %04x", x, next, got, even)
			}
			if got := toHalf(math.Nextafter32(float32(mid), x)); got != uint16(u) {
				t.Fatalf("below half way from %v: %04x, want %04x", x, got, u)
			}
		}
	}
	if toHalf(65519) != 0x7bff || toHalf(65520) != 0x7c00 {
		t.Error("65520 is the first number that is infinite")
	}
}
