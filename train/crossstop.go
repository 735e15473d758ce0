package train

import "credence/head"

// crossParts is into how many parts the items that a run holds out are divided.
const crossParts = 5

// crossStop keeps what a network says of the items it holds out at epochs that they had no part in
// choosing. The votes that stop a network flatter it: measured on 400 items, the squared error over
// the predicted variance came out too small by .28. So for each part of the held-out items the
// outputs are kept of the epoch at which the loss of the *other* parts was least. The network that is
// kept is the one stopped by all of them.
type crossStop struct {
	part    []int // of each held-out item
	width   int
	losses  []float64 // of the pass under way, of each item
	outputs []float32 // of the pass under way, [held, width]
	best    []float64 // of each part: the least loss of the others so far
	kept    []float32 // [held, width]
}

// itemScorer is a head whose criterion is a mean over items.
type itemScorer interface {
	ItemLosses(dst []float64, out []float32, b head.Batch) []float64
}

// newCrossStop returns one for the items that a run holds out; nil if nothing is chosen by them.
func (r *run) newCrossStop() *crossStop {
	_, scores := r.head.(itemScorer)
	if !scores || len(r.held) < 2*crossParts || r.o.Patience < 0 || r.o.Calibrate == "off" {
		return nil
	}
	c := &crossStop{width: r.head.Outputs(), part: make([]int, len(r.held))}
	groups := map[string]int{} // stay together
	for at, j := range r.held {
		c.part[at] = at % crossParts
		if g := r.in.ds.Groups; g != nil {
			if _, seen := groups[g[j]]; !seen {
				groups[g[j]] = len(groups)
			}
			c.part[at] = groups[g[j]] % crossParts
		}
	}
	c.kept = make([]float32, len(r.held)*c.width)
	return c
}

// setBest takes over the least losses of a run that another process began or ended.
func (c *crossStop) setBest(best []float64) {
	if c != nil && len(best) == crossParts {
		c.best = best
	}
}

// begin starts a pass over the held-out items.
func (c *crossStop) begin() {
	if c != nil {
		c.losses, c.outputs = c.losses[:0], c.outputs[:0]
	}
}

// add puts down the outputs for some items.
func (c *crossStop) add(h head.Head, out []float32, b head.Batch) {
	if c != nil {
		c.losses = h.(itemScorer).ItemLosses(c.losses, out, b)
		c.outputs = append(c.outputs, out...)
	}
}

// end keeps the outputs of the parts whose others were never better.
func (c *crossStop) end() {
	if c == nil {
		return
	}
	others := make([]float64, crossParts)
	for at, loss := range c.losses {
		for q := range others {
			if q != c.part[at] {
				others[q] += loss
			}
		}
	}
	first := c.best == nil
	if first {
		c.best = make([]float64, crossParts)
	}
	for q, loss := range others {
		if !first && !(loss < c.best[q]) {
			continue
		}
		c.best[q] = loss
		for at, part := range c.part {
			if part == q {
				copy(c.kept[at*c.width:(at+1)*c.width], c.outputs[at*c.width:])
			}
		}
	}
}
