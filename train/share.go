package train

import (
	"math"

	"credence/head"
	"credence/internal/par"
	"credence/internal/special"
	"credence/model"
	"credence/tree"
)

const (
	// shareSteps is the number of steps of the share of trees from 0 to 1.
	shareSteps = 20
	// shareZ is the number of standard errors by which a share may predict held-out votes worse than the best one.
	shareZ = 2
)

// chooseShare sets the share λ of the trees to the smallest that predicts held-out votes as well as the best one, up to
// two standard errors of the difference. So trees that help little, or few items, have little or no weight. The
// likelihood is that of single members, by which trees help more than in an ensemble, where networks also correct each
// other: another reason to take the smallest.
func (f *fitting) chooseShare(record *model.Trees, runs []*run) error {
	items, votes, err := f.judge(runs)
	if err != nil || votes == 0 {
		record.Reason = message(TreesAlone)
		return err
	}
	losses := make([][]float64, shareSteps+1) // of each item
	best, least := 0, math.Inf(1)
	for k := range losses {
		losses[k] = make([]float64, len(items))
		for j := range items {
			losses[k][j] = items[j].loss(float64(k) / shareSteps)
		}
		if sum := special.Sum(losses[k]); sum < least {
			best, least = k, sum
		}
	}
	chosen := 0
	for ; chosen < best; chosen++ {
		if worse, se := pairedSum(losses[chosen], losses[best], items); worse <= shareZ*se {
			break
		}
	}
	f.share = float64(chosen) / shareSteps
	compared, kind := chosen, TreesHelp
	if chosen == 0 {
		compared, kind = best, TreesNoHelp
	}
	gain, se := pairedSum(losses[0], losses[compared], items)
	record.Gain, record.GainSE = gain/votes, se/votes
	record.Reason = message(kind, record.Gain, record.GainSE)
	return nil
}

// judged is a held-out item, as the network and the forest of one member that held it out predict it.
type judged struct {
	network, forest float64 // log-likelihood of its votes
	weight          float64
	group           int
}

// loss returns the loss of the votes on the item under (1 − share)·network + share·forest.
func (q *judged) loss(share float64) float64 {
	switch share {
	case 0:
		return -q.weight * q.network
	case 1:
		return -q.weight * q.forest
	}
	top := max(q.network, q.forest)
	return -q.weight * (top + math.Log((1-share)*math.Exp(q.network-top)+share*math.Exp(q.forest-top)))
}

// pairedSum returns the sum of a − b, and its standard error from the variation between groups of items.
func pairedSum(a, b []float64, items []judged) (sum, se float64) {
	var groups []float64
	for j := range a {
		for len(groups) <= items[j].group {
			groups = append(groups, 0)
		}
		groups[items[j].group] += a[j] - b[j]
		sum += a[j] - b[j]
	}
	n, square := float64(len(groups)), 0.0
	for _, d := range groups {
		e := d - sum/n
		square += e * e
	}
	return sum, math.Sqrt(square * n / max(n-1, 1))
}

// judge returns the held-out items as one member each predicts them, and the weighted number of their votes.
func (f *fitting) judge(runs []*run) (items []judged, votes float64, err error) {
	groups := map[string]int{}
	for _, same := range f.byFold(runs) {
		if len(same) == 0 {
			continue
		}
		list, err := f.judgeRun(same[0])
		if err != nil {
			return nil, 0, err
		}
		for k, j := range same[0].held {
			q := &list[k]
			q.group, q.weight = len(items)+k, 1
			if f.weights != nil {
				q.weight = f.weights[j]
			}
			if g := f.ds.Groups; g != nil {
				if _, seen := groups[g[j]]; !seen {
					groups[g[j]] = len(groups)
				}
				q.group = groups[g[j]]
			}
			votes += q.weight * f.ds.VotesOf(j)
		}
		items = append(items, list...)
	}
	return items, votes, nil
}

// judgeRun returns the items that a run held out.
func (f *fitting) judgeRun(r *run) ([]judged, error) {
	outputs, forest := r.heldOutputs, r.forest.held
	if c := f.crossOutputs(r); c != nil {
		outputs, forest = c, r.forest.cross.kept
	}
	n, d := len(r.held), len(f.ds.Classes)
	decoded, err := head.DecodeOptions{Threads: f.o.Threads}.Decode(f.reader, outputs, n)
	if err != nil {
		return nil, err
	}
	list, errs := make([]judged, n), make([]error, n)
	par.Limit(f.o.Threads).For(n, func(k int) {
		counts := make([]float64, d)
		for i, c := range f.ds.CountsOf(r.held[k]) {
			counts[i] = float64(c)
		}
		list[k].network, errs[k] = decoded[k].Dist.LogVotes(counts)
		list[k].forest = -tree.Loss(forest[k*d:(k+1)*d], f.ds.CountsOf(r.held[k]))
	})
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}
