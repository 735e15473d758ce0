package nifti

import (
	"bytes"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"credence/internal/rng"
)

// random returns a volume of random values and orientation.
func random(r *rand.Rand, dim [3]int) *Volume {
	v := &Volume{Dim: dim, Data: make([]float32, dim[0]*dim[1]*dim[2])}
	for i := range v.Data {
		v.Data[i] = float32(100 * r.NormFloat64())
	}
	for i := range 3 {
		v.Spacing[i] = 0.5 + r.Float64()
		v.Affine[i][i] = v.Spacing[i]
		v.Affine[i][3] = 10 * r.NormFloat64()
	}
	return v
}

// whole rounds the values of a volume.
func whole(v *Volume) {
	for i, x := range v.Data {
		v.Data[i] = float32(math.Round(float64(x)))
	}
}

func TestWriteRead(t *testing.T) {
	r := rand.New(rng.New(1, "nifti write"))
	dir := t.TempDir()
	for _, name := range []string{"a.nii", "a.nii.gz"} {
		for _, typ := range []Type{0, Float32, Int16} {
			v := random(r, [3]int{5, 4, 3})
			if typ == Int16 {
				whole(v)
			}
			path := filepath.Join(dir, name)
			if err := WriteFile(path, v, WriteOptions{Type: typ, Description: "random"}); err != nil {
				t.Fatal(err)
			}
			got, err := Read(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			if got.Dim != v.Dim {
				t.Errorf("%v: dimensions %v, want %v", typ, got.Dim, v.Dim)
			}
			if !slices.Equal(got.Data, v.Data) {
				t.Fatalf("%s, %v: voxels %v, want %v", name, typ, got.Data, v.Data)
			}
			for i := range 3 {
				if math.Abs(got.Spacing[i]-v.Spacing[i]) > 1e-6 {
					t.Errorf("spacing %v, want %v", got.Spacing, v.Spacing)
				}
				for k := range 4 {
					if math.Abs(got.Affine[i][k]-v.Affine[i][k]) > 1e-5 {
						t.Fatalf("affine %v, want %v", got.Affine, v.Affine)
					}
				}
			}
		}
	}
}

// Equal volumes result in equal bytes, without a time stamp.
func TestWriteDeterministic(t *testing.T) {
	v := random(rand.New(rng.New(2, "nifti write")), [3]int{9, 8, 7})
	whole(v)
	var a, b bytes.Buffer
	for _, w := range []*bytes.Buffer{&a, &b} {
		if err := Write(w, v, WriteOptions{Gzip: true, Type: Int16}); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("two writings differ")
	}
	if mtime := a.Bytes()[4:8]; !bytes.Equal(mtime, make([]byte, 4)) {
		t.Errorf("the gzip header has the time %x", mtime)
	}
}

func TestWriteRefused(t *testing.T) {
	good := Volume{Dim: [3]int{1, 1, 2}, Spacing: [3]float64{1, 1, 1}, Data: []float32{1, 2}}
	for want, change := range map[string]func(*Volume, *WriteOptions){
		"writing a volume: 2 values for a volume of 1×1×3 voxels":                        func(v *Volume, _ *WriteOptions) { v.Dim[2] = 3 },
		"writing a volume: a volume of 1×0×2 voxels: at most 536870912 are written":      func(v *Volume, _ *WriteOptions) { v.Dim[1] = 0 },
		"writing a volume: expected positive sizes of voxels, found [0 1 1]":             func(v *Volume, _ *WriteOptions) { v.Spacing[0] = 0 },
		"writing a volume: an affine with the element NaN":                               func(v *Volume, _ *WriteOptions) { v.Affine[1][1] = math.NaN() },
		"writing a volume: expected voxels of type float32 or int16, found RGB24":        func(_ *Volume, o *WriteOptions) { o.Type = 128 },
		"writing a volume: expected a whole number within int16, found 0.5 in voxel 1":   func(v *Volume, o *WriteOptions) { v.Data, o.Type = []float32{-32768, 0.5}, Int16 },
		"writing a volume: expected a whole number within int16, found 32768 in voxel 0": func(v *Volume, o *WriteOptions) { v.Data, o.Type = []float32{32768, 1}, Int16 },
		"writing a volume: expected a whole number within int16, found NaN in voxel 1":   func(v *Volume, o *WriteOptions) { v.Data, o.Type = []float32{32767, float32(math.NaN())}, Int16 },
		"writing a volume: expected a description of at most 79 bytes, found 80":         func(_ *Volume, o *WriteOptions) { o.Description = string(make([]byte, 80)) },
		"writing a volume: 40000×1×1 voxels: an axis of NIfTI-1 has at most 32767":       func(v *Volume, _ *WriteOptions) { v.Dim, v.Data = [3]int{40000, 1, 1}, make([]float32, 40000) },
		"writing a volume: gzip: invalid compression level: 12":                          func(_ *Volume, o *WriteOptions) { o.Gzip, o.Level = true, 12 },
	} {
		v, o := good, WriteOptions{}
		change(&v, &o)
		if err := Write(&bytes.Buffer{}, &v, o); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if err := WriteFile("x.img", &good, WriteOptions{}); err == nil {
		t.Error("a name without .nii is accepted")
	}
}
