package head

import (
	"math"

	"credence/internal/special"
)

// The parameters of raters, and how they move from epoch to epoch. In the first, nobody guesses: were
// votes that a network gives no probability taken for guesses from the start, one that a few large
// steps made certain of a single class would have nothing to correct it.
const (
	guessMean, guessSD = -7, 3 // prior of logit g
	tasteVotes         = 2     // how many votes the prior of π counts for
	maxBias            = 8     // largest |b|
	maxGuess           = 8     // largest logit g; the smallest is −15
	minGuess           = -15
	guessMany          = -1.2 // from here on somebody is said to guess
	guessStart         = minGuess
	guessPrecision     = 1 / float64(guessSD*guessSD)
)

// jumps are where else logit g may lie. A few votes of somebody who guesses leave two modes, one of
// them at the prior's, and steps uphill from there never reach the other: networks that know nothing
// yet take everybody to the first.
var jumps = [...]float64{guessMean, guessMany, 1.2}

// jumpGuess are the same as shares.
var jumpGuess = func() (g [len(jumps)]float64) {
	for k, u := range jumps {
		g[k] = special.Sigmoid(u)
	}
	return g
}()

// sumsWidth is the width of the sums of a rater: votes, score and squared score of b, the same of
// logit g, guessed votes by class, then of each of jumps how much more likely the votes are there, as a
// [product].
func (h *raterHead) sumsWidth() int { return 5 + h.classes + 2*len(jumps) }

// product is a product of many factors, x 2ⁿ, with x = 0 of none: a sum of logarithms that takes one only.
type product []float32

func (p product) times(factor float64) {
	x := float64(p[0]) * factor
	if p[0] == 0 {
		x = factor
	}
	if x < 1e-6 || x > 1e6 {
		var n int
		x, n = math.Frexp(x)
		p[1] += float32(n)
	}
	p[0] = float32(x)
}

func (p product) log() float64 {
	if p[0] == 0 {
		return 0
	}
	return math.Log(float64(p[0])) + math.Ln2*float64(p[1])
}

// add adds the scores of the batch to the sums.
func (h *raterHead) add() {
	width := h.sumsWidth()
	for k, r := range h.batch.Ratings {
		s, w := h.scores[k], h.batch.weight(int(r.Item))
		sums := h.sums[int(r.Rater)*width:][:width]
		sums[0] += float32(w)
		sums[1] += float32(w * s.bias)
		sums[2] += float32(w * s.bias * s.bias)
		sums[3] += float32(w * s.guess)
		sums[4] += float32(w * s.guess * s.guess)
		sums[5+r.Class] += float32(w * s.guessed)
		// P(v) is linear in g, and s.guessed says what part of it guesses are.
		sure, guess := (1-s.guessed)/(1-h.known[r.Rater].guess), s.guessed/h.known[r.Rater].guess
		for k, g := range jumpGuess {
			factor := (1-g)*sure + g*guess
			if w != 1 {
				factor = math.Pow(factor, w)
			}
			elsewhere(sums, h.classes, k).times(factor)
		}
	}
}

// elsewhere is how much more likely the votes of a rater are at one of jumps.
func elsewhere(sums []float32, classes, k int) product { return sums[5+classes+2*k:][:2] }

// turnEpoch makes a step of the raters' parameters if a new epoch begins.
func (h *raterHead) turnEpoch(epoch uint64) {
	if h.mark[0] == float32(epoch)+1 {
		return
	}
	h.mark[0] = float32(epoch) + 1
	h.update()
	clear(h.sums)
}

// update makes a step of Fisher scoring by the sums, and one of EM for the scale of the prior.
func (h *raterHead) update() {
	width, d := h.sumsWidth(), h.classes
	tau2 := float64(h.mark[1])
	second, seen, seenIn := 0.0, 0, make([]int, h.groups)
	jump := h.fewGuess()
	for r := range h.raters {
		s := h.sums[r*width:][:width]
		if s[0] == 0 {
			h.guess[r] = guessMean
			continue
		}
		seen++
		seenIn[h.group[r]]++
		h.guess[r] = float32(nextGuess(float64(h.guess[r]), s, d, jump))
		if d == 2 {
			b, information := float64(h.bias[r]), float64(s[2])+1/tau2
			step := (float64(s[1]) - b/tau2) / information
			b = min(max(b+min(max(step, -1), 1), -maxBias), maxBias)
			h.bias[r] = float32(b)
			second += b*b + 1/information
			continue
		}
		guessed := 0.0
		for _, x := range s[5:][:d] {
			guessed += float64(x)
		}
		for i := range d {
			h.taste[r*d+i] = float32((float64(s[5+i]) + tasteVotes*h.usual[i]) / (guessed + tasteVotes))
		}
	}
	if d != 2 || seen == 0 {
		return
	}
	mean := make([]float64, h.groups)
	for r, w := range h.within {
		mean[h.group[r]] += w * float64(h.bias[r])
	}
	for r := range h.bias {
		h.bias[r] -= float32(mean[h.group[r]])
	}
	moved := 0.0
	for g, m := range mean {
		moved += float64(seenIn[g]) / float64(seen) * (m * m)
	}
	h.mark[1] = float32(max(second/float64(seen)-moved, 1e-4))
}

// fewGuess reports whether the raters who would be said to guess after a jump have cast less than half
// of the votes. If they have more, it is the network that is wrong, as one that has seen little is:
// whether all guess cannot be told from votes, and with all of them guessing it would not be corrected.
func (h *raterHead) fewGuess() bool {
	width := h.sumsWidth()
	var all, guess float64
	for r := range h.raters {
		s := h.sums[r*width:][:width]
		all += float64(s[0])
		if u := float64(h.guess[r]); bestJump(u, s, h.classes) >= guessMany {
			guess += float64(s[0])
		}
	}
	return guess < all/2
}

// bestJump returns where the posterior of logit g is highest, of u and jumps.
func bestJump(u float64, sums []float32, classes int) float64 {
	best, at := 0.0, u
	for k, there := range jumps {
		if gain := elsewhere(sums, classes, k).log() - guessPrecision/2*(there-u)*(there+u-2*guessMean); gain > best {
			best, at = gain, there
		}
	}
	return at
}

// nextGuess returns logit g after u by the sums of a rater: the best of jumps if that is better than u,
// else a step of Fisher scoring. Without jump nobody comes to guess: who would stays at u.
func nextGuess(u float64, sums []float32, classes int, jump bool) float64 {
	if at := bestJump(u, sums, classes); at != u {
		if !jump && at >= guessMany {
			return u
		}
		return at
	}
	step := (float64(sums[3]) - (u-guessMean)*guessPrecision) / (float64(sums[4]) + guessPrecision)
	return min(max(u+min(max(step, -1.5), 1.5), minGuess), maxGuess)
}
