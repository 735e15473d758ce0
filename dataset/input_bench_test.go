package dataset

import "testing"

// BenchmarkInputRows measures the time per epoch of an item of 96×96×80 voxels
// that is held in memory in its compact form.
func BenchmarkInputRows(b *testing.B) {
	for _, s := range []store{storeFloat16, storeUint8} {
		b.Run("store="+string(s), func(b *testing.B) {
			part, err := volumeFeature(&FeatureOptions{ImageColumn: "v", Volume: VolumeOptions{Preparation: Preparation{Store: string(s)}}})
			if err != nil {
				b.Fatal(err)
			}
			x := make([]float32, part.Width())
			for i := range x {
				x[i] = float32(i%1013)/500 - 1
			}
			r := &volumeRows{paths: []string{"v"}, feature: part}
			r.kept = make([]byte, r.size())
			s.encode(r.kept, x)
			ds := &Dataset{Items: []string{"v"}, Features: []Feature{part}, Rows: r}
			t, err := Fit(ds, []int{0}, TransformOptions{})
			if err != nil {
				b.Fatal(err)
			}
			in, err := t.Over(ds)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if err := in.ReadRow(0, x); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
