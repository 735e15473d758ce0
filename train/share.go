package train

import (
	"math"

	"credence/head"
	"credence/internal/par"
	"credence/model"
	"credence/tree"
)

// shareSteps is the number of steps of the share of trees from 0 to 1.
const shareSteps = 20

// chooseShare sets the share λ of the trees to the smallest that predicts held-out votes as well as the best one, up to one
// standard error of the difference. So trees that help little, or few items, have no or little weight.
func (f *fitting) chooseShare(record *model.Trees, runs []*run) error {
	networks, forests, clusters, votes, err := f.heldLikelihoods(runs)
	if err != nil || votes == 0 {
		record.Reason = message(TreesAlone)
		return err
	}
	items := make([][]float64, shareSteps+1) // loss of each item
	best, least := 0, math.Inf(1)
	for k := range items {
		share := float64(k) / shareSteps
		items[k] = make([]float64, len(networks))
		sum := 0.0
		for j, l := range networks {
			items[k][j] = -clusters[j].weight * logBlend(share, l, forests[j])
			sum += items[k][j]
		}
		if sum < least {
			best, least = k, sum
		}
	}
	chosen := 0
	for ; chosen < best; chosen++ {
		if worse, se := pairedSum(items[chosen], items[best], clusters); worse <= se {
			break
		}
	}
	f.share = float64(chosen) / shareSteps
	compared, kind := chosen, TreesHelp
	if chosen == 0 {
		compared, kind = best, TreesNoHelp
	}
	gain, se := pairedSum(items[0], items[compared], clusters)
	record.Gain, record.GainSE = gain/votes, se/votes
	record.Reason = message(kind, record.Gain, record.GainSE)
	return nil
}

// logBlend returns the logarithm of (1 − share)·e^a + share·e^b.
func logBlend(share, a, b float64) float64 {
	switch share {
	case 0:
		return a
	case 1:
		return b
	}
	top := max(a, b)
	return top + math.Log((1-share)*math.Exp(a-top)+share*math.Exp(b-top))
}

// cluster is the group of a held-out item, and its weight.
type cluster struct {
	group  int
	weight float64
}

// pairedSum returns the sum of a − b, and its standard error from the variation between groups.
func pairedSum(a, b []float64, clusters []cluster) (sum, se float64) {
	var groups []float64
	for j := range a {
		g := clusters[j].group
		for len(groups) <= g {
			groups = append(groups, 0)
		}
		groups[g] += a[j] - b[j]
		sum += a[j] - b[j]
	}
	n, square := float64(len(groups)), 0.0
	for _, d := range groups {
		e := d - sum/n
		square += e * e
	}
	return sum, math.Sqrt(square * n / max(n-1, 1))
}

// heldLikelihoods returns the log-likelihood of the votes on each held-out item by the network and by the forest of one
// run that held it out, and the weighted number of votes.
func (f *fitting) heldLikelihoods(runs []*run) (networks, forests []float64, clusters []cluster, votes float64, err error) {
	groups := map[string]int{}
	d := len(f.ds.Classes)
	for _, same := range f.byFold(runs) {
		if len(same) == 0 {
			continue
		}
		r := same[0]
		raw, out := r.heldOutputs, r.forest.held
		if c := f.crossOutputs(r); c != nil {
			raw, out = c, r.forest.cross.kept
		}
		decoded, err := head.DecodeOptions{Threads: f.o.Threads}.Decode(f.reader, raw, len(r.held))
		if err != nil {
			return nil, nil, nil, 0, err
		}
		from := len(networks)
		networks = append(networks, make([]float64, len(r.held))...)
		errs := make([]error, len(r.held))
		par.Limit(f.o.Threads).For(len(r.held), func(k int) {
			v := make([]float64, d)
			for i, c := range f.ds.CountsOf(r.held[k]) {
				v[i] = float64(c)
			}
			networks[from+k], errs[k] = decoded[k].Dist.LogVotes(v)
		})
		for k, j := range r.held {
			if errs[k] != nil {
				return nil, nil, nil, 0, errs[k]
			}
			counts := f.ds.CountsOf(j)
			forests = append(forests, -tree.Loss(out[k*d:(k+1)*d], counts))
			c := cluster{group: len(clusters), weight: 1}
			if f.weights != nil {
				c.weight = f.weights[j]
			}
			if g := f.ds.Groups; g != nil {
				if _, seen := groups[g[j]]; !seen {
					groups[g[j]] = len(groups)
				}
				c.group = groups[g[j]]
			}
			clusters = append(clusters, c)
			votes += c.weight * f.ds.VotesOf(j)
		}
	}
	return networks, forests, clusters, votes, nil
}
