package text

import (
	"context"
	"slices"

	"credence/internal/kernel"
	"credence/internal/logistic"
)

// FitTogether fits one regression to several columns of documents, each with its own terms: the logits of an item
// are the sum of what its documents contribute. It returns a model of each column, the first with the bias, and for
// each column the held-out contributions next to the sums of Held. columns is [q][n]; the Documents of d are not used.
func FitTogether(ctx context.Context, columns [][]string, d Data) ([]*Model, [][]float64, *Held, error) {
	vs := make([]*Vectorizer, len(columns))
	whole, entries := make([]sparse, len(columns)), 0
	terms := make([]int, len(columns)+1) // offsets of the columns' terms
	for q, docs := range columns {
		vs[q] = newVectorizer(docs, d.Terms)
		whole[q] = rowsOf(vs[q], docs)
		entries += len(whole[q].at)
		terms[q+1] = terms[q] + len(vs[q].buckets)
	}
	if entries > d.Entries { // too many to solve for in memory: the columns are fitted apart
		return nil, nil, nil, nil
	}
	rows := concatenate(whole, terms)
	p := newPath(&matrix{rows: rows, columns: rows.transposed(terms[len(columns)])}, &d)
	held, err := p.follow(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	c := Outputs(d.Classes)
	models, parts := make([]*Model, len(columns)), make([][]float64, len(columns))
	for q := range columns {
		bias := make([]float64, c)
		if q == 0 {
			bias = p.bias
		}
		models[q] = &Model{Vectorizer: vs[q], weights: slices.Clone(p.weights[terms[q]*c : terms[q+1]*c]), bias: bias}
		parts[q] = p.contributions(&whole[q], terms[q]*c, q == 0)
	}
	return models, parts, held, nil
}

// contributions returns what the rows of one column contribute to the held-out logits at the best penalty. The
// column's weights begin at index from of those of all; bias adds the bias.
func (p *path) contributions(rows *sparse, from int, bias bool) []float64 {
	c := Outputs(p.d.Classes)
	z := make([]float64, len(p.d.Folds)*c)
	for i, k := range p.d.Folds {
		theta, to := p.best[k], z[i*c:(i+1)*c]
		at, values := rows.list(i)
		for j, t := range at {
			kernel.Axpy64(float64(values[j]), theta[from+int(t)*c:from+int(t)*c+c], to)
		}
		if bias {
			kernel.Axpy64(1, theta[len(theta)-c:], to)
		}
	}
	return z
}

// concatenate returns rows that consist of the rows of all blocks, whose columns begin at the given offsets.
func concatenate(blocks []sparse, offsets []int) sparse {
	rows := sparse{start: []int{0}}
	for i := range blocks[0].len() {
		for q := range blocks {
			at, values := blocks[q].list(i)
			for _, c := range at {
				rows.at = append(rows.at, c+int32(offsets[q]))
			}
			rows.values = append(rows.values, values...)
		}
		rows.start = append(rows.start, len(rows.at))
	}
	return rows
}

// CombinedLoss returns the held-out cross-entropy of the best combination of the logits of several fits, logits[q] being
// [n × c]: a logistic regression on them, fitted without each fold in turn. The Documents of d are not used.
func CombinedLoss(ctx context.Context, logits [][]float64, d Data) float64 {
	c := Outputs(d.Classes)
	p := &path{d: &d}
	for _, k := range d.Folds {
		p.folds = max(p.folds, k+1)
	}
	x := &logistic.Dense{Columns: len(logits) * c}
	for i := range d.Folds {
		for _, z := range logits {
			x.Values = append(x.Values, z[i*c:(i+1)*c]...)
		}
	}
	for k := range p.folds {
		problem := p.problem(k, 1)
		problem.X = x
		s := problem.Start()
		problem.Solve(ctx, s)
		p.at = append(p.at, s)
	}
	return p.loss()
}
