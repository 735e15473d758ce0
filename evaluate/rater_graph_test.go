package evaluate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"credence/dataset"
	"credence/internal/rng"
	"credence/internal/testsize"
	"credence/mixture"
)

// ratedBy returns a data set of single votes, each "rater item class".
func ratedBy(classes []string, ratings ...string) *dataset.Dataset {
	ds := &dataset.Dataset{Classes: classes}
	number := func(list *[]string, name string) int {
		k := slices.Index(*list, name)
		if k < 0 {
			k = len(*list)
			*list = append(*list, name)
		}
		return k
	}
	for _, text := range ratings {
		f := strings.Fields(text)
		j := number(&ds.Items, f[1])
		ds.Counts = append(ds.Counts, make([]float32, len(ds.Items)*len(classes)-len(ds.Counts))...)
		c := slices.Index(classes, f[2])
		ds.Counts[j*len(classes)+c]++
		ds.Ratings = append(ds.Ratings, dataset.Rating{Item: int32(j), Rater: int32(number(&ds.Raters, f[0])), Class: int32(c)})
	}
	return ds
}

func TestRaterGraphCamps(t *testing.T) {
	// ann and bob share x, bob and cy share y; dee and eve share z; fay is alone.
	ds := ratedBy([]string{"no", "yes"}, "fay w no", "ann x no", "bob x yes", "bob y no", "cy y yes", "dee z no", "eve z yes", "dee u yes")
	g, err := checkedRaters(ds)
	if err != nil {
		t.Fatal(err)
	}
	want := []RaterGroup{{3, []string{"ann", "bob", "cy"}, 2, 4, false}, {2, []string{"dee", "eve"}, 2, 3, false}, {1, []string{"fay"}, 1, 1, false}}
	if g.Components != 3 || fmt.Sprint(g.Groups) != fmt.Sprint(want) {
		t.Errorf("%d groups %v, want %v", g.Components, g.Groups, want)
	}
	if g.Raters != 6 || g.Votes != 8 || g.LeastVotes != 1 || g.MostVotes != 2 || g.MedianVotes != 1 || g.MeanVotes != 8./6 {
		t.Errorf("numbers of votes: %+v", g)
	}
	wanted := []string{"raters cast 1.3 votes on average: at least 30 are required",
		"raters fall into 3 groups without a common item, such as {ann, bob, cy} and {dee, eve}: votes cannot show whether their raters or their items differ"}
	if g.Separable || fmt.Sprint(g.Reasons) != fmt.Sprint(wanted) {
		t.Errorf("apart %v: %q, want %q", g.Separable, g.Reasons, wanted)
	}
}

// If raters cannot be modelled there is a reason; nothing panics.
func TestRaterGraphReasons(t *testing.T) {
	var one, pair []string
	for j := range 40 {
		one = append(one, fmt.Sprintf("ann %d %s", j, []string{"no", "yes"}[j%2]))
		pair = append(pair, one[j], fmt.Sprintf("bob %d no", j))
	}
	classes := []string{"no", "yes"}
	unnamed := ratedBy(classes, pair...)
	unnamed.Ratings = unnamed.Ratings[:len(unnamed.Ratings)-3]
	nobody := ratedBy(classes, pair...)
	nobody.Ratings, nobody.Raters = nil, nil
	three := ratedBy([]string{"no", "yes", "never"}, pair...)
	for name, c := range map[string]struct {
		ds    *dataset.Dataset
		apart bool
		want  string
	}{
		"nobody":  {nobody, false, "votes have no rater names"},
		"one":     {ratedBy(classes, one...), false, "there is only one rater, and no other to compare with"},
		"unnamed": {unnamed, false, "3 of 80 votes have no rater name"},
		"same":    {ratedBy(classes, pair...), true, "1 rater with the same vote on every item, unlikely by chance: bob"},
		"three":   {three, true, "with more than two classes, raters are modelled by their guess rates only; biases require two classes"},
		"empty":   {&dataset.Dataset{Classes: classes}, false, "votes have no rater names"},
	} {
		g, err := checkedRaters(c.ds)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if g.Separable != c.apart || len(g.Reasons) == 0 || g.Reasons[0].String() != c.want {
			t.Errorf("%s: apart %v, %q, want %v, %q", name, g.Separable, g.Reasons, c.apart, c.want)
		}
	}
	g, err := checkedRaters(ratedBy(classes, pair...))
	if err != nil {
		t.Fatal(err)
	}
	if len(g.Constant) != 1 || g.Constant[0].Name != "bob" || g.Constant[0].Class != "no" || g.Constant[0].Chance != 1./(1<<20) {
		t.Errorf("raters who say the same: %+v", g.Constant)
	}
	bad := ratedBy(classes, pair...)
	bad.Ratings[0].Rater = 7
	if _, err := checkedRaters(bad); err == nil {
		t.Error("a rating by nobody: no error")
	}
}

// The expected standard error of a bias is that of its maximum-likelihood estimate over 150
// sets of votes of equal raters (30 under -short): within 4.5 standard errors of a sample's standard deviation
// (false-alarm rate 1e-5), with as many observations as there are free biases.
func TestRaterGraphLeanSE(t *testing.T) {
	const n = 200
	sets := testsize.Choose(30, 150, 150)
	alpha := []float64{1.2, 1.8}
	dist, err := mixture.NewDirichlet([]float64{1}, [][]float64{alpha})
	if err != nil {
		t.Fatal(err)
	}
	by := &designer{alpha: alpha, left: leftSpread{dist, sum(dist.Variance(nil))}}
	for _, c := range []struct{ raters, m int }{{3, 3}, {3, 2}, {8, 3}} {
		square, expected := 0.0, 0.0
		for set := range uint64(sets) {
			r := rand.New(rng.New(set, "evaluate.lean"))
			ds := &dataset.Dataset{Classes: []string{"0", "1"}, Counts: make([]float32, 2*n), Raters: make([]string, c.raters)}
			for j := range n {
				ds.Items = append(ds.Items, strconv.Itoa(j))
				p := dist.Sample(nil, r)
				for _, rater := range r.Perm(c.raters)[:c.m] {
					class := 0
					if r.Float64() < p[1] {
						class = 1
					}
					ds.Counts[2*j+class]++
					ds.Ratings = append(ds.Ratings, dataset.Rating{Item: int32(j), Rater: int32(rater), Class: int32(class)})
				}
			}
			g := newRaterGraph(ds, NewVotes(ds), by)
			expected += float64(g.BiasSE*g.BiasSE) / float64(sets)
			for _, b := range fitBiases(ds, dist.Marginal(1)) {
				square += b * b / float64(sets*c.raters)
			}
			if g.BiasSEMost < g.BiasSE {
				t.Fatalf("largest standard error %v, that of the mean rater %v", g.BiasSEMost, g.BiasSE)
			}
		}
		if got := math.Sqrt(square / expected); math.Abs(got-1) > 4.5/math.Sqrt(float64(2*sets*(c.raters-1))) {
			t.Errorf("%d raters, %d votes per item: the error of biases is %.3f of that expected, %.3f", c.raters, c.m, got, math.Sqrt(expected))
		}
	}
}

// fitBiases maximizes the likelihood of biases that sum to zero by Fisher scoring, integrating
// over the distribution of p at its quantiles.
func fitBiases(ds *dataset.Dataset, dist *mixture.Beta) []float64 {
	const nodes = 30
	z := make([]float64, nodes)
	for k := range z {
		p := dist.Quantile((float64(k) + .5) / nodes)
		z[k] = math.Log(p / (1 - p))
	}
	m := len(ds.Ratings) / ds.Len()
	b := make([]float64, len(ds.Raters))
	for range 8 {
		score, info := make([]float64, len(b)), make([]float64, len(b))
		for ballots := range slices.Chunk(ds.Ratings, m) {
			total := 0.0
			residual := make([]float64, m)
			for _, at := range z {
				like := 1.0
				p := make([]float64, m)
				for i, x := range ballots {
					p[i] = 1 / (1 + math.Exp(-at-b[x.Rater]))
					like *= math.Abs(float64(1-x.Class) - p[i])
				}
				total += like
				for i, x := range ballots {
					residual[i] += like * (float64(x.Class) - p[i])
				}
			}
			for i, x := range ballots {
				u := residual[i] / total
				score[x.Rater] += u
				info[x.Rater] += u * u
			}
		}
		mean := 0.0
		for r := range b {
			b[r] += score[r] / info[r]
			mean += b[r] / float64(len(b))
		}
		for r := range b {
			b[r] -= mean
		}
	}
	return b
}

// A million raters with one vote each take negligible time.
func TestRaterGraphMany(t *testing.T) {
	n := testsize.Choose(100_000, 1_000_000, 1_000_000)
	ds := &dataset.Dataset{Classes: []string{"0", "1"}, Items: make([]string, n/2), Counts: make([]float32, n), Raters: make([]string, n)}
	for k := range n {
		ds.Counts[k]++
		ds.Ratings = append(ds.Ratings, dataset.Rating{Item: int32(k / 2), Rater: int32(k), Class: int32(k % 2)})
	}
	g := newRaterGraph(ds, NewVotes(ds), nil)
	if g.Raters != n || g.Components != n/2 || len(g.Groups) != listed || g.Separable || g.Groups[0].Names[0] != "rater 0" {
		t.Errorf("%d raters in %d groups, %v", g.Raters, g.Components, g.Groups)
	}
}

// Names that differ only in case are reported: they are likely to be one rater.
func TestRaterGraphAlike(t *testing.T) {
	g, err := checkedRaters(ratedBy([]string{"no", "yes"}, "Ann x no", "bob x yes", "ann y no", "bob y yes"))
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprint(g.Reasons); !strings.Contains(text, `"Ann" (1 vote) and "ann" (1 vote)`) || strings.Contains(text, "bob\"") {
		t.Errorf("reasons %q", g.Reasons)
	}
}

// A group that shares no item with the others is modelled if it has two raters or more with 30 votes on
// average; others are listed by name, and no rater is modelled if they cast most of the votes.
func TestRaterGraphGroups(t *testing.T) {
	group := func(item string, n int, raters ...string) (list []string) {
		for j := range n {
			for r, name := range raters {
				list = append(list, fmt.Sprintf("%s %s%d %s", name, item, j, []string{"no", "yes"}[(j+r)%2]))
			}
		}
		return list
	}
	main := group("x", 40, "ann", "bob", "cy")
	for name, c := range map[string]struct {
		ratings []string
		group   []int // of raters in the order in which they first appear
		left    string
		apart   bool
		reason  string
	}{
		"connected":  {main, []int{0, 0, 0}, "", true, ""},
		"stray name": {slices.Concat(main, group("y", 2, "Ann"), group("z", 1, "gil")), []int{0, 0, 0, -1, -1}, `"Ann" (2 votes), "gil" (1 vote)`, true, "3 votes by 2 raters treated as cast by an average rater"},
		"new rater":  {slices.Concat(group("y", 1, "gil"), main), []int{-1, 0, 0, 0}, `"gil" (1 vote)`, true, "1 vote by 1 rater treated as cast by an average rater"},
		"two groups": {slices.Concat(main, group("y", 30, "dee", "eve")), []int{0, 0, 0, 1, 1}, "", true, "raters fall into 2 groups without a common item, such as {ann, bob, cy} and {dee, eve}"},
		"small pair": {slices.Concat(main, group("y", 29, "dee", "eve")), []int{0, 0, 0, -1, -1}, `"dee" (29 votes), "eve" (29 votes)`, true, "58 votes by 2 raters"},
		"a lone one": {slices.Concat(main, group("y", 100, "dee")), []int{0, 0, 0, -1}, `"dee" (100 votes)`, true, "100 votes by 1 rater"},
		"a minority": {slices.Concat(main, group("y", 121, "dee")), []int{0, 0, 0, 0}, "", false, "raters fall into 2 groups"},
		"lone ones":  {slices.Concat(group("x", 40, "ann"), group("y", 40, "bob")), []int{0, 0}, "", false, "raters fall into 2 groups"},
	} {
		ds := ratedBy([]string{"no", "yes"}, c.ratings...)
		g, err := checkedRaters(ds)
		if err != nil {
			t.Fatal(err)
		}
		var group []int
		for r := range ds.Raters {
			group = append(group, g.Group(r))
		}
		left := ""
		if g.Left != nil {
			left = g.Left.Names()
		}
		if !slices.Equal(group, c.group) || left != c.left || g.Separable != c.apart || !strings.Contains(fmt.Sprint(g.Reasons), c.reason) {
			t.Errorf("%s: groups %v, left %s, apart %v, %q", name, group, left, g.Separable, g.Reasons)
		}
	}
}

// checkedRaters returns the graph of the raters of ds.
func checkedRaters(ds *dataset.Dataset) (*RaterGraph, error) {
	r, err := Check(ds, CheckOptions{})
	if err != nil {
		return nil, err
	}
	return r.RaterGraph, nil
}
