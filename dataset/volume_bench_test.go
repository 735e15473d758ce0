package dataset

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"credence/internal/budget"
	"credence/internal/nifti"
)

// BenchmarkVolume measures the time to read and prepare one volume for a grid of
// 96×96×80, from an int16 .nii.gz, and the time to read the prepared
// one.
func BenchmarkVolume(b *testing.B) {
	for _, dim := range [][3]int{{96, 96, 80}, {192, 192, 160}} {
		dir := b.TempDir()
		path := filepath.Join(dir, "v.nii.gz")
		v := &nifti.Volume{Dim: dim, Spacing: [3]float64{1, 1, 1}, Data: make([]float32, dim[0]*dim[1]*dim[2])}
		for i := range v.Data {
			x, y, z := float64(i%dim[0]), float64(i/dim[0]%dim[1]), float64(i/(dim[0]*dim[1]))
			if r := math.Hypot(x/float64(dim[0])-0.5, math.Hypot(y/float64(dim[1])-0.5, z/float64(dim[2])-0.5)); r < 0.4 {
				// Structure and a few bits of noise, as in scans.
				v.Data[i] = float32(math.Trunc(600 + 200*math.Sin(x/7)*math.Cos(y/9) + float64(i*7919%31)))
			}
		}
		if err := nifti.WriteFile(path, v, nifti.WriteOptions{Type: nifti.Int16}); err != nil {
			b.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			b.Fatal(err)
		}
		part, err := volumeFeature(&FeatureOptions{ImageColumn: "v"})
		if err != nil {
			b.Fatal(err)
		}
		rows := func(cache string) *volumeRows {
			r, err := newVolumeRows(b.Context(), []string{path}, part, &reading{lazy: true, FeatureOptions: FeatureOptions{Volume: VolumeOptions{CacheDir: cache}}, decoding: budget.NewShared(budget.Default)})
			if err != nil {
				b.Fatal(err)
			}
			return r
		}
		x := make([]float32, part.Width())
		for name, r := range map[string]*volumeRows{"prepare": rows(""), "cache": rows(dir)} {
			b.Run(fmt.Sprintf("%s/from=%dx%dx%d", name, dim[0], dim[1], dim[2]), func(b *testing.B) {
				b.SetBytes(info.Size())
				b.ReportAllocs()
				for b.Loop() {
					if err := r.ReadRow(0, x); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
