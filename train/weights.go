package train

import (
	"fmt"

	"credence/dataset"
	"credence/head"
)

// itemWeights returns how much each item counts, with mean 1 over the given
// items, or nil if all count alike.
func itemWeights(ds *dataset.Dataset, o *Options, items []int) ([]float64, error) {
	if o.ClassWeights == nil && o.ItemWeights == nil {
		return nil, nil
	}
	if o.ClassWeights != nil && len(o.ClassWeights) != len(ds.Classes) {
		return nil, fmt.Errorf("%d class weights for %d classes %q", len(o.ClassWeights), len(ds.Classes), ds.Classes)
	}
	if o.ItemWeights != nil && len(o.ItemWeights) != ds.Len() {
		return nil, fmt.Errorf("%d item weights for %d items", len(o.ItemWeights), ds.Len())
	}
	w := make([]float64, ds.Len())
	sum := 0.0
	for _, j := range items {
		w[j] = 1
		if o.ItemWeights != nil {
			w[j] = o.ItemWeights[j]
		}
		if o.ClassWeights != nil {
			mean := 0.0
			for i, s := range ds.CountsOf(j) {
				mean += float64(s) * o.ClassWeights[i]
			}
			w[j] *= mean / ds.VotesOf(j)
		}
		if !(w[j] >= 0 && w[j] < 1e9) {
			return nil, fmt.Errorf("item %q has weight %v, want between 0 and 1e9", ds.Items[j], w[j])
		}
		sum += w[j]
	}
	if sum == 0 {
		return nil, fmt.Errorf("all items have weight 0")
	}
	for _, j := range items {
		w[j] *= float64(len(items)) / sum
	}
	return w, nil
}

// weigh gives a batch the weights of its items, if items have weights.
func (r *run) weigh(b *head.Batch, items []int) {
	if r.weights == nil {
		return
	}
	r.scratch = r.scratch[:0]
	for _, j := range items {
		r.scratch = append(r.scratch, r.weights[j])
	}
	b.Weights = r.scratch
}
