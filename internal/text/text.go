// Package text learns class probabilities from documents in any script: a
// [Vectorizer] turns a document into a sparse vector of weighted terms, and
// [Fit] finds the ridge logistic regression on such vectors that predicts votes
// best on documents it has not seen.
//
// Terms are words, pairs of neighboring words, and runs of two to four
// characters within words. Single characters count as words in scripts that
// write no spaces between them, and so do emoji. Terms are identified by a hash
// instead of a vocabulary, and terms with the same hash are treated as one.
//
// Results depend only on documents, votes and folds, not on the number of
// cores.
package text

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"credence/internal/par"
)

// Vectorizer turns documents into sparse vectors of F terms. The value of a term
// that occurs n times in a document is
//
//	(1 + ln n) · idf,    idf = 1 + ln((1 + N)/(1 + D)),
//
// where D of N documents had it when the vectorizer was fitted. Then the values of
// words are scaled to length 1 and those of character runs, separately, to length √2.
// It is safe for concurrent use.
type Vectorizer struct {
	buckets []uint32  // [F] of the terms, ascending
	idf     []float32 // [F]
	place   []int32   // [buckets] → 1 + index in buckets and idf, 0 for an unknown term
	memory  sync.Pool // of *scratch
}

// scratch is working memory for one document.
type scratch struct {
	terms  terms
	counts []int32 // [F], zero between documents
	at     []int32 // indices of the document's terms
	values []float32
}

// leastDocuments is the number of documents that must contain a term for it to be
// kept: a term in only one is not informative about others.
const leastDocuments = 2

// newVectorizer learns the terms of documents. It keeps at most most terms,
// those that occur in the most documents.
func newVectorizer(docs []string, most int) *Vectorizer {
	n := len(docs)
	type worker struct {
		documents, seen []int32
		t               terms
	}
	workers := make([]*worker, par.Threads())
	par.ForWorker(n, func(w, i int) {
		if workers[w] == nil {
			workers[w] = &worker{documents: make([]int32, buckets), seen: make([]int32, buckets)}
		}
		me, stamp := workers[w], int32(i+1)
		me.t.emit = func(b uint32) {
			if me.seen[b] != stamp {
				me.seen[b] = stamp
				me.documents[b]++
			}
		}
		me.t.document(docs[i])
	})
	documents := make([]int32, buckets)
	for _, me := range workers {
		if me != nil {
			for b, k := range me.documents {
				documents[b] += k
			}
		}
	}
	least := leastOf(documents, min(leastDocuments, n), most)
	v := &Vectorizer{}
	for b, k := range documents {
		if int(k) >= least {
			v.buckets = append(v.buckets, uint32(b))
			v.idf = append(v.idf, float32(1+math.Log(float64(1+n)/float64(1+k))))
		}
	}
	v.index()
	return v
}

// leastOf returns the smallest number of documents, at least least and 1, such that
// at most most terms occur in that many.
func leastOf(documents []int32, least, most int) int {
	counts := map[int]int{}
	for _, k := range documents {
		counts[int(k)]++
	}
	terms := 0
	for _, k := range slices.Backward(slices.Sorted(maps.Keys(counts))) {
		if terms += counts[k]; k >= least && terms > most {
			return k + 1
		}
	}
	return max(1, least)
}

// index builds the lookup table of buckets, and prepares the working memory.
func (v *Vectorizer) index() {
	v.place = make([]int32, buckets)
	for i, b := range v.buckets {
		v.place[b] = int32(i + 1)
	}
	v.memory.New = func() any {
		s := &scratch{counts: make([]int32, len(v.buckets))}
		s.terms.emit = func(b uint32) {
			p := v.place[b] - 1
			if p < 0 {
				return
			}
			if s.counts[p] == 0 {
				s.at = append(s.at, p)
			}
			s.counts[p]++
		}
		return s
	}
}

// vector calls use with the indices, ascending, and the values of a document's
// terms. The slices are only valid during the call.
func (v *Vectorizer) vector(doc string, use func(at []int32, values []float32)) {
	s := v.memory.Get().(*scratch)
	defer v.memory.Put(s)
	s.at, s.values = s.at[:0], s.values[:0]
	s.terms.document(doc)
	slices.Sort(s.at)
	var squares [2]float64
	for _, p := range s.at {
		x := (1 + math.Log(float64(s.counts[p]))) * float64(v.idf[p])
		s.counts[p] = 0
		s.values = append(s.values, float32(x))
		squares[v.buckets[p]>>blockBits] += x * x
	}
	squares[1] /= 2
	for i, p := range s.at {
		s.values[i] = float32(float64(s.values[i]) / math.Sqrt(squares[v.buckets[p]>>blockBits]))
	}
	use(s.at, s.values)
}

// Model computes class logits of documents. It is safe for concurrent
// use.
type Model struct {
	*Vectorizer
	weights []float32 // [F × c]
	bias    []float64 // [c]
}

// Outputs returns the number c of logits: one for two classes, else one per
// class.
func (m *Model) Outputs() int { return len(m.bias) }

// Logits sets z, of length Outputs, to the logits of a document.
func (m *Model) Logits(z []float64, doc string) {
	copy(z, m.bias)
	c := len(m.bias)
	m.vector(doc, func(at []int32, values []float32) {
		for j, p := range at {
			x := float64(values[j])
			for k, w := range m.weights[int(p)*c : int(p)*c+c] {
				z[k] += x * float64(w)
			}
		}
	})
}

// KnowsWords reports whether a document has a known word or pair of words, or no words
// at all. It only inspects the first few pages.
func (m *Model) KnowsWords(doc string) bool {
	const pages = 1 << 14
	words, known := 0, false
	t := terms{emit: func(b uint32) {
		if b < blockSize {
			words++
			known = known || m.place[b] > 0
		}
	}}
	t.document(doc[:min(len(doc), pages)])
	return known || words == 0
}

// Terms returns the number F of terms.
func (m *Model) Terms() int { return len(m.buckets) }

// Bias returns the logits of a document without terms.
func (m *Model) Bias() []float64 { return slices.Clone(m.bias) }

// Arrays returns the hashes of the terms [F], their inverse document frequencies
// [F] and their weights in the regression [F × c].
func (m *Model) Arrays() (terms, idf, weights []float32) {
	terms = make([]float32, len(m.buckets))
	for i, b := range m.buckets {
		terms[i] = float32(b)
	}
	return terms, m.idf, m.weights
}

// New returns the model with the given results of [Model.Arrays] and [Model.Bias].
// It returns an error for values that no fit produces.
func New(terms, idf, weights []float32, bias []float64) (*Model, error) {
	m := &Model{Vectorizer: &Vectorizer{idf: idf}, weights: weights, bias: bias}
	if len(weights) != len(terms)*len(bias) || len(bias) == 0 {
		return nil, fmt.Errorf("%d weights for %d terms and %d logits", len(weights), len(terms), len(bias))
	}
	for _, b := range bias {
		if math.IsNaN(b) || math.IsInf(b, 0) {
			return nil, fmt.Errorf("a bias of %v", b)
		}
	}
	for i, w := range weights {
		if !(math.Abs(float64(w)) <= math.MaxFloat32) {
			return nil, fmt.Errorf("weight %d is %v", i, w)
		}
	}
	if len(idf) != len(terms) {
		return nil, fmt.Errorf("%d terms with %d weights", len(terms), len(idf))
	}
	for i, x := range terms {
		if !(x >= 0 && x < buckets) || x != float32(uint32(x)) || i > 0 && x <= terms[i-1] {
			return nil, fmt.Errorf("term %d: expected ascending whole numbers below %d as hashes, found %v", i, buckets, x)
		}
		if !(idf[i] >= 1 && idf[i] < 100) {
			return nil, fmt.Errorf("term %d: expected a weight from 1 to 100, found %v", i, idf[i])
		}
		m.buckets = append(m.buckets, uint32(x))
	}
	m.index()
	return m, nil
}
