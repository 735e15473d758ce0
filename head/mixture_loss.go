package head

import (
	"math"

	"credence/internal/kernel"
	"credence/internal/par"
)

// maxLogAlpha is the bound |log α| ≤ 20 inside which the loss is accurate.
const maxLogAlpha = 20

// mixtureHead is the head of a [Mixture] for d classes. Its loss is the negative logarithm of the
// exact likelihood of the votes, averaged over the items with votes; weights scale the gradients of
// items, not the loss.
type mixtureHead struct {
	DefaultHead
	components, classes int
	limit               float32
	bound               float64 // the limit, not rounded
	threads             par.Limit
	clamped, seen       int64
	device              MixtureLoss
	inside              bool // whether all raw outputs of the batch are within the limit

	// Scratch of a batch.
	exps   []float32 // [N, K·(d+1)]: unnormalized weights and α
	blocks []lossBlock
	counts []float64 // [N] votes, −1 for items in long
	long   []longItem
	fews   []*fewWork // one for each worker
	works  []*work    // one for each worker
	each   func(p int)
	exp    func(p int)
	few    func(worker, p int)
	many   func(worker, p int)

	// The current batch, for these four functions.
	out, grad []float32
	votes     Counts
	scale     float64
}

// lossBlock is the result for a block of a batch: whether all raw outputs are within the
// limit, the number of values of log α outside the limits, and the sum of the losses of
// items with few votes.
type lossBlock struct {
	inside  bool
	clamped int64
	sum     float64
}

// blockItems is the number of items per block: some microseconds of work, and a power
// of two, as batch sizes often are.
func (h *mixtureHead) blockItems() int {
	n := 64
	for n > 4 && n*h.Outputs() > 2048 {
		n /= 2
	}
	return n
}

// block returns the range of items of block p.
func (h *mixtureHead) block(p int) (lo, hi int) {
	per := h.blockItems()
	return p * per, min((p+1)*per, len(h.out)/h.Outputs())
}

// Outputs returns K(d+1).
func (h *mixtureHead) Outputs() int { return h.components * (h.classes + 1) }

// Clamped returns the number of values of log α outside the limits, and the number of all values,
// since the last call of ResetClamped.
func (h *mixtureHead) Clamped() (outside, seen int64) { return h.clamped, h.seen }

// ResetClamped sets the counts that Clamped returns to zero.
func (h *mixtureHead) ResetClamped() { h.clamped, h.seen = 0, 0 }

// Loss implements [Head].
func (h *mixtureHead) Loss(grad, out []float32, b Batch, _ Step) Loss {
	loss := Loss{Votes: b.Counts.Votes()}
	loss.Mean, loss.Over = h.mean(grad, out, b.Counts)
	for j, w := range b.Weights {
		g := row(grad, j, h.Outputs())
		for i := range g {
			g[i] *= float32(w)
		}
	}
	return loss
}

// DeviceLoss is the loss of a batch for an engine that computes it itself ([nn.Scorer]), and then
// its result.
type DeviceLoss interface{ Loss() Loss }

// MixtureShape holds the parameters of the loss of a mixture: an item has K logits of weights and K·d
// values of log α.
type MixtureShape struct {
	Components, Classes int
	Limit               float32 // largest |log α|
}

// MixtureLoss is the negative log-likelihood of a batch of votes under a mixture. An engine sets Sum
// and Clamped.
type MixtureLoss struct {
	MixtureShape
	Counts  []float32 // [N, Classes], whole numbers
	Most    int       // the most votes of an item
	Voted   int       // items with votes, over which the mean is taken
	Weights []float64 // [N] what the gradients of items are multiplied with; nil means 1

	Sum     float64 // of the items' losses
	Clamped int64   // how many log α were beyond the limit

	head *mixtureHead
}

// OnDevice returns the loss of a batch for an engine that computes it itself, or nil: engines support
// whole counts only.
func (h *mixtureHead) OnDevice(b Batch, _ Step) DeviceLoss {
	l := &h.device
	*l = MixtureLoss{MixtureShape: MixtureShape{h.components, h.classes, h.limit}, Counts: b.Counts.Values, Weights: b.Weights, head: h}
	for j := range b.Items() {
		m, whole := tally(b.Counts.Item(j))
		if !whole {
			return nil
		}
		if m > 0 {
			l.Voted++
			l.Most = max(l.Most, int(m))
		}
	}
	if b.Counts.Classes != h.classes || l.Voted == 0 {
		return nil
	}
	return l
}

// Loss implements [DeviceLoss]. It also adds to the head's count of clamped values.
func (l *MixtureLoss) Loss() Loss {
	votes := Counts{Values: l.Counts, Classes: l.Classes}
	l.head.clamped += l.Clamped
	l.head.seen += int64(votes.Items() * l.Components * l.Classes)
	return Loss{Mean: l.Sum / float64(l.Voted), Over: float64(l.Voted), Votes: votes.Votes()}
}

// mean returns the mean loss of a batch and the number of items that it is over.
func (h *mixtureHead) mean(grad, out []float32, votes Counts) (loss, over float64) {
	checkShape(grad, out, votes, h.classes, h.Outputs())
	voted, long := 0, h.long[:0]
	h.counts = room(h.counts, votes.Items())
	for j := range h.counts {
		m, whole := tally(votes.Item(j))
		if m != 0 {
			voted++
			if !isFew(m, whole) {
				long = append(long, longItem{at: j})
				m = -1
			}
		}
		h.counts[j] = m
	}
	h.long = long
	if voted == 0 {
		clear(grad)
		return 0, 0
	}
	h.exps = room(h.exps, len(out)+kernel.VoteSlack)[:len(out)]
	h.survey(h.exps, out)
	h.grad, h.votes, h.scale = grad, votes, 1/float64(voted)
	for len(h.fews) < h.threads.Workers() {
		h.fews = append(h.fews, newFewWork(h.components, h.classes))
	}
	h.threads.ForWorker(len(h.blocks), h.few)
	sum := 0.0
	for _, p := range h.blocks {
		sum += p.sum
		h.clamped += p.clamped
	}
	if len(long) > 0 {
		for len(h.works) < h.threads.Workers() {
			h.works = append(h.works, newWork(h.components, h.classes))
		}
		h.threads.ForWorker((len(long)+longItems-1)/longItems, h.many)
		for i := range long {
			sum += long[i].nll
		}
	}
	return sum * h.scale, float64(voted)
}

// isFew reports whether the likelihood of m votes is multiplied out.
func isFew(m float64, whole bool) bool { return whole && m <= fewVotes }

// fewLoss computes the exponentials of the items of block p, and the losses of those with
// few votes or none. Their likelihoods are multiplied, so that many share a logarithm.
func (h *mixtureHead) fewLoss(worker, p int) {
	h.exponentialsOf(p)
	width := h.Outputs()
	lo, hi := h.block(p)
	sum, product := 0.0, 1.0 // of inverse likelihoods whose logarithm is not in sum yet
	for j := lo; j < hi; j++ {
		g := row(h.grad, j, width)
		switch m := h.counts[j]; {
		case m == 0:
			clear(g)
		case m > 0:
			out := h.out[j*width:][:width]
			product *= h.fews[worker].nll(g, h.exps[j*width:][:width], out, h.votes.Item(j), m, h.scale)
			if !(product < 1e100) {
				sum += math.Log(product)
				product = 1
			}
		}
	}
	h.blocks[p].sum = sum + math.Log(product)
	if h.grad != nil { // in which items with many votes follow
		h.turn(h.grad[lo*width:hi*width], h.out[lo*width:hi*width])
	}
}

// row returns row j of a matrix of the given width, or nil for a nil matrix.
func row(x []float32, j, width int) []float32 {
	if x == nil {
		return nil
	}
	return x[j*width:][:width]
}

// survey makes a batch the current one and checks whether all of its raw outputs are
// within the limits.
func (h *mixtureHead) survey(exps, out []float32) {
	h.seen += int64(len(out) / (h.classes + 1) * h.classes)
	h.out, h.exps = out, exps
	n, per := len(out)/h.Outputs(), h.blockItems()
	count := (n + per - 1) / per
	for len(h.blocks) < count {
		h.blocks = append(h.blocks, lossBlock{})
	}
	h.blocks = h.blocks[:count]
	h.threads.For(count, h.each)
	h.inside = true
	for _, p := range h.blocks {
		h.inside = h.inside && p.inside
	}
}

// surveyBlock finds out whether all raw outputs of block p are within the limit.
func (h *mixtureHead) surveyBlock(p int) {
	lo, hi := h.block(p)
	width, inside := h.Outputs(), true
	for j := lo; j < hi && inside; j++ {
		inside = !(largest(h.out[j*width:][:width]) > h.limit)
	}
	h.blocks[p].inside = inside
}

// exponentialsOf fills exps of the items of block p with the unnormalized weights and with α, and
// counts the values of log α outside the limits. Nearly always all raw outputs
// are within the limits, where neither can overflow.
func (h *mixtureHead) exponentialsOf(p int) {
	k, width, limit := h.components, h.Outputs(), h.limit
	lo, hi := h.block(p)
	out, exps := h.out[lo*width:hi*width], h.exps[lo*width:hi*width]
	h.blocks[p].clamped = 0
	if h.inside {
		kernel.Exp(exps, out)
		return
	}
	h.blocks[p].clamped = int64(kernel.ClampLogits(exps, out, width, k, limit))
	kernel.Exp(exps, exps)
}

// largest returns the largest |x|. NaN counts as larger than any number.
func largest(x []float32) float32 {
	// Without their sign, floats are ordered as the integers of their bits.
	var a, b, c, d uint32
	for len(x) >= 4 {
		a = max(a, math.Float32bits(x[0])<<1)
		b = max(b, math.Float32bits(x[1])<<1)
		c = max(c, math.Float32bits(x[2])<<1)
		d = max(d, math.Float32bits(x[3])<<1)
		x = x[4:]
	}
	for _, v := range x {
		a = max(a, math.Float32bits(v)<<1)
	}
	top := max(a, b, c, d) >> 1
	if top > math.Float32bits(float32(math.Inf(1))) {
		return float32(math.Inf(1))
	}
	return math.Float32frombits(top)
}

// turn zeroes the gradients of those log α of items outside the limits whose descent
// step would lead further out.
func (h *mixtureHead) turn(g, out []float32) {
	if g != nil && !h.inside {
		kernel.StopGradients(g, out, h.Outputs(), h.components, h.limit)
	}
}

// longItem is an item with many votes or fractional ones, and its loss.
type longItem struct {
	at  int
	nll float64
}

// longItems is the number of long items per piece of work.
const longItems = 4

// longLoss computes the losses of piece p of the long items, in float64 throughout:
// there the logarithms cost more than the exponentials.
func (h *mixtureHead) longLoss(worker, p int) {
	width, w := h.Outputs(), h.works[worker]
	items := h.long[p*longItems : min((p+1)*longItems, len(h.long))]
	for i := range items {
		j := items[i].at
		w.out = append64(w.out[:0], row(h.out, j, width))
		w.counts = append64(w.counts[:0], h.votes.Item(j))
		og := w.grad
		g := row(h.grad, j, width)
		if g == nil {
			og = nil
		}
		items[i].nll = w.nll(og, w.out, w.counts, h.components, float64(h.limit))
		for i, x := range og {
			g[i] = flushed(x * h.scale)
		}
	}
}

// tally returns the number of votes and whether all counts are whole. NaN
// and negative counts give NaN.
func tally(s []float32) (m float64, whole bool) {
	whole = true
	for _, x := range s {
		if x != float32(int32(x)) {
			whole = false
		}
		if !(x >= 0) {
			return math.NaN(), false
		}
		m += float64(x)
	}
	return m, whole
}
