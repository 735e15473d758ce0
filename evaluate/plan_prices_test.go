package evaluate

import (
	"context"
	"errors"
	"math"
	"testing"

	"credence/mixture"
)

// asPerson returns the outcomes of votes by judges who vote as people do.
func asPerson(t *testing.T, dist *mixture.Dirichlet, judges int) []JudgedOutcome {
	list := []JudgedOutcome{{1, dist}}
	for range judges {
		var next []JudgedOutcome
		for _, o := range list {
			for i, p := range o.Dist.Mean(nil) {
				votes := make([]float64, dist.Classes())
				votes[i] = 1
				after, err := o.Dist.Update(votes)
				if err != nil {
					t.Fatal(err)
				}
				next = append(next, JudgedOutcome{o.Chance * p, after})
			}
		}
		list = next
	}
	return list
}

// TestPlanPriced: a judge who votes as a person does is worth as much as one, exactly, alone and after others; the cheaper one
// is asked first, no judge twice, and the budget is kept.
func TestPlanPriced(t *testing.T) {
	wide, err := mixture.NewDirichlet([]float64{0.4, 0.6}, [][]float64{{1, 2, 0.5}, {4, 1, 1}})
	if err != nil {
		t.Fatal(err)
	}
	narrow, err := mixture.NewDirichlet([]float64{1}, [][]float64{{30, 2, 3}})
	if err != nil {
		t.Fatal(err)
	}
	dists := []*mixture.Dirichlet{narrow, wide, wide}
	o := PriceOptions{Budget: 2.75, Person: 1, Judges: []float64{0.1, 0.2, 0}, Most: 2, MostJudges: 2,
		Has: func(item, judge int) bool { return item == 2 && judge == 0 },
		Outcomes: func(item int, judges []int) ([]JudgedOutcome, error) {
			return asPerson(t, dists[item], len(judges)), nil
		}}
	plan, err := PlanPriced(context.Background(), len(dists), o)
	if err != nil {
		t.Fatal(err)
	}
	spent, gains := 0.0, make([]float64, len(dists))
	votes := make([]int, len(dists))
	seen := map[[2]int]bool{}
	for _, v := range plan {
		if v.Judge != Person && (seen[[2]int{v.Item, v.Judge}] || o.Has(v.Item, v.Judge) || o.Judges[v.Judge] == 0) {
			t.Errorf("vote %+v is not for sale", v)
		}
		seen[[2]int{v.Item, v.Judge}] = true
		spent += v.Price
		gains[v.Item] += v.Gain
		votes[v.Item]++
	}
	if plan[0] != (PricedVote{1, 0, 0.1, plan[0].Gain}) || spent > o.Budget+1e-9 {
		t.Errorf("plan %+v for %v", plan, spent)
	}
	for j, n := range votes {
		if n == 0 {
			continue
		}
		if want, _ := dists[j].Gain(n); math.Abs(gains[j]-want) > 1e-12 {
			t.Errorf("item %d: %d votes gain %v, expected %v", j, n, gains[j], want)
		}
	}
	if !seen[[2]int{1, Person}] || votes[1] != 3 {
		t.Errorf("votes %v: expected two judges and a person on the second item", votes)
	}

	o.Person, o.Judges = 0, []float64{0, 0, 0}
	if _, err := PlanPriced(context.Background(), 1, o); err == nil {
		t.Error("no error without prices")
	}
	o.Person = math.Inf(1)
	if _, err := PlanPriced(context.Background(), 1, o); err == nil {
		t.Error("no error for an infinite price")
	}
	o.Person, o.Outcomes = 1, func(int, []int) ([]JudgedOutcome, error) { return nil, errors.New("lost") }
	if _, err := PlanPriced(context.Background(), 1, o); err == nil {
		t.Error("no error for outcomes that cannot be predicted")
	}
}
