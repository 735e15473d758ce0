package head

import "math"

// items returns the outputs for items lo … hi−1 of n, each with the given number of raw outputs.
func (o *Output) items(lo, hi, n, width int) Output {
	out := Output{Own: o.Own, Share: o.Share}
	if o.Share < 1 {
		out.Raw = o.Raw[lo*width : hi*width]
	}
	if o.Trees != nil {
		d := len(o.Trees) / n
		out.Trees = o.Trees[lo*d : hi*d]
	}
	return out
}

// components returns the number of components of an output whose network has k.
func (o *Output) components(k int) int {
	if o.Share == 1 {
		k = 0
	}
	if o.Trees != nil {
		k++
	}
	return k
}

// component sets alpha [d] to the component of the trees for item j and returns its weight among members.
func (o *Output) component(alpha []float64, j, members int) (weight float64) {
	for i, v := range o.Trees[j*len(alpha) : (j+1)*len(alpha)] {
		alpha[i] = math.Exp(float64(v))
	}
	return o.Share / float64(members)
}

// addMeans adds the means of the trees' component to means [N, d], by its weight among members.
func (o *Output) addMeans(means []float64, d, members int) {
	alpha := make([]float64, d)
	for j := range len(o.Trees) / d {
		weight, sum := o.component(alpha, j, members), 0.0
		for _, a := range alpha {
			sum += a
		}
		for i, a := range alpha {
			means[j*d+i] += weight * a / sum
		}
	}
}
