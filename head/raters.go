package head

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"credence/internal/special"
	"credence/nn"
)

// The likelihood with raters. Votes on an item are independent given its class probabilities p, but
// their distribution depends on the rater. For two classes, with z = log(p/(1−p)) and p that of the second,
//
//	P(v = 1 | p, r) = (1−g_r) σ(z + b_r) + g_r/2,
//
// where b_r is the bias of rater r towards the second class and g_r is the rate at which she guesses; for
// more classes
//
//	P(v | p, r) = (1−g_r) p_v + g_r π_rv,
//
// where π_r is the distribution of her guesses. Σ b_r = 0 over the votes of raters who are connected by
// shared items ([Task.RaterGroups]). The priors are
// logit g_r ~ N(−7, 3²), b_r ~ N(0, τ²) and a Dirichlet distribution for π_r, centered on the frequencies of
// the classes in the votes; τ² is the mean of b̂² + s² over raters, with s the standard error of b_r (an EM
// step: maximizing over τ² and b together collapses to 0).
//
// Identification. Votes identify the differences between raters, and the probability p̄ that an average
// rater of the training set votes for a class. What all raters have in common cannot be separated from p: if
// all of them guessed one time in five, p would merely have less spread. "A rater without error" is defined
// by the prior alone, so intervals are those of p̄ unless p itself is requested.
//
// The parameters are states of the network (nn.HeadParam): the loss accumulates their score and information
// over an epoch, and the next epoch begins with a step of Fisher scoring or, for g, with a jump to where
// the votes are more probable (see jumps). They therefore need no learning
// rate, weight decay does not apply to them, and the cost of a training step does not grow with the number of
// raters.

// raterHead is the head of a [Mixture] with raters.
type raterHead struct {
	*mixtureHead
	raters int
	weight []float64 // [R] share of each rater in all votes
	within []float64 // [R] share of each rater in the votes of the group
	group  []int     // [R], see [Task.RaterGroups]
	groups int
	usual  []float64 // [d] share of each class
	scaled bool      // classes are ordered and more than two: raters have bias and scale, see raters_ordered.go

	// The tensors.
	bias, guess []float32 // [R]
	taste       []float32 // [R, d], of more than two classes
	logScale    []float32 // [R] log s, of ordered classes
	sums        []float32 // [R, sumsWidth]: see add
	mark        []float32 // the epoch that sums are of, and τ²

	// The current batch, in addition to what mixtureHead keeps of it.
	batch   Batch
	first   []int // [N+1] index of the first rating of each item
	train   bool
	nll     []float64
	scores  []score // of each rating
	works   []itemWork
	piece   func(worker, p int)
	average average
	known   []rater // up to date for raters in the batch only

	onDevice RaterLoss
}

// rater caches the values that votes need, and the parameters that they were computed from.
type rater struct {
	from        [3]float32
	odds, guess float64 // e^b, g
	scale       float64 // s
}

// recall updates the cache for the raters in the batch.
func (h *raterHead) recall(ratings []Rating) {
	if h.known == nil {
		h.known = make([]rater, h.raters)
		for r := range h.known {
			h.known[r].from[0] = float32(math.NaN())
		}
	}
	for _, v := range ratings {
		at := [3]float32{h.guess[v.Rater]}
		if h.bias != nil {
			at[1] = h.bias[v.Rater]
		}
		if h.scaled {
			at[2] = h.logScale[v.Rater]
		}
		if x := &h.known[v.Rater]; x.from != at {
			*x = rater{at, math.Exp(float64(at[1])), special.Sigmoid(float64(at[0])), math.Exp(float64(at[2]))}
		}
	}
}

// score is the derivative of the log-likelihood with respect to the parameters of a vote's rater.
type score struct {
	bias, guess float64 // b and logit g
	scale       float64 // log s
	guessed     float64 // probability that the vote was a guess
}

// average is the rater to whom votes without a name are attributed: one with the mean guess rate and, for
// two classes, a bias drawn from the prior.
type average struct {
	guess float64
	odds  [len(normalNodes)]float64 // e^b at the nodes of the prior
	shift float64                   // largest |b|
}

// normalNodes and normalWeights are the Gauss–Hermite rule of five nodes for N(0, 1) (Abramowitz and
// Stegun 1964, table 25.10, with nodes times √2 and weights over √π).
var (
	normalNodes   = [...]float64{-2.8569700138728056, -1.3556261799742659, 0, 1.3556261799742659, 2.8569700138728056}
	normalWeights = [...]float64{0.011257411327720689, 0.22207592200561264, 0.5333333333333333, 0.22207592200561264, 0.011257411327720689}
)

// update computes the average rater from the current parameters.
func (a *average) update(h *raterHead) {
	a.guess = 0
	for r, w := range h.weight {
		a.guess += w * special.Sigmoid(float64(h.guess[r]))
	}
	if h.classes > 2 {
		return
	}
	tau := math.Sqrt(float64(h.mark[1]))
	for k, x := range normalNodes {
		a.odds[k] = math.Exp(tau * x)
	}
	a.shift = tau * normalNodes[len(normalNodes)-1]
}

// itemWork computes an item's loss.
type itemWork interface {
	// loss returns the negative log-likelihood of item j and, if training, fills its gradient and
	// scores.
	loss(j int) float64
}

// withRaters returns the head of a mixture with raters.
func withRaters(m *mixtureHead, t Task) (Head, error) {
	if t.Raters < 1 {
		return nil, errors.New("method mixture with raters: expected votes by named raters, found none")
	}
	if t.RaterVotes != nil && len(t.RaterVotes) != t.Raters {
		return nil, fmt.Errorf("method mixture with raters: expected votes of %d raters, found %d",
			t.Raters, len(t.RaterVotes))
	}
	h := &raterHead{mixtureHead: m, raters: t.Raters, scaled: t.Ordered && t.Classes > 2, weight: make([]float64, t.Raters)}
	whole := special.Sum(t.RaterVotes)
	for r := range h.weight {
		h.weight[r] = 1 / float64(t.Raters)
		if whole > 0 {
			h.weight[r] = t.RaterVotes[r] / whole
		}
	}
	if err := h.divide(t.RaterGroups); err != nil {
		return nil, err
	}
	h.usual = make([]float64, t.Classes)
	for i := range h.usual {
		h.usual[i] = 1 / float64(t.Classes)
		if len(t.ClassVotes) == t.Classes {
			h.usual[i] = (t.ClassVotes[i] + 1) / (special.Sum(t.ClassVotes) + float64(t.Classes))
		}
	}
	h.piece = h.some
	return h, nil
}

// divide sets each rater's share of the votes of the group.
func (h *raterHead) divide(groups []int) error {
	h.group, h.groups, h.within = groups, 1, h.weight
	if groups == nil {
		h.group = make([]int, h.raters)
		return nil
	}
	if len(groups) != h.raters || slices.Min(groups) < 0 {
		return fmt.Errorf("method mixture with raters: expected groups, from 0, of %d raters, found %d", h.raters, len(groups))
	}
	h.groups = slices.Max(groups) + 1
	whole := make([]float64, h.groups)
	for r, g := range groups {
		whole[g] += h.weight[r]
	}
	h.within = make([]float64, h.raters)
	for r, g := range groups {
		if whole[g] > 0 {
			h.within[r] = h.weight[r] / whole[g]
		}
	}
	return nil
}

// Traits implements [Head].
func (h *raterHead) Traits() Traits { return Traits{Joint: true, Raters: true} }

// Own implements [Head].
func (h *raterHead) Own() []nn.HeadParam {
	r, d := h.raters, h.classes
	own := []nn.HeadParam{
		{Name: "raters.guess", Shape: nn.Shape{r}, Start: guessStart, State: true},
		{Name: "raters.sums", Shape: nn.Shape{r, h.sumsWidth()}, State: true},
		{Name: "raters.mark", Shape: nn.Shape{2}, Start: 1, State: true},
	}
	if d == 2 {
		return append(own, nn.HeadParam{Name: "raters.lean", Shape: nn.Shape{r}, State: true})
	}
	own = append(own, nn.HeadParam{Name: "raters.taste", Shape: nn.Shape{r, d}, Start: 1 / float32(d), State: true})
	if h.scaled {
		own = append(own, nn.HeadParam{Name: "raters.lean", Shape: nn.Shape{r}, State: true},
			nn.HeadParam{Name: "raters.scale", Shape: nn.Shape{r}, State: true})
	}
	return own
}

// Bind implements [Head].
func (h *raterHead) Bind(own []*nn.Param) {
	h.guess, h.sums, h.mark = own[0].Value, own[1].Value, own[2].Value
	if h.classes == 2 {
		h.bias = own[3].Value
		return
	}
	if h.taste = own[3].Value; h.scaled {
		h.bias, h.logScale = own[4].Value, own[5].Value
	}
	if h.mark[0] == 1 && h.sums[0] == 0 { // untouched
		for r := range h.raters {
			for i, x := range h.usual {
				h.taste[r*h.classes+i] = float32(x)
			}
		}
	}
}

// Loss implements [Head].
func (h *raterHead) Loss(grad, out []float32, b Batch, at Step) Loss {
	if grad != nil {
		h.turnEpoch(at.Epoch)
	}
	h.compute(grad, out, b)
	loss := Loss{Votes: b.Counts.Votes()}
	if h.scale > 0 {
		loss.Over = 1 / h.scale
		loss.Mean = special.Sum(h.nll) * h.scale
	}
	if grad != nil {
		h.add()
	}
	return loss
}

// compute fills nll and, with a grad, gradients and scores.
func (h *raterHead) compute(grad, out []float32, b Batch) {
	checkShape(grad, out, b.Counts, h.classes, h.Outputs())
	n := b.Items()
	h.grad, h.batch, h.train = grad, b, grad != nil
	h.nll = room(h.nll, n)
	h.scores = room(h.scores, len(b.Ratings))
	h.first = room(h.first, n+1)
	at, voted := 0, 0
	for j := range n {
		h.first[j] = at
		for at < len(b.Ratings) && int(b.Ratings[at].Item) == j {
			at++
		}
		if m, _ := tally(b.Counts.Item(j)); m > 0 {
			voted++
		}
	}
	if h.first[n] = at; at != len(b.Ratings) {
		panic("mixture head with raters: ratings are not in the order of their items")
	}
	h.scale = 0
	if voted > 0 {
		h.scale = 1 / float64(voted)
	}
	h.survey(room(h.exps, len(out)), out)
	h.threads.For(len(h.blocks), h.exp)
	for _, p := range h.blocks {
		h.clamped += p.clamped
	}
	h.recall(b.Ratings)
	if votes := b.Counts.Votes(); votes > float64(len(b.Ratings)) {
		h.average.update(h)
	}
	for len(h.works) < h.threads.Workers() {
		switch {
		case h.classes == 2:
			h.works = append(h.works, newTwoWork(h))
		case h.scaled:
			h.works = append(h.works, newOrderedWork(h))
		default:
			h.works = append(h.works, newManyWork(h))
		}
	}
	h.threads.ForWorker((n+ratedItems-1)/ratedItems, h.piece)
}

// ratedItems is the number of items per piece of work.
const ratedItems = 8

// some computes the items of piece p.
func (h *raterHead) some(worker, p int) {
	width := h.Outputs()
	w := h.works[worker]
	for j := p * ratedItems; j < min((p+1)*ratedItems, len(h.nll)); j++ {
		g := row(h.grad, j, width)
		if m, _ := tally(h.batch.Counts.Item(j)); m == 0 {
			h.nll[j] = 0
			clear(g)
			continue
		}
		h.nll[j] = w.loss(j)
		h.turn(g, h.out[j*width:][:width])
		if weight := float32(h.batch.weight(j)); weight != 1 {
			for i := range g {
				g[i] *= weight
			}
		}
	}
}

// Criterion implements [Head]: the joint negative log-likelihood per vote.
func (h *raterHead) Criterion() Criterion { return &jointCriterion{add: h.score} }

// score adds the losses of a batch to the criterion.
func (h *raterHead) score(c *jointCriterion, out []float32, b Batch) {
	h.compute(nil, out, b)
	for j, x := range h.nll {
		w := b.weight(j)
		m, _ := tally(b.Counts.Item(j))
		c.sum += w * x
		c.votes += w * m
	}
}

// ItemLosses appends the joint negative log-likelihood of each item's votes, times its weight.
func (h *raterHead) ItemLosses(dst []float64, out []float32, b Batch) []float64 {
	h.compute(nil, out, b)
	for j, x := range h.nll {
		dst = append(dst, x*b.weight(j))
	}
	return dst
}

// room returns x with length n and unspecified values, reallocated if it is too short.
func room[T any](x []T, n int) []T {
	if cap(x) < n {
		return make([]T, n, n+n/4)
	}
	return x[:n]
}
