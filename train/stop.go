package train

import (
	"errors"
	"fmt"
	"math"

	"credence/head"
	"credence/model"
	"credence/nn"
)

// ErrDiverged is the error when training diverges repeatedly.
var ErrDiverged = errors.New("training diverged")

// maxHalvings is the number of times that a run may recover before it gives up.
const maxHalvings = 5

// exploded describes in what way the losses per vote of an epoch are larger than
// training can explain, or returns "". A network starts at the constant Dirichlet,
// whose loss is a few nats; a loss larger by twenty means that training diverged.
func (r *run) exploded(loss, held float64) string {
	const most = 20
	start := math.Log(float64(len(r.in.ds.Classes)))
	switch {
	case math.IsNaN(held) || math.IsInf(held, 0):
		return "the held-out loss is not a number"
	case !r.traits.Joint: // the loss of a Gaussian may be in the thousands
	case loss > start+most:
		return fmt.Sprintf("the loss exploded to %.4g per vote", loss)
	case held > start+most && r.state.Best > 0:
		return fmt.Sprintf("the held-out loss exploded to %.4g per vote", held)
	}
	return ""
}

// recover restores the best weights so far and continues with half the learning
// rate and a fresh optimizer. After too many attempts it ends the run: with the
// best weights if they are better than the initial ones, otherwise with an
// error.
func (r *run) recover(reason string) error {
	r.stopReading()
	s := &r.state
	if s.Halvings >= maxHalvings {
		if s.Best == 0 {
			return fmt.Errorf("%w: %s, even at a learning rate of %.2g, after %d halvings; "+
				"check the features for extreme values, or lower the learning rate and the gradient clip",
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
	r.restoreBest()
	if err := r.newStepper(); err != nil {
		return err
	}
	r.beginEpoch()
	// The batches of the epoch are in another order this time.
	s.Epoch++
	s.History = append(s.History, model.Epoch{Epoch: s.Epoch, Loss: r.lastLoss(), Rate: r.o.Rate * s.Share, Note: s.Note})
	s.Note = ""
	r.order = nil
	r.event(Event{Loss: r.lastLoss(), Note: s.History[len(s.History)-1].Note})
	return nil
}

// lastLoss returns the loss of the last epoch that ended well, or the initial one.
func (r *run) lastLoss() float64 {
	if n := len(r.state.History); n > 0 {
		return r.state.History[n-1].Loss
	}
	return r.state.BestLoss
}

// clamper is a head that clamps some of its parameters to a limit and counts how often.
type clamper interface {
	Clamped() (outside, seen int64)
	ResetClamped()
}

// countClamped adds the counts of clamped values to the state, and resets them in the head.
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

// crossFolds is the number of folds that the held-out items of a run are divided into.
const crossFolds = 5

// crossStop keeps the outputs of a network for the items it holds out, at epochs that these items did not
// influence. The votes that stop a network make it look better than it is: measured on 400 items, the
// squared error over the predicted variance was too small by .28. So for each fold of the held-out items,
// the outputs are kept of the epoch at which the loss of the *other* folds was smallest. The network that
// is kept is the one stopped by all of them.
type crossStop struct {
	fold    []int // of each held-out item
	width   int
	losses  []float64 // of the current pass, per item
	outputs []float32 // of the current pass, [held, width]
	best    []float64 // for each fold, the smallest loss of the others so far
	kept    []float32 // [held, width]
}

// itemScorer is a head whose criterion is a mean over items.
type itemScorer interface {
	ItemLosses(dst []float64, out []float32, b head.Batch) []float64
}

// newCrossStop returns a crossStop for the items that a run holds out; nil if they do not choose an epoch.
func (r *run) newCrossStop() *crossStop {
	_, scores := r.head.(itemScorer)
	if !scores || len(r.held) < 2*crossFolds || r.o.Patience < 0 || r.o.Calibrate == "off" {
		return nil
	}
	c := &crossStop{width: r.head.Outputs(), fold: make([]int, len(r.held))}
	groups := map[string]int{} // items of a group stay together
	for at, j := range r.held {
		c.fold[at] = at % crossFolds
		if g := r.in.ds.Groups; g != nil {
			if _, seen := groups[g[j]]; !seen {
				groups[g[j]] = len(groups)
			}
			c.fold[at] = groups[g[j]] % crossFolds
		}
	}
	c.kept = make([]float32, len(r.held)*c.width)
	return c
}

// setBest sets the smallest losses to those of a run that another process started or completed.
func (c *crossStop) setBest(best []float64) {
	if c != nil && len(best) == crossFolds {
		c.best = best
	}
}

// add records the outputs for some items of a pass over the held-out items.
func (c *crossStop) add(h head.Head, out []float32, b head.Batch) {
	if c != nil {
		c.losses = h.(itemScorer).ItemLosses(c.losses, out, b)
		c.outputs = append(c.outputs, out...)
	}
}

// end ends a pass: it keeps the outputs of each fold for which the loss of the other folds is the smallest so far.
func (c *crossStop) end() {
	if c == nil {
		return
	}
	others := make([]float64, crossFolds)
	for at, loss := range c.losses {
		for q := range others {
			if q != c.fold[at] {
				others[q] += loss
			}
		}
	}
	first := c.best == nil
	if first {
		c.best = make([]float64, crossFolds)
	}
	for q, loss := range others {
		if !first && !(loss < c.best[q]) {
			continue
		}
		c.best[q] = loss
		for at, fold := range c.fold {
			if fold == q {
				copy(c.kept[at*c.width:(at+1)*c.width], c.outputs[at*c.width:])
			}
		}
	}
	c.losses, c.outputs = c.losses[:0], c.outputs[:0]
}
