package train

import (
	"cmp"
	"math"
	"slices"

	"credence/dataset"
)

// paceImages chooses how cnn2d learns from n items. The learning rate falls to
// nothing over a number of epochs that is fixed beforehand, so that the time a
// fit takes is known once its first epoch is done; docs/performance.md has what
// was measured.
//
// Batch norm bears a high rate, the higher the more items are averaged over.
// Shifts by a sixteenth of the shorter side help, and do no harm where left and
// right differ, as flips would.
func (o *Options) paceImages(n int, t *dataset.Transform) {
	o.Rate = cmp.Or(o.Rate, math.Round(1000*min(0.01, 0.005*math.Sqrt(float64(o.Batch)/16)))/1000)
	o.Schedule = cmp.Or(o.Schedule, "cosine")
	o.Epochs = cmp.Or(o.Epochs, imageEpochs(n))
	o.Patience = cmp.Or(o.Patience, max(5, o.Epochs/2))
	if o.Augment == (Augment{}) {
		for _, in := range gridInputs(t) {
			if len(in.Shape) == 3 {
				o.Augment.Shift = max(o.Augment.Shift, slices.Min(in.Shape[1:])/16)
			}
		}
	}
}

// imageEpochs is 20, more of them where an epoch has few steps, fewer where a
// few epochs have many; between 10 and 60.
func imageEpochs(n int) int {
	epochs := 20.0
	switch {
	case n < 2000:
		epochs *= math.Sqrt(2000 / float64(n))
	case n > 10000:
		epochs *= math.Sqrt(10000 / float64(n))
	}
	return int(min(60, max(10, math.Round(epochs))))
}
