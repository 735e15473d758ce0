package train

import (
	"credence/baseline"
	"credence/head"
)

// newHead makes the head of a run, a mixture or a rival, and starts the network
// at what is true of all items.
func (r *run) newHead() (err error) {
	net := r.network.Net
	if r.o.Method != "" {
		if r.rival, err = baseline.New(r.o.Method, r.o.Rival); err != nil {
			return err
		}
		startOutputs(net, r.rival.Outputs(), func(bias []float32) { r.rival.Start(bias, r.shares) })
		return nil
	}
	r.mixture, err = head.NewMixture(head.MixtureOptions{Components: r.o.Components, Classes: len(r.in.ds.Classes), Limit: r.o.Limit})
	if err != nil {
		return err
	}
	startOutputs(net, r.mixture.Outputs(), func(bias []float32) { startMixture(bias, r.alpha, r.o.Components) })
	return nil
}

// head returns the head of the run, whichever it is.
func (r *run) head() head.Head {
	if r.rival != nil {
		return r.rival
	}
	return r.mixture
}

// countClamped moves the counts of clamped values of a mixture into the state.
func (r *run) countClamped() {
	if r.mixture == nil {
		return
	}
	outside, seen := r.mixture.Clamped()
	r.state.Clamped += outside
	r.state.Seen += seen
	r.mixture.ResetClamped()
}

// resetClamped forgets the counts of clamped values.
func (r *run) resetClamped() {
	if r.mixture != nil {
		r.mixture.ResetClamped()
	}
}

// weigh multiplies the votes of a batch by the weights of its items, which is
// what weights mean to a method that takes each vote for an example, and returns
// how many votes there are.
func (r *run) weigh(votes head.Counts, items []int) float64 {
	sum := 0.0
	for j, item := range items {
		for i, s := range votes.Item(j) {
			if r.weights != nil {
				s *= float32(r.weights[item])
				votes.Item(j)[i] = s
			}
			sum += float64(s)
		}
	}
	return sum
}

// criterion is a rival's own measure of the held-out items, all at once.
func (r *run) criterion() (float64, error) {
	var out []float32
	votes := head.Counts{Classes: len(r.in.ds.Classes)}
	err := r.in.each(r.buffers, r.o.Batch, r.held, func(x []float32, counts head.Counts, some []int) error {
		r.weigh(counts, some)
		out = append(out, r.network.Net.Forward(x, false, r.at())...)
		votes.Values = append(votes.Values, counts.Values...)
		return nil
	})
	if err != nil {
		return 0, err
	}
	return r.rival.Criterion(out, votes), nil
}

// sharesOf returns the share of each class in votes [N×d].
func sharesOf(votes []float32, d int) []float64 {
	shares, sum := make([]float64, d), 0.0
	for k, s := range votes {
		shares[k%d] += float64(s)
		sum += float64(s)
	}
	for i := range shares {
		shares[i] /= sum
	}
	return shares
}
