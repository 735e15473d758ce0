package nifti

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"credence/internal/python"
)

// TestNibabel compares volumes with nibabel's as_closest_canonical and
// get_fdata, on the samples that come with nibabel, on MRIcron's templates if
// they are installed (CREDENCE_VOLUMES names another folder), and on volumes of
// every type, byte order and kind of file with random orientations.
func TestNibabel(t *testing.T) {
	interpreter := python.Interpreter(t, "nibabel")
	dir := t.TempDir()
	oracle := exec.Command(interpreter, "testdata/oracle.py", dir)
	if testing.Short() {
		oracle.Env = append(os.Environ(), "CREDENCE_VOLUMES=")
	}
	if out, err := oracle.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(dir, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	var index []struct {
		Path, Values string
		Dim          [3]int
		Affine       [3][4]float64
	}
	if err := json.Unmarshal(text, &index); err != nil {
		t.Fatal(err)
	}
	if len(index) < 120 {
		t.Fatalf("%d volumes, want at least 120", len(index))
	}
	for _, want := range index {
		got, err := Read(t.Context(), want.Path)
		if err != nil {
			t.Error(err)
			continue
		}
		name := filepath.Base(want.Path)
		if got.Dim != want.Dim {
			t.Errorf("%s: %v voxels, want %v", name, got.Dim, want.Dim)
			continue
		}
		values, err := os.ReadFile(want.Values)
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range got.Data {
			y := float32(math.Float64frombits(binary.LittleEndian.Uint64(values[8*i:])))
			if math.Float32bits(x) != math.Float32bits(y) && x != y {
				t.Errorf("%s: voxel %d is %v, want %v", name, i, x, y)
				break
			}
		}
		for r := range 3 {
			size := 0.0
			for c := range 4 {
				size = max(size, math.Abs(want.Affine[r][c]))
			}
			for c := range 4 {
				// A qform stores its quaternion in float32.
				if math.Abs(got.Affine[r][c]-want.Affine[r][c]) > 2e-6*size {
					t.Errorf("%s: affine %v, want %v", name, got.Affine, want.Affine)
				}
			}
		}
	}
}

// TestNibabelReads reads the output of Write with nibabel.
func TestNibabelReads(t *testing.T) {
	interpreter := python.Interpreter(t, "nibabel")
	dir := t.TempDir()
	// A rotation of 30° about z with voxels of 1, 2 and 3 mm; left-handed.
	s, c := math.Sincos(math.Pi / 6)
	v := &Volume{Dim: [3]int{2, 3, 4}, Spacing: [3]float64{1, 2, 3},
		Affine: [3][4]float64{{c, -2 * s, 0, 5}, {s, 2 * c, 0, -6}, {0, 0, -3, 7}}, Data: make([]float32, 24)}
	for i := range v.Data {
		v.Data[i] = float32(i)
	}
	for typ, name := range map[Type]string{Float32: "f.nii", Int16: "i.nii.gz"} {
		path := filepath.Join(dir, name)
		if err := WriteFile(path, v, WriteOptions{Type: typ, Description: "made for a test"}); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(interpreter, "-c", `
import sys, numpy as np, nibabel as nib
img = nib.load(sys.argv[1])
assert img.get_data_dtype() == np.dtype(sys.argv[2]), img.get_data_dtype()
assert img.shape == (2, 3, 4)
want = np.arange(24).reshape((2, 3, 4), order="F")
assert (img.get_fdata() == want).all()
s, c = np.sin(np.pi / 6), np.cos(np.pi / 6)
affine = np.array([[c, -2*s, 0, 5], [s, 2*c, 0, -6], [0, 0, -3, 7], [0, 0, 0, 1]])
assert np.allclose(img.get_sform(), affine, atol=1e-6)
assert np.allclose(img.get_qform(), affine, atol=1e-6)
assert np.allclose(img.header.get_zooms(), (1, 2, 3))
assert img.header["descrip"].item() == b"made for a test"
assert img.header.get_xyzt_units()[0] == "mm"
`, path, typ.String()).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}
