package calibrate

import "credence/head"

// Within computes the share of the variance of several networks together that is within networks, not
// between their means, over the items that are added.
type Within struct {
	one, between float64
	members      int
}

// Add adds the predictions of each network for one item.
func (w *Within) Add(decoded []head.Decoded) {
	w.members = len(decoded)
	n := float64(w.members)
	for i := range decoded[0].Mean {
		mean := 0.0
		for k := range decoded {
			w.one += decoded[k].Variance[i] / n
			mean += decoded[k].Mean[i] / n
		}
		for k := range decoded {
			e := decoded[k].Mean[i] - mean
			w.between += e * e / n
		}
	}
}

// Members returns the number of networks, 1 if nothing was added or w is nil.
func (w *Within) Members() int {
	if w == nil {
		return 1
	}
	return max(w.members, 1)
}

// Share returns the share, 1 if nothing was added or w is nil.
func (w *Within) Share() float64 {
	if w == nil || !(w.one > 0) {
		return 1
	}
	return w.one / (w.one + w.between)
}
