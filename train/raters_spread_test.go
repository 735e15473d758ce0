package train

import (
	"math"
	"testing"

	"credence/head"
	"credence/mixture"
)

// TestPairsOf: the products of residuals against a sum over all pairs of votes.
func TestPairsOf(t *testing.T) {
	dist, err := mixture.NewDirichlet([]float64{0.3, 0.7}, [][]float64{{1, 2, 3}, {4, 1, 1}})
	if err != nil {
		t.Fatal(err)
	}
	a := head.NewDecoded(dist)
	votes := []int{0, 2, 2, 1, 0}
	counts := make([]float32, 3)
	for _, v := range votes {
		counts[v]++
	}
	for i, got := range pairsOf(counts, &a) {
		want := 0.0
		for u, x := range votes {
			for v, y := range votes {
				if u != v {
					e := func(class int) float64 {
						if class == i {
							return 1 - a.Mean[i]
						}
						return -a.Mean[i]
					}
					want += e(x) * e(y) / 20
				}
			}
		}
		if !(math.Abs(got-want) <= 1e-12) {
			t.Errorf("class %d: %v, want %v", i, got, want)
		}
	}
}

// TestSpreadRatio: the standard error that follows from the influence function against the jackknife.
func TestSpreadRatio(t *testing.T) {
	s := spreadSums{}
	for k := range 200 {
		x := float64(k*7%31) / 31
		s.claimed, s.shown = append(s.claimed, 0.1+x), append(s.shown, (0.1+x)*(0.5+float64(k%5)/4))
	}
	ratio, influence := s.ratio()
	square, jackknife := 0.0, 0.0
	for k, e := range influence {
		square += e * e
		without := spreadSums{append(append([]float64{}, s.shown[:k]...), s.shown[k+1:]...), append(append([]float64{}, s.claimed[:k]...), s.claimed[k+1:]...)}
		r, _ := without.ratio()
		jackknife += (r - ratio) * (r - ratio)
	}
	if !(math.Abs(math.Sqrt(square/jackknife)-1) <= 0.02) {
		t.Errorf("standard error %v, by the jackknife %v", math.Sqrt(square), math.Sqrt(jackknife))
	}
}
