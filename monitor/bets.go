package monitor

import (
	"cmp"
	"fmt"
	"math"

	"credence/calibrate"
	"credence/head"
	"credence/internal/special"
	"credence/mixture"
)

// bet is an alternative to the model's distributions, which the evidence bets on. The zero value is no change.
type bet struct {
	class  int     // class whose odds change
	tilt   float64 // change of its log odds
	factor float64 // factor for the concentration of p, if not 0
	guess  float64 // share of votes that do not depend on the item, of a rater
}

// itemBets returns the bets on items with d classes.
func itemBets(d int) []bet {
	var list []bet
	if d == 2 {
		for _, tilt := range []float64{.25, .5, 1} {
			list = append(list, bet{class: 1, tilt: tilt}, bet{class: 1, tilt: -tilt})
		}
	} else {
		for c := range d {
			list = append(list, bet{class: c, tilt: .5}, bet{class: c, tilt: -.5})
		}
	}
	return append(list, bet{factor: 4}, bet{factor: .25})
}

// raterBets returns the bets on the votes of one rater.
func raterBets(d int) []bet {
	var list []bet
	if d == 2 {
		for _, tilt := range []float64{.5, 1, 2} {
			list = append(list, bet{class: 1, tilt: tilt}, bet{class: 1, tilt: -tilt})
		}
	} else {
		for c := range d {
			list = append(list, bet{class: c, tilt: 1}, bet{class: c, tilt: -1})
		}
	}
	return append(list, bet{guess: .5})
}

// words describes the bet as a finding about votes.
func (b bet) words(classes []string) string {
	switch {
	case b.factor > 1:
		return "votes on the same item agree less than predicted"
	case b.factor > 0:
		return "votes on the same item agree more than predicted"
	case b.guess > 0:
		return "votes look like guesses"
	case b.tilt > 0:
		return "votes run towards " + classes[b.class]
	case len(classes) == 2:
		return "votes run towards " + classes[1-b.class]
	}
	return "votes run away from " + classes[b.class]
}

// name identifies the bet in tables and files.
func (b bet) name(classes []string) string {
	switch {
	case b.factor > 0:
		return fmt.Sprintf("concentration × %g", b.factor)
	case b.guess > 0:
		return "guessing"
	}
	return fmt.Sprintf("%s %+g", classes[b.class], b.tilt)
}

// chances changes the chances p [d] of a vote, and writes them to dst.
func (b bet) chances(dst, p []float64) []float64 {
	dst = append(dst[:0], p...)
	if b.guess > 0 {
		for i := range dst {
			dst[i] = (1-b.guess)*dst[i] + b.guess/float64(len(dst))
		}
		return dst
	}
	return tilt(dst, b.class, b.tilt)
}

// tilt adds δ to the log odds of one class of chances p [d], in place.
func tilt(p []float64, class int, delta float64) []float64 {
	sum, factor := 0.0, math.Exp(delta)
	p[class] *= factor
	for _, x := range p {
		sum += x
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

// apply returns the distribution that the bet replaces dist with: component by component, a tilt moves the mean,
// and a factor changes the concentration.
func (b bet) apply(dist *mixture.Dirichlet) (*mixture.Dirichlet, error) {
	if b == (bet{}) {
		return dist, nil
	}
	shift := make([]float64, dist.Classes())
	shift[b.class] = b.tilt
	return calibrate.Shifted(dist, shift, cmp.Or(b.factor, 1))
}

// updater predicts votes on one item, one after the other, under one distribution.
type updater interface {
	// chances writes the chances [d] of the next vote, by a rater of the rater model or −1.
	chances(dst []float64, rater int) ([]float64, error)
	// add conditions on a vote.
	add(rater, class int)
}

// newUpdater returns an updater without votes.
func newUpdater(dist *mixture.Dirichlet, raters *head.RaterModel) updater {
	if raters != nil {
		return &ratedItem{dist: dist, raters: raters}
	}
	u := &conjugate{d: dist.Classes(), weights: make([]float64, dist.K()), alpha: make([]float64, 0, dist.K()*dist.Classes())}
	for k := range u.weights {
		w, alpha := dist.Component(k)
		u.weights[k], u.alpha = w, append(u.alpha, alpha...)
	}
	return u
}

// conjugate is the mixture of Dirichlet distributions given the votes so far: weights [K] and α [K, d].
type conjugate struct {
	d              int
	weights, alpha []float64
}

func (u *conjugate) chances(dst []float64, _ int) ([]float64, error) {
	dst = append(dst[:0], make([]float64, u.d)...)
	for k, w := range u.weights {
		alpha, total := u.alpha[k*u.d:(k+1)*u.d], 0.0
		for _, a := range alpha {
			total += a
		}
		w /= total
		for i, a := range alpha {
			dst[i] += w * a
		}
	}
	return dst, nil
}

func (u *conjugate) add(_, class int) {
	sum := 0.0
	for k := range u.weights {
		alpha, total := u.alpha[k*u.d:(k+1)*u.d], 0.0
		for _, a := range alpha {
			total += a
		}
		u.weights[k] *= alpha[class] / total
		alpha[class]++
		sum += u.weights[k]
	}
	for k := range u.weights {
		u.weights[k] /= sum
	}
}

// ratedItem predicts votes by raters who differ. The chances are those of the joint likelihood of all votes, scaled to a sum of
// 1: likelihoods are integrals, whose errors would add up over many votes.
type ratedItem struct {
	dist   *mixture.Dirichlet
	raters *head.RaterModel
	votes  []head.Rating
}

func (u *ratedItem) chances(dst []float64, rater int) ([]float64, error) {
	dst = dst[:0]
	most := math.Inf(-1)
	for c := range u.dist.Classes() {
		x, err := u.raters.LogVotes(u.dist, append(u.votes, head.Rating{Rater: int32(rater), Class: int32(c)}))
		if err != nil {
			return nil, err
		}
		dst, most = append(dst, x), max(most, x)
	}
	for i, x := range dst {
		dst[i] = math.Exp(x - most)
	}
	special.Normalize(dst)
	return dst, nil
}

func (u *ratedItem) add(rater, class int) {
	u.votes = append(u.votes, head.Rating{Rater: int32(rater), Class: int32(class)})
}

// ratio returns the likelihood ratio of a vote for class v: its expectation is at most 1 if the log odds of every
// class, given all that is known before the vote, differ by at most tolerate from those of p [d].
//
// Without a tolerance it is q(v)/p(v). Otherwise it bets on the one class whose log odds under q differ most from those
// under p, against the nearest chance p′ that is tolerated: q/p′ if the vote is for that class, (1−q)/(1−p′) if
// not. This is monotone in the true chance of the class, so that its expectation is largest, 1, where that is p′.
func ratio(p, q []float64, v int, tolerate float64) float64 {
	if tolerate == 0 {
		return q[v] / p[v]
	}
	at, most := 0, 0.0
	for i := range p {
		if x := logOdds(q, i) - logOdds(p, i); math.Abs(x) > math.Abs(most) {
			at, most = i, x
		}
	}
	if !(math.Abs(most) > tolerate) {
		return 1
	}
	odds := logOdds(p, at) + math.Copysign(tolerate, most)
	if v == at {
		return q[at] * (1 + math.Exp(-odds))
	}
	return rest(q, at) * (1 + math.Exp(odds))
}

// logOdds returns the log odds of class i, with the digits of a rare complement.
func logOdds(p []float64, i int) float64 { return math.Log(p[i] / rest(p, i)) }

// rest returns the chance of all classes but i.
func rest(p []float64, i int) float64 {
	sum := 0.0
	for j, x := range p {
		if j != i {
			sum += x
		}
	}
	return sum
}
