package study

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"credence/dataset"
	"credence/head"
	"credence/internal/rng"
	"credence/mixture"
	"credence/model"
	"credence/train"
)

// The methods, and the intervals that are evaluated. A fit of the mixture gives two kinds of intervals.
const (
	mixtureFit       = "mixture"
	votesReported    = "defaults, as reported"
	votesRaw         = "defaults, raw"
	featureless      = "featureless Dirichlet mixture"
	softmaxBootstrap = "softmax with bootstrap"
	evidential       = "evidential network"
)

// fitDists are the predicted distributions of a fit.
type fitDists struct {
	method string
	dists  []mixture.Reported
	scale  float64
}

// fitVotes fits a method to the votes of ds and returns its predictions for the items of test.
func fitVotes(ctx context.Context, method string, ds, test *dataset.Dataset, seed uint64) ([]fitDists, error) {
	switch method {
	case mixtureFit:
		return fitMixture(ctx, ds, test, seed)
	case featureless:
		dist, err := fitFeatureless(ds)
		return []fitDists{{method, slices.Repeat([]mixture.Reported{{Dist: dist}}, test.Len()), 0}}, err
	case softmaxBootstrap:
		return fitBootstrap(ctx, ds, test, seed)
	case evidential:
		res, err := train.Fit(ctx, ds, train.Options{Head: head.Evidential{}, Seed: seed, NoReferences: true})
		if err != nil {
			return nil, err
		}
		got, err := res.Model.Predict(context.Background(), test, model.PredictOptions{})
		if err != nil {
			return nil, err
		}
		result := fitDists{method: method}
		for _, a := range got {
			result.dists = append(result.dists, mixture.Reported{Dist: a.Opinion})
		}
		return []fitDists{result}, nil
	}
	panic("no method " + method)
}

// fitMixture fits with the defaults and returns the reported and the raw predictions.
func fitMixture(ctx context.Context, ds, test *dataset.Dataset, seed uint64) ([]fitDists, error) {
	res, err := train.Fit(ctx, ds, train.Options{Seed: seed, NoReferences: true})
	if err != nil {
		return nil, err
	}
	m := res.Model
	result := []fitDists{{method: votesReported, scale: m.Calibration.Scale}, {method: votesRaw}}
	for k := range result {
		got, err := m.Predict(context.Background(), test, model.PredictOptions{})
		if err != nil {
			return nil, err
		}
		for _, a := range got {
			result[k].dists = append(result[k].dists, a.Reported())
		}
		m.Calibration = nil
	}
	return result, nil
}

// bootstraps is the number of networks, each trained on its own bootstrap sample of items.
const bootstraps = 5

// fitBootstrap trains softmax networks on items drawn with replacement, each stopped by the votes of
// items that were not drawn. Predictions differ between networks: the distribution of an item is the
// Dirichlet distribution with their mean and, over all classes, their variance.
func fitBootstrap(ctx context.Context, ds, test *dataset.Dataset, seed uint64) ([]fitDists, error) {
	d := len(ds.Classes)
	sum, squares := make([]float64, test.Len()*d), make([]float64, test.Len()*d)
	for b := range bootstraps {
		items, held := resample(ds, rand.New(rng.New(seed, "study.votes.bootstrap", uint64(b))))
		res, err := train.Fit(ctx, ds.Select(items), train.Options{Head: head.Softmax{}, Ensemble: 1, Held: held,
			Seed: seed + uint64(b)<<32, NoReferences: true})
		if err != nil {
			return nil, err
		}
		got, err := res.Model.Predict(context.Background(), test, model.PredictOptions{})
		if err != nil {
			return nil, err
		}
		for j, a := range got {
			for c, p := range a.Mean {
				sum[j*d+c] += p
				squares[j*d+c] += p * p
			}
		}
	}
	result := fitDists{method: softmaxBootstrap}
	for j := range test.Len() {
		dist, err := matched(sum[j*d:(j+1)*d], squares[j*d:(j+1)*d], bootstraps)
		if err != nil {
			return nil, fmt.Errorf("item %s: %w", test.Items[j], err)
		}
		result.dists = append(result.dists, mixture.Reported{Dist: dist})
	}
	return []fitDists{result}, nil
}

// resample draws as many groups as there are, with replacement, and puts the items of those that were
// not drawn after theirs; held are the places of the latter.
func resample(ds *dataset.Dataset, r *rand.Rand) (items, held []int) {
	var order []string
	members := map[string][]int{}
	for i := range ds.Len() {
		g := ds.Items[i]
		if ds.Groups != nil {
			g = ds.Groups[i]
		}
		if members[g] == nil {
			order = append(order, g)
		}
		members[g] = append(members[g], i)
	}
	drawn := map[string]bool{}
	for range order {
		g := order[r.IntN(len(order))]
		drawn[g] = true
		items = append(items, members[g]...)
	}
	for _, g := range order {
		if !drawn[g] {
			for _, i := range members[g] {
				held = append(held, len(items))
				items = append(items, i)
			}
		}
	}
	return items, held
}

// matched returns the Dirichlet distribution whose mean is that of n vectors, and whose variance
// summed over classes is theirs: with α₀ its total,
//
//	Σ_c Var p_c = Σ_c μ_c(1 − μ_c) / (α₀ + 1).
func matched(sum, squares []float64, n float64) (*mixture.Dirichlet, error) {
	spread, most := 0.0, 0.0
	alpha := make([]float64, len(sum))
	for c := range sum {
		mean := max(sum[c]/n, 1e-9)
		alpha[c] = mean
		spread += (squares[c] - sum[c]*sum[c]/n) / (n - 1)
		most += mean * (1 - mean)
	}
	total := min(max(most/max(spread, 1e-12)-1, 1e-2), 1e6)
	for c := range alpha {
		alpha[c] *= total
	}
	return mixture.NewDirichlet([]float64{1}, [][]float64{alpha})
}

// fitFeatureless fits a mixture of Dirichlet distributions to the votes of all items, the same for
// every item: one component for each class and a broad one to start from, and Adam on the exact
// likelihood.
func fitFeatureless(ds *dataset.Dataset) (*mixture.Dirichlet, error) {
	d := len(ds.Classes)
	k := d + 1
	outputs := make([]float64, k*(1+d))
	for j := range d {
		outputs[k+j*d+j] = math.Log(5)
	}
	type row struct {
		counts []float64
		items  float64
	}
	rows := map[string]*row{}
	var order []*row
	for i := range ds.Len() {
		key := fmt.Sprint(ds.CountsOf(i))
		if rows[key] == nil {
			rows[key] = &row{}
			for _, n := range ds.CountsOf(i) {
				rows[key].counts = append(rows[key].counts, float64(n))
			}
			order = append(order, rows[key])
		}
		rows[key].items++
	}
	const steps, rate, decay1, decay2 = 600, 0.05, 0.9, 0.999
	m, v := make([]float64, len(outputs)), make([]float64, len(outputs))
	grad, one := make([]float64, len(outputs)), make([]float64, len(outputs))
	for t := 1; t <= steps; t++ {
		clear(grad)
		for _, r := range order {
			head.NLL(one, outputs, r.counts)
			for i, g := range one {
				grad[i] += g * r.items / float64(ds.Len())
			}
		}
		// The rate falls to zero along a cosine.
		now := rate * (1 + math.Cos(math.Pi*float64(t)/steps)) / 2
		for i, g := range grad {
			m[i] = decay1*m[i] + (1-decay1)*g
			v[i] = decay2*v[i] + (1-decay2)*g*g
			a, b := m[i]/(1-math.Pow(decay1, float64(t))), v[i]/(1-math.Pow(decay2, float64(t)))
			outputs[i] -= now * a / (math.Sqrt(b) + 1e-8)
			if i >= k {
				outputs[i] = min(max(outputs[i], math.Log(1e-3)), math.Log(1e3))
			}
		}
	}
	weights, alpha := make([]float64, k), make([][]float64, k)
	total := 0.0
	for j := range k {
		weights[j] = math.Exp(outputs[j] - slices.Max(outputs[:k]))
		total += weights[j]
	}
	for j := range k {
		weights[j] /= total
		for _, l := range outputs[k+j*d : k+(j+1)*d] {
			alpha[j] = append(alpha[j], math.Exp(l))
		}
	}
	return mixture.NewDirichlet(weights, alpha)
}
