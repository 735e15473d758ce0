package head

import (
	"fmt"
	"math"

	"credence/internal/par"
)

// MaxLogAlpha is the bound |log α| ≤ 20 inside which the loss is accurate.
const MaxLogAlpha = 20

// maxOutputs bounds the raw outputs of an item.
const maxOutputs = 1 << 20

// MixtureOptions configures a [Mixture].
type MixtureOptions struct {
	Components int // K ≥ 1
	Classes    int // d ≥ 2

	// Limit caps log α at ±Limit; zero means MaxLogAlpha, which is also the
	// largest value allowed.
	Limit float64
}

// Mixture is the head of a deep Dirichlet mixture network (Wu et al. 2019). The
// raw outputs of an item are K logits of the component weights, then K·d values
// of log α, component after component:
//
//	w = softmax(out[:K]),    α_ki = exp(out[K + k·d + i])
//
// Its loss is the negative logarithm of the exact likelihood of the votes,
//
//	NLL = −log Σ_k w_k B(α_k + S)/B(α_k),
//
// averaged over the items with votes. Votes are ordered: there is no
// multinomial coefficient. A log α outside ±Limit counts as the limit; its
// gradient passes if a descent step along it leads back into the range, and
// is zero otherwise.
type Mixture struct {
	components, classes int
	limit               float32
	clamped, seen       int64
	inside              bool // whether all raw outputs of the batch are within the limit

	// Scratch of a batch and of an item.
	exps         []float32 // [N, K·(d+1)]: unnormalised weights and α
	weights      []float64 // [K]
	like, rising []float64 // few votes: likelihood [K] and gradient of its log [K·d]
	long         []longItem
	works        []*work // one for each worker
	many         func(worker, p int)

	// The batch in hand, for many.
	out, grad []float32
	votes     Counts
	scale     float64
}

// NewMixture returns a mixture head, or an error that says which option is
// out of range.
func NewMixture(o MixtureOptions) (*Mixture, error) {
	switch {
	case o.Components < 1:
		return nil, fmt.Errorf("mixture head: %d components, want at least 1", o.Components)
	case o.Classes < 2:
		return nil, fmt.Errorf("mixture head: %d classes, want at least 2", o.Classes)
	case o.Components > maxOutputs/(o.Classes+1):
		return nil, fmt.Errorf("mixture head: %d components of %d classes, want at most %d outputs", o.Components, o.Classes, maxOutputs)
	case !(o.Limit >= 0 && o.Limit <= MaxLogAlpha):
		return nil, fmt.Errorf("mixture head: limit of log α %v, want between 0 and %v", o.Limit, MaxLogAlpha)
	case o.Limit == 0:
		o.Limit = MaxLogAlpha
	}
	k, d := o.Components, o.Classes
	h := &Mixture{
		components: k, classes: d, limit: float32(o.Limit),
		weights: make([]float64, k), like: make([]float64, k), rising: make([]float64, k*d),
	}
	h.many = h.longLoss
	return h, nil
}

// Components returns K.
func (h *Mixture) Components() int { return h.components }

// Classes returns d.
func (h *Mixture) Classes() int { return h.classes }

// Outputs returns K(d+1).
func (h *Mixture) Outputs() int { return h.components * (h.classes + 1) }

// Clamped returns how many values of log α were outside the limits, and how
// many there were at all, since the last call of ResetClamped.
func (h *Mixture) Clamped() (outside, seen int64) { return h.clamped, h.seen }

// ResetClamped sets the counts that Clamped returns to zero.
func (h *Mixture) ResetClamped() { h.clamped, h.seen = 0, 0 }

// Loss implements [Head].
func (h *Mixture) Loss(grad, out []float32, votes Counts, _ Step) float64 {
	n, width := votes.Items(), h.Outputs()
	if votes.Classes != h.classes || len(out) != n*width || grad != nil && len(grad) != len(out) {
		panic(fmt.Sprintf("mixture head: %d outputs, %d gradients for %d items of %d classes, want %d outputs an item of %d classes",
			len(out), len(grad), n, votes.Classes, width, h.classes))
	}
	voted := 0
	for j := range n {
		if m, _ := total(votes.Item(j)); m != 0 {
			voted++
		}
	}
	if voted == 0 {
		clear(grad)
		return 0
	}
	if cap(h.exps) < len(out) {
		h.exps = make([]float32, len(out))
	}
	exps := h.exps[:len(out)]
	h.exponentials(exps, out)
	sum, scale := 0.0, 1/float64(voted)
	product := 1.0 // of inverse likelihoods whose logarithm is not in sum yet
	long := h.long[:0]
	for j := range n {
		s := votes.Item(j)
		g := row(grad, j, width)
		switch m, whole := total(s); {
		case m == 0:
			clear(g)
		case whole && m <= fewVotes:
			product *= h.few(g, exps[j*width:][:width], out[j*width:][:width], s, m, scale)
			h.turn(g, out[j*width:][:width])
			if !(product < 1e100) {
				sum += math.Log(product)
				product = 1
			}
		default:
			long = append(long, longItem{at: j})
		}
	}
	h.long = long
	if len(long) > 0 {
		h.out, h.grad, h.votes, h.scale = out, grad, votes, scale
		for len(h.works) < par.Threads() {
			h.works = append(h.works, newWork(h.components, h.classes))
		}
		par.ForWorker((len(long)+longItems-1)/longItems, h.many)
		for i := range long {
			sum += long[i].nll
		}
	}
	return (sum + math.Log(product)) * scale
}

// row returns row j of a matrix of the given width, nil of a nil matrix.
func row(x []float32, j, width int) []float32 {
	if x == nil {
		return nil
	}
	return x[j*width:][:width]
}

// exponentials fills exps with the weights, unnormalised, and with α, and
// counts the values of log α outside the limits. Nearly always all raw outputs
// are inside, where neither can overflow.
func (h *Mixture) exponentials(exps, out []float32) {
	h.seen += int64(len(out) / (h.classes + 1) * h.classes)
	h.inside = !(largest(out) > h.limit)
	if h.inside {
		exp(exps, out)
		return
	}
	k, width, limit := h.components, h.Outputs(), h.limit
	for j := 0; j < len(out); j += width {
		o, e := out[j:j+width], exps[j:j+width]
		top := o[0]
		for _, x := range o[1:k] {
			if x > top {
				top = x
			}
		}
		for i, x := range o[:k] {
			x -= top
			if x < -80 {
				x = -80 // below faintest, but not subnormal
			}
			e[i] = x
		}
		e = e[k:]
		for i, x := range o[k:] {
			if x > limit || x < -limit {
				h.clamped++
				x = min(max(x, -limit), limit)
			}
			e[i] = x
		}
	}
	exp(exps, exps)
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

// turn zeroes the gradients of those log α outside the limits whose descent
// step would lead further out.
func (h *Mixture) turn(g, out []float32) {
	limit := h.limit
	if g == nil || h.inside {
		return
	}
	g = g[h.components:]
	for i, x := range out[h.components:] {
		if x > limit && g[i] < 0 || x < -limit && g[i] > 0 {
			g[i] = 0
		}
	}
}

// longItem is an item with many votes or fractional ones, and its loss.
type longItem struct {
	at  int
	nll float64
}

// longItems is how many of them make a piece of work.
const longItems = 4

// longLoss computes the losses of piece p of the long items, in float64 throughout:
// there the logarithms cost more than the exponentials.
func (h *Mixture) longLoss(worker, p int) {
	width, w := h.Outputs(), h.works[worker]
	items := h.long[p*longItems : min((p+1)*longItems, len(h.long))]
	for i := range items {
		j := items[i].at
		for i, x := range row(h.out, j, width) {
			w.out[i] = float64(x)
		}
		for i, x := range h.votes.Item(j) {
			w.counts[i] = float64(x)
		}
		og := w.grad
		g := row(h.grad, j, width)
		if g == nil {
			og = nil
		}
		items[i].nll = w.nll(og, w.out, w.counts, h.components, float64(h.limit))
		for i, x := range og {
			g[i] = float32(math.Copysign(flush(math.Abs(x*h.scale)), x))
		}
	}
}

// total returns the number of votes and whether all counts are whole. NaN
// and negative counts give NaN.
func total(s []float32) (m float64, whole bool) {
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
