package evaluate

import (
	"context"
	"fmt"
	"math"

	"credence/internal/par"
)

// jointLosses returns, for every item, minus the log-probability of its votes
// together, in the order given, under its mixture (no multinomial coefficient):
//
//	−ln Σ_k w_k B(α_k + S)/B(α_k),
//
// or by who cast the votes where that is known. Their sum over the number of votes
// is the joint NLL per vote.
func (s *sample) jointLosses() ([]float64, error) {
	losses := make([]float64, s.n)
	return losses, tryItems(s.ctx, s.n, func(j int) (err error) {
		l := 0.0
		if s.crowd != nil {
			l, err = s.crowd.LogVotes(s.answers[j].Law, s.ratings[j])
		} else {
			l, err = s.mixtures[j].LogVotes(s.votes.Item(j))
		}
		losses[j] = -l
		return err
	})
}

// lossesOf returns the loss of every item's votes.
func lossesOf(votes Votes, loss func(j int, s []float64) float64) []float64 {
	losses := make([]float64, votes.Len())
	for j := range losses {
		losses[j] = loss(j, votes.Item(j))
	}
	return losses
}

// marginalLosses returns, for every item, the loss of its votes taken one by
// one under the mean probabilities ([N × d], row-major): −Σ_i S_i ln μ_i.
func marginalLosses(means []float64, votes Votes) []float64 {
	d := votes.Classes
	return lossesOf(votes, func(j int, s []float64) float64 { return independentLoss(means[j*d:(j+1)*d], s) })
}

// floorLosses returns, for every item, the loss under its own vote shares,
// −Σ_i S_i ln(S_i/m): no prediction that treats votes as independent can score
// better, and with few votes none can come near.
func floorLosses(votes Votes) []float64 {
	p := make([]float64, votes.Classes)
	return lossesOf(votes, func(_ int, s []float64) float64 {
		m := sum(s)
		for i := range p {
			p[i] = s[i] / m
		}
		return independentLoss(p, s)
	})
}

// independentLoss returns −Σ s_i ln p_i; classes without votes add nothing.
func independentLoss(p, s []float64) float64 {
	l := 0.0
	for i, c := range s {
		if c > 0 {
			l -= c * math.Log(p[i])
		}
	}
	return l
}

// forItems calls body once for each of n items, on all cores. Once ctx is canceled it calls it no
// more: callers check ctx before they use what it computed.
func forItems(ctx context.Context, n int, body func(j int)) {
	par.Chunks(n, 64, func(lo, hi int) {
		for j := lo; j < hi && ctx.Err() == nil; j++ {
			body(j)
		}
	})
}

// tryItems calls body once for each of n items, on all cores, and returns the
// error of the first item that has one, or that of ctx.
func tryItems(ctx context.Context, n int, body func(j int) error) error {
	errs := make([]error, n)
	forItems(ctx, n, func(j int) { errs[j] = body(j) })
	for j, err := range errs {
		if err != nil {
			return fmt.Errorf("item %d: %w", j, err)
		}
	}
	return ctx.Err()
}
