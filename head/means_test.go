package head

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestMeans: means alone equal those of full predictions, for outputs beyond the limit too, and an output that is no
// number has its item's error.
func TestMeans(t *testing.T) {
	h, err := Mixture{Components: 3}.New(Task{Classes: 4})
	if err != nil {
		t.Fatal(err)
	}
	const n = 150
	r := rand.New(rand.NewPCG(1, 2))
	outputs := make([]Output, 3)
	for i := range outputs {
		outputs[i].Raw = make([]float32, n*h.Outputs())
		for j := range outputs[i].Raw {
			outputs[i].Raw[j] = float32(4 * r.NormFloat64())
		}
	}
	outputs[1].Raw[7], outputs[2].Raw[40] = 1e30, -1e30
	compare := func() {
		t.Helper()
		want, wantErr := Decode(h, outputs, n)
		got, gotErr := DecodeOptions{MeansOnly: true}.Decode(h, outputs, n)
		if (wantErr == nil) != (gotErr == nil) || wantErr != nil && wantErr.Error() != gotErr.Error() {
			t.Fatalf("error %v, want %v", gotErr, wantErr)
		}
		for j := range want {
			if (want[j].Err == nil) != (got[j].Err == nil) || len(got[j].Mean) != len(want[j].Mean) {
				t.Fatalf("item %d: %v, want %v", j, got[j], want[j])
			}
			for i, p := range want[j].Mean {
				if !(math.Abs(got[j].Mean[i]-p) <= 1e-11*p) {
					t.Errorf("item %d, class %d: %v, want %v", j, i, got[j].Mean[i], p)
				}
			}
		}
	}
	compare()
	outputs[0].Raw[100*h.Outputs()+2] = float32(math.NaN())
	compare()
}
