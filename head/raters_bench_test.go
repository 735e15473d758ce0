package head

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"credence/mixture"
)

// BenchmarkRaters times the loss of 64 items with 3 votes, without raters and with.
func BenchmarkRaters(b *testing.B) {
	for _, k := range []int{3, 10} {
		for _, classes := range []int{2, 8} {
			r := rand.New(rand.NewPCG(1, 2))
			h := ratedHead(b, k, classes, 30, r)
			out, batch := ratedBatch(h, 64, 0, r)
			for j := range 64 {
				for range 3 {
					c := r.IntN(classes)
					batch.Ratings = append(batch.Ratings, Rating{int32(j), int32(r.IntN(30)), int32(c)})
					batch.Counts.Values[j*classes+c]++
				}
			}
			for i := range out {
				out[i] = float32(r.NormFloat64())
				if i%(k*(classes+1)) >= k {
					out[i] += 1.4
				}
			}
			grad := make([]float32, len(out))
			for _, head := range []Head{h.mixtureHead, h} {
				name := map[bool]string{true: "with", false: "without"}[head == Head(h)]
				b.Run(fmt.Sprint("k=", k, "/d=", classes, "/", name), func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						head.Loss(grad, out, batch, Step{})
					}
				})
			}
		}
	}
}

// BenchmarkRatersOrdered times the loss of 64 items of ordered classes with 3 votes.
func BenchmarkRatersOrdered(b *testing.B) {
	for _, classes := range []int{5, 11} {
		h, out, batch := orderedBatch(b, classes)
		grad := make([]float32, len(out))
		b.Run(fmt.Sprint("d=", classes), func(b *testing.B) {
			for b.Loop() {
				h.Loss(grad, out, batch, Step{})
			}
		})
	}
}

// orderedBatch returns a head of ordered classes with 30 raters, outputs of 64 items with 10 components, and 3 votes on each.
func orderedBatch(b testing.TB, classes int) (*raterHead, []float32, Batch) {
	r := rand.New(rand.NewPCG(1, 2))
	var dists []*mixture.Dirichlet
	for range 64 {
		alpha := make([][]float64, 10)
		for k := range alpha {
			alpha[k] = make([]float64, classes)
			for i := range alpha[k] {
				alpha[k][i] = math.Exp(r.NormFloat64())
			}
		}
		dist, err := mixture.NewDirichlet(slices.Repeat([]float64{0.1}, 10), alpha)
		if err != nil {
			b.Fatal(err)
		}
		dists = append(dists, dist)
	}
	h, own, out, err := raterWork(Task{Classes: classes, Raters: 30, Ordered: true}, dists)
	if err != nil {
		b.Fatal(err)
	}
	for k := range 30 {
		own[0][k], own[4][k], own[5][k] = -3, float32(r.NormFloat64()), float32(0.3*r.NormFloat64())
	}
	_, batch := ratedBatch(h, 64, 0, r)
	for j := range 64 {
		for range 3 {
			c := r.IntN(classes)
			batch.Ratings = append(batch.Ratings, Rating{int32(j), int32(r.IntN(30)), int32(c)})
			batch.Counts.Values[j*classes+c]++
		}
	}
	return h, out, batch
}
