package train

import (
	"errors"
	"fmt"
	"math"

	"credence/model"
)

// ErrDiverged is the reason when training fails again and again.
var ErrDiverged = errors.New("training diverged")

// maxHalvings is how often a run may recover before it gives up.
const maxHalvings = 5

// exploded says in what way the losses per vote of an epoch are beyond anything
// that training leads to, or "". A network starts at the constant Dirichlet,
// whose loss is a few nats; twenty more mean that something broke.
func (r *run) exploded(loss, held float64) string {
	const most = 20
	start := math.Log(float64(len(r.in.ds.Classes)))
	switch {
	case math.IsNaN(held) || math.IsInf(held, 0):
		return "the held-out loss is not a number"
	case !r.traits.Joint: // a Gaussian likelihood can rightly be in the thousands
	case loss > start+most:
		return fmt.Sprintf("the loss exploded to %.4g per vote", loss)
	case held > start+most && r.state.Best > 0:
		return fmt.Sprintf("the held-out loss exploded to %.4g per vote", held)
	}
	return ""
}

// recover goes back to the best weights so far and tries on with half the
// learning rate and an optimizer without memory. After too many attempts it
// ends the run: with the best weights if there are any better than the start's,
// otherwise with an error.
func (r *run) recover(reason string) error {
	r.stopReading()
	s := &r.state
	if s.Halvings >= maxHalvings {
		if s.Best == 0 {
			return fmt.Errorf("%w: %s, also with a learning rate of %.2g, %d times halved; "+
				"look for extreme values among the features, or lower the learning rate and the clip of the gradient",
				ErrDiverged, reason, r.o.Rate*s.Share, s.Halvings)
		}
		s.Done = true
		s.Reason = fmt.Sprintf("smallest held-out loss before training diverged for good (%s)", reason)
		r.event(Event{Note: s.Reason, End: true})
		return nil
	}
	s.Halvings++
	s.Share /= 2
	s.Note = fmt.Sprintf("%s: back to epoch %d with the learning rate halved to %.2g", reason, s.Best, r.o.Rate*s.Share)
	r.best.restore(r.network)
	if err := r.newStepper(); err != nil {
		return err
	}
	r.beginEpoch()
	// The epoch's batches come in another order this time.
	s.Epoch++
	s.History = append(s.History, model.Epoch{Epoch: s.Epoch, Loss: r.lastLoss(), Rate: r.o.Rate * s.Share, Note: s.Note})
	s.Note = ""
	r.order = nil
	r.event(Event{Loss: r.lastLoss(), Note: s.History[len(s.History)-1].Note})
	return nil
}

// lastLoss is that of the last epoch that ended well, or the start's.
func (r *run) lastLoss() float64 {
	if n := len(r.state.History); n > 0 {
		return r.state.History[n-1].Loss
	}
	return r.state.BestLoss
}
