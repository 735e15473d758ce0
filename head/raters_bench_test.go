package head

import (
	"fmt"
	"math/rand/v2"
	"testing"
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
