package evaluate

import (
	"context"
	"fmt"
	"math"
	"testing"

	"credence/dataset"
	"credence/internal/rng"
)

// scipy.stats.ttest_1samp(x, 0.2, alternative="less").pvalue for x of 0, ±1 with the given mean and sum of squares.
func TestLowerT(t *testing.T) {
	for _, c := range []struct{ mean, squares, n, bound, want float64 }{
		{0, 2, 4, 0.2, 0.3288975500876904},      // -1, 1, 0, 0
		{-0.5, 3, 6, 0.2, 0.012971468022756356}, // three of −1, three of 0
		{0.2, 10, 50, 0.2, 0.5},                 // at the bound
		{1, 5, 5, 0.2, 1}, {-1, 5, 5, 0, 0},     // without variance
	} {
		if got := lowerT(c.mean, c.squares, c.n, c.bound); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("lowerT(%v, %v, %v, %v) = %v, want %v", c.mean, c.squares, c.n, c.bound, got, c.want)
		}
	}
}

// judgeVotes returns votes of three people and a judge on n items that repeat a pattern.
func judgeVotes(n int, pattern [][4]int32) *JudgeVotes {
	v := &JudgeVotes{Labels: []string{"1", "2", "3"}, Judges: []string{"j"}, People: []string{"a", "b", "c"}}
	for i := range n {
		p := pattern[i%len(pattern)]
		v.Judged = append(v.Judged, p[3])
		var list []JudgedBy
		for h := range 3 {
			if p[h] >= 0 {
				list = append(list, JudgedBy{int32(h), p[h]})
			}
		}
		v.Voted = append(v.Voted, list)
	}
	return v
}

func TestAltTest(t *testing.T) {
	// The judge equals everybody: ties count for it, and it wins against all.
	same := judgeVotes(40, [][4]int32{{0, 0, 0, 0}, {1, 1, 1, 1}})
	r, err := same.AltTest(0, nil, AltTestOptions{})
	if err != nil || r.WinningRate != 1 || r.Advantage != 1 || len(r.People) != 3 || !r.Passed() {
		t.Errorf("equal votes: %+v, %v", r, err)
	}
	// It is never right where people agree: it loses.
	wrong := judgeVotes(40, [][4]int32{{0, 0, 0, 2}})
	if r, err = wrong.AltTest(0, nil, AltTestOptions{}); err != nil || r.WinningRate != 0 || r.Advantage != 0 {
		t.Errorf("wrong votes: %+v, %v", r, err)
	}
	// By distance, near misses are better than far ones.
	near := judgeVotes(40, [][4]int32{{0, 2, 0, 1}})
	if r, err = near.AltTest(0, []float64{1, 2, 3}, AltTestOptions{}); err != nil || r.People[1].Advantage != 1 || r.People[0].Advantage != 1 {
		t.Errorf("near misses: %+v, %v", r, err)
	}
	// Items without the judge, or with one person, do not count; people with too few items do not take part.
	gaps := judgeVotes(120, [][4]int32{{0, 0, -1, 0}, {0, 0, -1, -1}, {0, -1, -1, 0}, {-1, -1, 0, 0}})
	if r, err = gaps.AltTest(0, nil, AltTestOptions{}); err != nil || len(r.People) != 2 || r.People[0].Items != 30 || r.People[1].Items != 30 {
		t.Errorf("gaps: %+v, %v", r, err)
	}
	if r, err = gaps.AltTest(0, nil, AltTestOptions{Items: 31}); err != nil || r.Unknown == "" || r.WinningRate.Known() || r.Passed() {
		t.Errorf("too few items: %+v, %v", r, err)
	}
	if _, err = same.AltTest(0, nil, AltTestOptions{Score: ScoreRMSE}); err == nil {
		t.Error("no error for distances of labels that are no numbers")
	}
	if _, err = same.AltTest(0, nil, AltTestOptions{Score: "best"}); err == nil {
		t.Error("no error for an unknown score")
	}
}

// withJudge simulates items with probability p ~ Beta(a, b), votes of three people, and a judge whose vote is that of one more person: it
// is worth one vote.
func withJudge(items int, a, b int, seed uint64) *dataset.Dataset {
	s := rng.New(seed, "evaluate.withJudge")
	gamma := func(k int) float64 {
		x := 0.0
		for range k {
			x -= math.Log(1 - s.Float64())
		}
		return x
	}
	ds := &dataset.Dataset{Classes: []string{"no", "yes"}, Raters: []string{"a", "b", "c"}, Counts: make([]float32, 2*items)}
	ds.Features = []dataset.Feature{{Name: "j", Kind: dataset.Categorical, Levels: ds.Classes, Judge: true}}
	m := &dataset.Memory{N: items, W: 1}
	for i := range items {
		x, y := gamma(a), gamma(b)
		p := x / (x + y)
		ds.Items = append(ds.Items, fmt.Sprint(i))
		for r := range 4 {
			class := int32(0)
			if s.Float64() < p {
				class = 1
			}
			if r == 3 {
				m.Values = append(m.Values, float32(class))
				continue
			}
			ds.Ratings = append(ds.Ratings, dataset.Rating{Item: int32(i), Rater: int32(r), Class: class})
			ds.Counts[2*i+int(class)]++
		}
	}
	ds.Rows = m
	return ds
}

// A judge that votes like a person is worth one vote, and the concentration is a + b. With 2,500 items the standard error of the former
// is about 0.1, that of the latter 0.2.
func TestEffectiveVotes(t *testing.T) {
	r, err := Judges(context.Background(), withJudge(2500, 1, 2, 1), JudgeOptions{Bootstrap: Bootstrap{Replicates: 200}})
	if err != nil {
		t.Fatal(err)
	}
	e := r.Judges[0].EffectiveVotes
	if math.Abs(float64(e.Value)-1) > 0.3 || !(e.Lo < 1 && 1 < e.Hi) && math.Abs(float64(e.Value)-1) > 3*float64(e.SE) {
		t.Errorf("a judge like a person is worth %+v votes, want 1", e)
	}
	if math.Abs(float64(r.Concentration)-3) > 0.6 {
		t.Errorf("concentration %v, want 3", r.Concentration)
	}
	if d := float64(r.Judges[0].Agreement.Value - r.People.Value); math.Abs(d) > 0.03 {
		t.Errorf("a judge like a person agrees %v more often", d)
	}
	if r.Judges[0].AltTest.WinningRate != 1 {
		t.Errorf("ω = %v, want 1", r.Judges[0].AltTest.WinningRate)
	}
	if math.Abs(float64(r.Panel.EffectiveVotes.Value-e.Value)) > 0.15 {
		t.Errorf("a panel of one judge is worth %v votes, the judge %v", r.Panel.EffectiveVotes.Value, e.Value)
	}
}

// Weights undo a selection: half of the items with a yes of the judge are left out, the others weigh twice.
func TestJudgesWeighted(t *testing.T) {
	ds := withJudge(1200, 1, 1, 3)
	var keep []int
	ds.Weights = make([]float64, ds.Len())
	row := make([]float32, 1)
	for i := range ds.Len() {
		if err := ds.Rows.ReadRow(i, row); err != nil {
			t.Fatal(err)
		}
		if ds.Weights[i] = 1; row[0] == 1 {
			ds.Weights[i] = 2
		}
		if row[0] == 0 || i%2 == 0 {
			keep = append(keep, i)
		}
	}
	part := ds.Select(keep)
	weighted, err := Judges(context.Background(), part, JudgeOptions{Bootstrap: Bootstrap{Replicates: 50}})
	if err != nil {
		t.Fatal(err)
	}
	ds.Weights = nil
	all, err := Judges(context.Background(), ds, JudgeOptions{Bootstrap: Bootstrap{Replicates: 50}})
	if err != nil {
		t.Fatal(err)
	}
	if d := float64(weighted.Judges[0].Agreement.Value - all.Judges[0].Agreement.Value); !weighted.Weighted || math.Abs(d) > 0.03 {
		t.Errorf("weighted agreement differs by %v from that of all items", d)
	}
}

func TestJudgesUnknown(t *testing.T) {
	ds := withJudge(50, 1, 1, 1)
	ds.Raters, ds.Ratings = nil, nil
	for i := range ds.Len() { // one vote by people per item
		row := ds.CountsOf(i)
		row[0], row[1] = 1, 0
		if i%2 == 0 {
			row[0], row[1] = 0, 1
		}
	}
	r, err := Judges(context.Background(), ds, JudgeOptions{Bootstrap: Bootstrap{Replicates: 50}})
	if err != nil {
		t.Fatal(err)
	}
	if r.People.Value.Known() || r.Judges[0].EffectiveVotes.Value.Known() || r.Judges[0].AltTest.WinningRate.Known() || len(r.Warnings) != 2 {
		t.Errorf("one vote per item without names: %+v", r)
	}
	clear(ds.Counts)
	if _, err := Judges(context.Background(), ds, JudgeOptions{}); err == nil {
		t.Error("no error without votes of people")
	}
}
