package train

import (
	"math"
	"testing"
)

// TestProgress: every network reports each of its epochs in turn, with what a
// display needs, and its end.
func TestProgress(t *testing.T) {
	o := quick()
	o.Ensemble = 3
	epochs, ended := map[string]int{}, map[string]bool{}
	notes := 0
	o.Progress = func(e Event) {
		if e.Epochs == 0 {
			if notes++; e.Note != "fitting the references" {
				t.Errorf("note %q", e.Note)
			}
			return
		}
		if e.Done == 0 {
			if epochs[e.Run]++; e.Epoch != epochs[e.Run] || ended[e.Run] {
				t.Errorf("%s: epoch %d after %d others", e.Run, e.Epoch, epochs[e.Run]-1)
			}
		}
		ended[e.Run] = e.End
		if !(e.Speed > 0) || !(e.Loss > 0) || math.IsNaN(e.HeldOut) || e.Runs != 3 || e.Epochs != 12 || e.Rate != 1e-3 || e.End != (e.Left == 0) {
			t.Errorf("event %+v", e)
		}
	}
	res := fitted(t, simulated(80, 3, 1), o)
	if notes != 1 {
		t.Errorf("the references are reported %d times", notes)
	}
	for _, r := range res.Model.Provenance.Runs {
		if !ended[r.Name] || epochs[r.Name] != len(r.History) {
			t.Errorf("%s: %d of %d epochs reported, its end %v", r.Name, epochs[r.Name], len(r.History), ended[r.Name])
		}
	}
}
