package head

import (
	"math"

	"credence/internal/special"
)

// Bounds, priors and updates of the raters' parameters. In the first epoch guess rates are at their minimum: if
// votes that are improbable under an untrained network counted as guesses, nothing would correct a network
// that a few large steps have made certain of a single class.
const (
	guessMean, guessSD = -7, 3 // prior of logit g
	tasteVotes         = 2     // weight of the prior of π, in votes
	maxBias            = 8     // largest |b|
	maxGuess           = 8     // largest logit g; the smallest is −15
	minGuess           = -15
	guessMany          = -1.2 // from here on a rater counts as guessing
	guessStart         = minGuess
	guessPrecision     = 1 / float64(guessSD*guessSD)
)

// jumps are alternative values of logit g. A few votes of a rater who guesses leave a posterior with two modes,
// one of them at the prior's, and steps uphill from there never reach the other; an untrained network moves
// all raters to the first.
var jumps = [...]float64{guessMean, guessMany, 1.2}

// jumpGuess are the guess rates of jumps.
var jumpGuess = func() (g [len(jumps)]float64) {
	for k, u := range jumps {
		g[k] = special.Sigmoid(u)
	}
	return g
}()

// sumsWidth is the width of the sums of a rater: votes, score and squared score of b, the same of
// logit g, guessed votes by class, then for each of jumps the likelihood ratio of the votes there, as a
// [product], and for ordered classes score and squared score of log s.
func (h *raterHead) sumsWidth() int {
	if h.scaled {
		return h.scaleSums() + 2
	}
	return h.scaleSums()
}

// scaleSums is where the sums of log s begin.
func (h *raterHead) scaleSums() int { return 5 + h.classes + 2*len(jumps) }

// product is a product of many factors, x 2ⁿ, with x = 0 if there are none: a sum of logarithms that needs a
// single call of math.Log.
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
		// P(v) is linear in g, and s.guessed is the fraction of it that is due to guesses.
		sure, guess := (1-s.guessed)/(1-h.known[r.Rater].guess), s.guessed/h.known[r.Rater].guess
		for k, g := range jumpGuess {
			factor := (1-g)*sure + g*guess
			if w != 1 {
				factor = math.Pow(factor, w)
			}
			elsewhere(sums, h.classes, k).times(factor)
		}
		if h.scaled {
			sums[width-2] += float32(w * s.scale)
			sums[width-1] += float32(w * s.scale * s.scale)
		}
	}
}

// elsewhere returns the likelihood ratio of a rater's votes at jump k.
func elsewhere(sums []float32, classes, k int) product { return sums[5+classes+2*k:][:2] }

// turnEpoch updates the raters' parameters if a new epoch begins.
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
		if h.bias != nil {
			b, information := float64(h.bias[r]), float64(s[2])+1/tau2
			step := (float64(s[1]) - b/tau2) / information
			b = min(max(b+min(max(step, -1), 1), -maxBias), maxBias)
			h.bias[r] = float32(b)
			second += b*b + 1/information
		}
		if h.scaled {
			u := float64(h.logScale[r])
			step := (float64(s[width-2]) - u*scalePrecision) / (float64(s[width-1]) + scalePrecision)
			h.logScale[r] = float32(min(max(u+min(max(step, -0.5), 0.5), -maxLogScale), maxLogScale))
		}
		if d == 2 {
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
	if h.bias == nil || seen == 0 {
		return
	}
	if h.scaled {
		center(h, h.logScale)
	}
	mean := center(h, h.bias)
	moved := 0.0
	for g, m := range mean {
		moved += float64(seenIn[g]) / float64(seen) * (m * m)
	}
	h.mark[1] = float32(max(second/float64(seen)-moved, 1e-4))
}

// center subtracts from the parameters of each group their mean over its votes, and returns the means.
func center[T float32 | float64](h *raterHead, values []T) []float64 {
	mean := make([]float64, h.groups)
	for r, w := range h.within {
		mean[h.group[r]] += w * float64(values[r])
	}
	for r := range values {
		values[r] -= T(mean[h.group[r]])
	}
	return mean
}

// fewGuess reports whether the raters who would count as guessing after a jump have cast less than half
// of the votes. If they have cast more, the network is wrong, as it is early in training: votes do not identify
// whether all raters guess, and if all of them were taken to guess, the network would not be corrected.
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

// bestJump returns which of u and jumps has the highest posterior as the value of logit g.
func bestJump(u float64, sums []float32, classes int) float64 {
	best, at := 0.0, u
	for k, there := range jumps {
		if gain := elsewhere(sums, classes, k).log() - guessPrecision/2*(there-u)*(there+u-2*guessMean); gain > best {
			best, at = gain, there
		}
	}
	return at
}

// nextGuess returns the logit g that follows u, given the sums of a rater: the best of jumps if that is better
// than u, else the result of a Fisher scoring step. If jump is false, a rater who would begin to guess stays at u.
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
