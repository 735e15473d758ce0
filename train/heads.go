package train

import (
	"credence/head"
	"credence/nn"
)

// clamper is a head that holds some of its parameters within a limit and counts how often.
type clamper interface {
	Clamped() (outside, seen int64)
	ResetClamped()
}

// countClamped moves the counts of clamped values into the state.
func (r *run) countClamped() {
	if h, ok := r.head.(clamper); ok {
		outside, seen := h.Clamped()
		r.state.Clamped += outside
		r.state.Seen += seen
		h.ResetClamped()
	}
}

// heldOut returns the head's criterion on the held-out items.
func (r *run) heldOut() (float64, error) {
	r.stopReading()
	c := r.head.Criterion()
	r.cross.begin()
	err := r.in.each(r.buffers, r.o.Batch, r.held, func(x []float32, votes head.Batch, items []int) error {
		r.weigh(&votes, items)
		out, err := r.stepper.Trainer.Forward(x, nn.Pass{At: r.at()})
		if err != nil {
			return err
		}
		c.Add(out, votes)
		r.cross.add(r.head, out, votes)
		return nil
	})
	r.cross.end()
	return c.Value(), err
}
