package study

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"credence/dataset"
	"credence/head"
	"credence/internal/rng"
	"credence/internal/testsize"
	"credence/mixture"
)

// simulated draws probabilities from Beta mixtures and M votes with each, and evaluates distributions whose
// variance is scale times theirs. It returns the coverage of the intervals of these distributions, Ĉ and the
// naive share, with the standard error of Ĉ, by level.
func simulated(t *testing.T, scale float64, votes int) (truth, corrected, naive, se [5]float64) {
	t.Helper()
	n := float64(testsize.Choose(3000, 3000, 6000))
	r := rand.New(rng.New(11, "test"))
	var squares [5]float64
	for range int(n) {
		m := 0.15 + 0.7*r.Float64()
		total := 3 + 9*r.Float64()
		dist, err := mixture.NewDirichlet([]float64{0.7, 0.3}, [][]float64{{(1 - m) * total, m * total}, {2, 2}})
		if err != nil {
			t.Fatal(err)
		}
		p := dist.Sample(nil, r)[1]
		s := 0
		for range votes {
			if r.Float64() < p {
				s++
			}
		}
		if dist, err = dist.Rescale(scale); err != nil {
			t.Fatal(err)
		}
		h, err := judgeItem(mixture.Reported{Dist: dist, Resolution: 0.01}, []float64{float64(votes - s), float64(s)}, 1, 0.5)
		if err != nil {
			t.Fatal(err)
		}
		for l := range paperLevels {
			if h.Lo[l] <= p && p <= h.Hi[l] {
				truth[l] += 1. / n
			}
			corrected[l] += h.Corrected[l] / n
			naive[l] += h.Naive[l] / n
			squares[l] += h.Corrected[l] * h.Corrected[l] / n
		}
	}
	for l := range se {
		se[l] = math.Sqrt((squares[l] - corrected[l]*corrected[l]) / n)
	}
	return truth, corrected, naive, se
}

// Where the distributions are right, Ĉ is the coverage within 4.5 standard errors (false alarm below 1e-4 over
// all comparisons), and the naive share is not. Where they are too narrow or too wide, Ĉ lies between
// nominal and the coverage, within a point and a half, and on the same side of nominal as the coverage.
func TestCorrectedCoverage(t *testing.T) {
	for _, votes := range []int{17, 50} {
		truth, corrected, naive, se := simulated(t, 1, votes)
		off := 0.0
		for l := range paperLevels {
			if d := math.Abs(corrected[l] - truth[l]); d > 4.5*se[l] {
				t.Errorf("%d votes, %v: Ĉ %.4f, coverage %.4f, standard error %.4f", votes, paperLevels[l], corrected[l], truth[l], se[l])
			}
			off = max(off, math.Abs(naive[l]-truth[l]))
		}
		if off < 4.5*se[0] {
			t.Errorf("%d votes: naive shares %.3f, coverage %.3f: there is nothing to correct", votes, naive, truth)
		}
		for _, scale := range []float64{0.4, 1.6} {
			truth, corrected, _, _ := simulated(t, scale, votes)
			for l, level := range paperLevels {
				low, high := min(truth[l], level)-0.015, max(truth[l], level)+0.015
				if corrected[l] < low || corrected[l] > high || (corrected[l] > level) != (truth[l] > level) {
					t.Errorf("%d votes, scale %v, %v: Ĉ %.4f, coverage %.4f", votes, scale, level, corrected[l], truth[l])
				}
			}
		}
	}
}

// How informative votes are, by simulation: of 200,000 pairs of p and S, within five standard errors.
func TestTells(t *testing.T) {
	dist, err := mixture.NewDirichlet([]float64{0.6, 0.4}, [][]float64{{3, 6}, {8, 2}})
	if err != nil {
		t.Fatal(err)
	}
	h, err := judgeItem(mixture.Reported{Dist: dist}, []float64{12, 8}, 1, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	const n = 200_000
	r := rand.New(rng.New(12, "test"))
	var seen, all [2]float64 // by whether p is outside or inside
	for range n {
		p := dist.Sample(nil, r)[1]
		s := 0.0
		for range 20 {
			if r.Float64() < p {
				s++
			}
		}
		k := 0
		if h.Lo[0] <= p && p <= h.Hi[0] {
			k = 1
		}
		all[k]++
		if x := s / 20; h.Lo[0] <= x && x <= h.Hi[0] {
			seen[k]++
		}
	}
	want := seen[1]/all[1] - seen[0]/all[0]
	if se := math.Sqrt(0.25/all[0] + 0.25/all[1]); math.Abs(h.Informativeness[0]-want) > 5*se {
		t.Errorf("informativeness %v, drawn %v ± %v", h.Informativeness[0], want, se)
	}
	if share := all[1] / n; math.Abs(share-0.75) > 5*math.Sqrt(0.75*0.25/n) {
		t.Errorf("the 75%% interval holds %v", share)
	}
}

// Thinning keeps m of the votes, each as likely as another: within 5 standard errors.
func TestThin(t *testing.T) {
	const n = 5000
	var counts []float32
	for range n {
		counts = append(counts, 12, 0, 8)
	}
	got := thin(counts, 3, 5, rand.New(rng.New(13, "test")))
	first := 0.0
	for i := 0; i < len(got); i += 3 {
		if got[i]+got[i+2] != 5 || got[i+1] != 0 {
			t.Fatalf("thinned to %v", got[i:i+3])
		}
		first += float64(got[i])
	}
	se := math.Sqrt(n * 5 * 0.6 * 0.4 * 15 / 19) // hypergeometric
	if math.Abs(first-n*3) > 5*se {
		t.Errorf("%v of %v votes for the first class, want %v ± %v", first, n*5, n*3, se)
	}
	if few := thin([]float32{1, 1}, 2, 5, rand.New(rng.New(13, "test"))); !slices.Equal(few, []float32{1, 1}) {
		t.Errorf("two votes are thinned to %v", few)
	}
}

// Every item is judged once, never trained on in the same split, and panels stay together.
func TestVotesSplits(t *testing.T) {
	v := &Votes{Splits: 5, Seed: 3}
	s := &voteSet{clusters: 12}
	for i := range 60 {
		s.cluster, s.kept = append(s.cluster, i%12), append(s.kept, i)
	}
	seen := map[int]int{}
	for split := range v.Splits {
		learn, test := s.split(v, split)
		if len(learn)+len(test) != 60 {
			t.Errorf("split %d: %d items", split, len(learn)+len(test))
		}
		of := map[int]bool{}
		for _, i := range test {
			seen[i]++
			of[s.cluster[i]] = true
		}
		for _, i := range learn {
			if of[s.cluster[i]] {
				t.Errorf("split %d: panel %d is on both sides", split, s.cluster[i])
			}
		}
	}
	for i := range 60 {
		if seen[i] != 1 {
			t.Errorf("item %d is judged %d times", i, seen[i])
		}
	}
}

// The bootstrap over clusters finds the error of a mean of clusters whose items are equal: sd/√G.
func TestClustered(t *testing.T) {
	r := rand.New(rng.New(14, "test"))
	var rows [][]float64
	var cluster []int
	var values []float64
	for g := range 60 {
		x := r.NormFloat64()
		values = append(values, x)
		for range 10 {
			rows, cluster = append(rows, []float64{x, 2}), append(cluster, g)
		}
	}
	got := clustered(rows, cluster, rng.New(1, "test"))
	want := summarize(values)
	if math.Abs(float64(got[0].Mean-want.Mean)) > 1e-12 || math.Abs(float64(got[0].SE/want.SE)-1) > 0.15 {
		t.Errorf("mean %v ± %v, want %v ± %v", got[0].Mean, got[0].SE, want.Mean, want.SE)
	}
	if got[1].Mean != 2 || got[1].SE > 1e-9 {
		t.Errorf("a constant: %v", got[1])
	}
}

// A distribution fitted to votes without features has the moments that the votes were drawn with, and a better
// likelihood than one Dirichlet distribution.
func TestFeatureless(t *testing.T) {
	dist, err := mixture.NewDirichlet([]float64{0.5, 0.5}, [][]float64{{1, 12}, {12, 2}})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rng.New(15, "test"))
	ds := &dataset.Dataset{Classes: []string{"a", "b"}}
	for i := range 4000 {
		p := dist.Sample(nil, r)[0]
		counts := [2]float32{}
		for range 5 {
			if r.Float64() < p {
				counts[0]++
			} else {
				counts[1]++
			}
		}
		ds.Items, ds.Counts = append(ds.Items, fmt.Sprint(i)), append(ds.Counts, counts[0], counts[1])
	}
	got, err := fitFeatureless(ds)
	if err != nil {
		t.Fatal(err)
	}
	wantMean, wantVar := dist.Marginal(0).Moments()
	gotMean, gotVar := got.Marginal(0).Moments()
	if math.Abs(gotMean-wantMean) > 0.03 || math.Abs(gotVar/wantVar-1) > 0.05 {
		t.Errorf("mean %v and variance %v, want %v and %v", gotMean, gotVar, wantMean, wantVar)
	}
	_, constant := head.ConstantDirichlet(head.Counts{Classes: 2, Values: ds.Counts})
	loss := 0.0
	for i := range ds.Len() {
		c := ds.CountsOf(i)
		l, err := got.LogVotes([]float64{float64(c[0]), float64(c[1])})
		if err != nil {
			t.Fatal(err)
		}
		loss -= l / float64(5*ds.Len())
	}
	if loss > constant {
		t.Errorf("loss %v per vote, one distribution has %v", loss, constant)
	}
}

// The Dirichlet distribution of a bootstrap has the mean and the total variance of its networks.
func TestMatched(t *testing.T) {
	var sum, squares [3]float64
	rows := [][]float64{{0.2, 0.3, 0.5}, {0.3, 0.3, 0.4}, {0.1, 0.45, 0.45}}
	for _, p := range rows {
		for c, x := range p {
			sum[c] += x
			squares[c] += x * x
		}
	}
	dist, err := matched(sum[:], squares[:], 3)
	if err != nil {
		t.Fatal(err)
	}
	want := 0.01 + 0.0075 + 0.0025 // sample variances
	got := 0.0
	for _, v := range dist.Variance(nil) {
		got += v
	}
	if m := dist.Mean(nil); math.Abs(got-want) > 1e-12 || math.Abs(m[0]-0.2) > 1e-12 || math.Abs(m[2]-0.45) > 1e-12 {
		t.Errorf("mean %v, variance %v, want %v", m, got, want)
	}
}
