package evaluate

import (
	"encoding/json"
	"math"
	"reflect"
	"runtime"
	"testing"
)

// If predictions are right, R is 1 and the loss that of the distributions at every number
// of votes and items, within 4.5 standard errors (24 numbers, false-alarm rate 2e-4);
// their errors decrease with the votes and with the items.
func TestCurve(t *testing.T) {
	w := simulate(t, 4000, 3, 12, 3)
	in := Input{Predictions: predictionsOf(w.mixtures), Votes: w.votes}
	o := CurveOptions{Bootstrap: Bootstrap{Replicates: 100, Seed: 5}}
	list, err := Curve(in, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 12 { // 2, 3, 5 and 7 votes, which half of the items have
		t.Fatalf("%d points: %+v", len(list), list)
	}
	for i, p := range list {
		if p.Votes != []int{2, 3, 5, 7}[i/3] {
			t.Errorf("point %d has %d votes", i, p.Votes)
		}
		if !(math.Abs(float64(p.Ratio.Value)-1) < 4.5*float64(p.Ratio.SE)) {
			t.Errorf("R at %d votes on %d items: %v ± %v", p.Votes, p.Items, p.Ratio, p.Ratio.SE)
		}
		if all := list[i/3*3+2]; !(math.Abs(float64(p.Loss.Value-all.Loss.Value)) < 4.5*float64(p.Loss.SE)) {
			t.Errorf("loss at %d votes on %d items: %v ± %v, on all %v", p.Votes, p.Items, p.Loss, p.Loss.SE, all.Loss)
		}
		if i%3 > 0 && !(p.Items > list[i-1].Items && p.Ratio.SE < list[i-1].Ratio.SE && p.Loss.SE < list[i-1].Loss.SE) {
			t.Errorf("point %d: %+v is no better than %+v", i, p, list[i-1])
		}
	}
	if !(list[5].Ratio.SE < list[2].Ratio.SE && list[2].Loss.Value > list[5].Loss.Value && list[5].Loss.Value > list[8].Loss.Value) {
		t.Errorf("more votes: %+v", list)
	}
	// The same on any number of cores; other votes with another seed.
	cores := runtime.GOMAXPROCS(1)
	again, err := Curve(in, o)
	runtime.GOMAXPROCS(cores)
	if err != nil || !reflect.DeepEqual(again, list) {
		t.Errorf("on one core %+v, %v", again, err)
	}
	o.Bootstrap.Seed++
	if other, err := Curve(in, o); err != nil || other[0].Ratio == list[0].Ratio {
		t.Errorf("another seed gives %v, %v", other[0].Ratio, err)
	}
}

// With all votes and items the point equals the result of Evaluate.
func TestCurveAtItsEnd(t *testing.T) {
	w := simulate(t, 300, 2, 1, 4)
	for j := range w.votes.Len() { // seven votes each
		copy(w.votes.Item(j), []float64{float64(j % 8), float64(7 - j%8)})
	}
	groups := make([]string, 300)
	for j := range groups {
		groups[j] = string(rune('a' + j%20))
	}
	in := Input{Predictions: predictionsOf(w.mixtures), Votes: w.votes, Groups: groups}
	b := Bootstrap{Replicates: 50}
	r, err := Evaluate(in, Options{Bootstrap: b})
	if err != nil {
		t.Fatal(err)
	}
	list, err := Curve(in, CurveOptions{Bootstrap: b})
	if err != nil {
		t.Fatal(err)
	}
	last := list[len(list)-1]
	near(t, "R", float64(last.Ratio.Value), float64(r.DispersionRatio.Value), 1e-12)
	near(t, "error of R", float64(last.Ratio.SE), float64(r.DispersionRatio.SE), 0.2*float64(r.DispersionRatio.SE)) // other draws
	near(t, "loss", float64(last.Loss.Value), float64(r.NLL.Value), 1e-12)
	if last.Votes != 7 || last.Items != 300 || list[0].Votes != 2 || list[0].Items != 75 {
		t.Errorf("from %+v to %+v: want 5 of 20 groups of 15, and all", list[0], last)
	}
}

func TestCurvePoor(t *testing.T) {
	w := simulate(t, 3, 2, 1, 4)
	predictions := predictionsOf(w.mixtures)
	if list, err := Curve(Input{Predictions: predictions, Votes: w.votes}, CurveOptions{}); err != nil || len(list) != 0 {
		t.Errorf("one vote per item: %v, %v", list, err)
	}
	list, err := Curve(Input{Predictions: predictions, Votes: votesOf(t, [][]float64{{1, 1}, {0, 0}, {0, 1}})}, CurveOptions{Votes: []int{2, 9}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal(list); err != nil || list[2].Items != 1 || list[2].Loss.SE.Known() || list[5].Items != 0 || list[5].Ratio.Value.Known() {
		t.Errorf("one pair: %+v, %v", list, err)
	}
	halves := votesOf(t, [][]float64{{.5, 1.5}, {1, 1}, {1, 1}})
	means := predictionsOf(w.mixtures)
	for j := range means {
		means[j].Dist = nil
	}
	for name, c := range map[string]struct {
		in Input
		o  CurveOptions
	}{
		"fractions": {Input{Predictions: predictions, Votes: halves}, CurveOptions{}},
		"one vote":  {Input{Predictions: predictions, Votes: w.votes}, CurveOptions{Votes: []int{1}}},
		"no items":  {Input{Predictions: predictions, Votes: w.votes}, CurveOptions{Shares: []float64{0}}},
		"too many":  {Input{Predictions: predictions, Votes: w.votes}, CurveOptions{Shares: []float64{1.5}}},
		"means":     {Input{Predictions: means, Votes: w.votes}, CurveOptions{}},
	} {
		if _, err := Curve(c.in, c.o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
