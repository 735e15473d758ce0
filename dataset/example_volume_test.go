package dataset_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"credence/dataset"
	"credence/internal/nifti"
)

// Volumes in NIfTI files are features by a column of paths.
func ExampleLoad_volumes() {
	dir, err := os.MkdirTemp("", "volumes")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	scan := &nifti.Volume{Dim: [3]int{4, 4, 4}, Spacing: [3]float64{1, 1, 1}, Data: make([]float32, 64)}
	for i := range scan.Data {
		scan.Data[i] = float32(i)
	}
	if err := nifti.WriteFile(filepath.Join(dir, "a.nii.gz"), scan, nifti.WriteOptions{}); err != nil {
		log.Fatal(err)
	}
	manifest := filepath.Join(dir, "manifest.csv")
	if err := os.WriteFile(manifest, []byte("item,path\na,a.nii.gz\n"), 0o644); err != nil {
		log.Fatal(err)
	}
	f, err := dataset.Load(context.Background(), dataset.LoadOptions{
		Data: []string{manifest}, NoVotes: true,
		FeatureOptions: dataset.FeatureOptions{
			Volume: dataset.VolumeOptions{Size: [3]int{2, 2, 2}, Preparation: dataset.Preparation{Scale: "range"}},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	x := make([]float32, f.Rows.Width())
	if err := f.Rows.ReadRow(0, x); err != nil {
		log.Fatal(err)
	}
	fmt.Println(f.Features[0])
	fmt.Printf("%.2f\n", x)
	// Output:
	// path: tensor 1×2×2×2
	// [0.00 0.76 0.19 0.95 0.05 0.81 0.24 1.00]
}
