package text

import (
	"slices"

	"credence/internal/par"
)

// matrix is a sparse matrix [n × f], by rows and again by columns: products with
// it and with its transpose are both sums that one goroutine takes in order.
type matrix struct {
	rows, columns sparse
}

// sparse are lists of places with values, one after the other: list i is
// at[start[i]:start[i+1]].
type sparse struct {
	start  []int
	at     []int32
	values []float32
}

func (s *sparse) len() int { return len(s.start) - 1 }

func (s *sparse) list(i int) (at []int32, values []float32) {
	from, to := s.start[i], s.start[i+1]
	return s.at[from:to], s.values[from:to]
}

// Size returns n and f.
func (x *matrix) Size() (documents, terms int) { return x.rows.len(), x.columns.len() }

// Multiply sets z [n × c] to the product with weights w [f × c].
func (x *matrix) Multiply(z, w []float64, c int) { x.rows.multiply(z, w, c) }

// MultiplyTransposed sets w [f × c] to the product of the transpose with r [n × c].
func (x *matrix) MultiplyTransposed(w, r []float64, c int) { x.columns.multiply(w, r, c) }

// newMatrix returns the vectors of documents.
func newMatrix(v *Vectorizer, docs []string) *matrix {
	n := len(docs)
	const piece = 64
	pieces := make([]sparse, (n+piece-1)/piece)
	par.For(len(pieces), func(k int) {
		p := &pieces[k]
		p.start = []int{0}
		for i := k * piece; i < min(n, (k+1)*piece); i++ {
			v.vector(docs[i], func(at []int32, values []float32) {
				p.at, p.values = append(p.at, at...), append(p.values, values...)
				p.start = append(p.start, len(p.at))
			})
		}
	})
	total := 0
	for k := range pieces {
		total += len(pieces[k].at)
	}
	rows := sparse{start: make([]int, 1, n+1), at: make([]int32, 0, total), values: make([]float32, 0, total)}
	for k := range pieces {
		p := &pieces[k]
		base := len(rows.at)
		for _, end := range p.start[1:] {
			rows.start = append(rows.start, base+end)
		}
		rows.at, rows.values = append(rows.at, p.at...), append(rows.values, p.values...)
		*p = sparse{}
	}
	return &matrix{rows: rows, columns: rows.transposed(len(v.buckets))}
}

// transposed returns the lists of columns, of which there are f.
func (s *sparse) transposed(f int) sparse {
	t := sparse{start: make([]int, f+1), at: make([]int32, len(s.at)), values: make([]float32, len(s.at))}
	for _, c := range s.at {
		t.start[c+1]++
	}
	for c := range f {
		t.start[c+1] += t.start[c]
	}
	next := slices.Clone(t.start)
	for i := range s.len() {
		at, values := s.list(i)
		for k, c := range at {
			t.at[next[c]], t.values[next[c]] = int32(i), values[k]
			next[c]++
		}
	}
	return t
}

// multiply sets out [n × c] to the product of s [n × f] and x [f × c].
func (s *sparse) multiply(out, x []float64, c int) {
	par.Chunks(s.len(), 256, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			at, values := s.list(i)
			sum := out[i*c : (i+1)*c]
			if c == 1 {
				var z float64
				for j, p := range at {
					z += float64(values[j]) * x[p]
				}
				sum[0] = z
				continue
			}
			clear(sum)
			for j, p := range at {
				v := float64(values[j])
				for q, y := range x[int(p)*c : int(p)*c+c] {
					sum[q] += v * y
				}
			}
		}
	})
}
