package evaluate

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"credence/dataset"
	"credence/internal/rng"
)

// votedItems are n items with ties among scores and up to three votes.
func votedItems(n int, seed uint64) *decided {
	r := rand.New(rng.New(seed, "votedItems"))
	d := &decided{units: (n + 1) / 2}
	for j := range n {
		s := math.Round(20*r.Float64()) / 20
		m := 1 + r.IntN(3)
		k := 0
		for range m {
			if r.Float64() < 0.2+0.6*s {
				k++
			}
		}
		d.score, d.ref, d.unit = append(d.score, s), append(d.ref, float64(k)/float64(m)), append(d.unit, j/2)
	}
	return d
}

// AUC is its definition, a sum over pairs, and its influences are those of leaving a unit out (the jackknife), to first order.
func TestAUCOfVotes(t *testing.T) {
	d := votedItems(300, 1)
	brute := func(keep func(j int) bool) float64 {
		top, bottom := 0.0, 0.0
		for i, y := range d.ref {
			for j, z := range d.ref {
				if i == j || !keep(i) || !keep(j) {
					continue
				}
				w := y * (1 - z)
				bottom += w
				switch {
				case d.score[i] > d.score[j]:
					top += w
				case d.score[i] == d.score[j]:
					top += w / 2
				}
			}
		}
		return top / bottom
	}
	e := d.auc()
	all := brute(func(int) bool { return true })
	if math.Abs(e.value-all) > 1e-12 {
		t.Errorf("AUC %v, want %v", e.value, all)
	}
	jackknife := 0.0
	n := float64(d.units)
	for u := range d.units {
		x := brute(func(j int) bool { return d.unit[j] != u })
		jackknife += (x - all) * (x - all)
	}
	jackknife = math.Sqrt((n - 1) / n * jackknife)
	if se := d.se(e); math.Abs(se/jackknife-1) > 0.03 {
		t.Errorf("standard error %v, that of the jackknife %v", se, jackknife)
	}
}

// Scores do not depend on the order of items, and those of the other class mirror them.
func TestDecisionSymmetry(t *testing.T) {
	d := votedItems(200, 2)
	order := rand.New(rng.New(3, "order")).Perm(len(d.ref))
	shuffled, other := &decided{units: d.units}, &decided{units: d.units}
	for _, j := range order {
		shuffled.score, shuffled.ref = append(shuffled.score, d.score[j]), append(shuffled.ref, d.ref[j])
		shuffled.unit = append(shuffled.unit, d.unit[j])
		// From a threshold on, the other class is decided for where this is not.
		other.score, other.ref = append(other.score, 1-d.score[j]), append(other.ref, 1-d.ref[j])
		other.unit = append(other.unit, d.unit[j])
	}
	near := func(what string, a, b Number) {
		t.Helper()
		if !(math.Abs(float64(a-b)) < 1e-9) {
			t.Errorf("%s: %v and %v", what, a, b)
		}
	}
	const threshold = 0.475 // between scores
	x, y, z := d.summary([]float64{threshold}), shuffled.summary([]float64{threshold}), other.summary([]float64{1 - threshold})
	rows := y.Rows()
	for i, a := range x.Rows() {
		if a.Value.Known() || rows[i].Value.Known() {
			near(a.Key, a.Value, rows[i].Value)
			near(a.Key+" se", a.SE, rows[i].SE)
		}
	}
	near("AUC", x.AUC.Value, z.AUC.Value)
	near("AUC se", x.AUC.SE, z.AUC.SE)
	near("sensitivity", x.Thresholds[0].Sensitivity.Value, z.Thresholds[0].Specificity.Value)
	near("PPV", x.Thresholds[0].PPV.Lo, z.Thresholds[0].NPV.Lo)
	near("slope", x.Slope.Value, z.Slope.Value)
	near("intercept", x.Intercept.Value, -z.Intercept.Value)
	near("smooth", d.smooth().ICIPlain, other.smooth().ICIPlain)
	near("smooth se", d.smooth().ICI.SE, shuffled.smooth().ICI.SE)
}

// The curves end at the corners, and the area below the ROC curve is the AUC where no item has both votes.
func TestDecisionCurves(t *testing.T) {
	d := votedItems(500, 4)
	for j, y := range d.ref {
		d.ref[j] = math.Round(y)
	}
	var r Decisions
	d.curves(Bootstrap{Replicates: 200}, &r)
	area := 0.0
	for k, p := range r.ROC {
		if k > 0 {
			area += float64(p.Y+r.ROC[k-1].Y) / 2 / curvePoints
		}
		if !(p.Lo <= p.Y+1e-9 && p.Y <= p.Hi+1e-9) || k > 0 && p.Y < r.ROC[k-1].Y {
			t.Errorf("ROC %+v", p)
		}
	}
	if auc := d.auc().value; math.Abs(area-auc) > 2e-3 {
		t.Errorf("area %v, AUC %v", area, auc)
	}
	if last := r.ROC[curvePoints]; last.Y != 1 || last.X != 1 {
		t.Errorf("ROC ends at %+v", last)
	}
	prevalence := Number(sum(d.ref) / float64(len(d.ref)))
	if last := r.PR[curvePoints]; last.Y < prevalence-1e-9 {
		t.Errorf("precision ends at %+v, the prevalence is %v", last, prevalence)
	}
	if ap := r.AveragePrecision; !(ap.Lo < ap.Value && ap.Value < ap.Hi && ap.SE > 0) {
		t.Errorf("average precision %+v", ap)
	}
}

// Items that are all alike, or a single one, give unknown scores and no panic.
func TestDecisionDegenerate(t *testing.T) {
	for name, d := range map[string]*decided{
		"one item":      {score: []float64{0.5}, ref: []float64{1}, unit: []int{0}, units: 1},
		"all positive":  {score: []float64{0.5, 0.6, 0.7}, ref: []float64{1, 1, 1}, unit: []int{0, 1, 2}, units: 3},
		"equal scores":  {score: []float64{0.5, 0.5, 0.5}, ref: []float64{0, 1, 0.5}, unit: []int{0, 1, 2}, units: 3},
		"separated":     {score: []float64{0.1, 0.2, 0.7, 0.8}, ref: []float64{0, 0, 1, 1}, unit: []int{0, 1, 2, 3}, units: 4},
		"one group":     {score: []float64{0.1, 0.9, 0.7}, ref: []float64{0, 1, 0.5}, unit: []int{0, 0, 0}, units: 1},
		"certain items": {score: []float64{0, 1, 0.4, 0.6}, ref: []float64{0, 1, 1, 0}, unit: []int{0, 1, 2, 3}, units: 4},
	} {
		r := Decisions{DecisionSummary: d.summary([]float64{0.5})}
		d.curves(Bootstrap{Replicates: 5}, &r)
		r.Smooth, r.Benefit = d.smooth(), d.benefits()
		for _, x := range r.Rows() {
			if x.Lo > x.Value || x.Hi < x.Value {
				t.Errorf("%s: %s %+v", name, x.Key, x.IntervalEstimate)
			}
		}
		if name == "all positive" && r.AUC.Value.Known() {
			t.Errorf("%s: AUC %v", name, r.AUC)
		}
		if name == "separated" && (r.AUC.Value != 1 || r.AUC.Lo > 0.9 || r.Slope.Value.Known()) {
			t.Errorf("%s: AUC %+v, slope %+v", name, r.AUC, r.Slope)
		}
	}
}

// A rater is compared with the votes of the others, and so is the model.
func TestRaterRivals(t *testing.T) {
	ds := &dataset.Dataset{Items: []string{"a", "b", "c"}, Classes: []string{"no", "yes"}, Raters: []string{"Ann", "Bob"},
		Ratings: []dataset.Rating{{Item: 0, Rater: 1, Class: 1}, {Item: 0, Rater: 0, Class: 0}, {Item: 1, Rater: 1, Class: 0}, {Item: 2, Rater: 1, Class: 1}, {Item: 2, Rater: 1, Class: 0}}}
	rivals := RaterRivals(ds)
	if rivals[0].Name != "Bob" || !slices.Equal(rivals[0].Labels, []RivalLabel{{0, 1}, {1, 0}}) || !slices.Equal(rivals[1].Labels, []RivalLabel{{0, 0}}) {
		t.Errorf("%+v", rivals)
	}
	s, err := newSample(context.Background(), Input{Predictions: binaryMeans([]float64{0.9, 0.2, 0.5}), Votes: Votes{2, []float64{1, 1, 1, 0, 1, 1}}, Rivals: rivals})
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.pair(rivals[0], DecisionOptions{Positive: "1", Reference: ReferenceVote}, s.references(ReferenceVote))
	if err != nil || !slices.Equal(p.rival.score, []float64{1}) || !slices.Equal(p.rival.ref, []float64{0}) || !slices.Equal(p.model.score, []float64{0.9}) {
		t.Errorf("%+v %+v %v", p.model, p.rival, err)
	}
}

func TestDecisionErrors(t *testing.T) {
	for want, o := range map[string]DecisionOptions{
		`positive class: expected one of ["0" "1"], found "2"`:         {Positive: "2"},
		`reference: expected vote, majority or gold, found "x"`:        {Positive: "1", Reference: "x"},
		`threshold: expected a probability between 0 and 1, found 1`:   {Positive: "1", Thresholds: []float64{1}},
		`noninferiority margin: expected a difference between 0 and 1`: {Positive: "1", Margin: -1},
		`expected gold labels of 2 items, found 0`:                     {Positive: "1", Reference: ReferenceGold},
		`comparing with other: expected decisions on 2 items, found 1`: {Positive: "1"},
	} {
		in := Input{Predictions: binaryMeans([]float64{0.3, 0.6}), Votes: Votes{2, []float64{1, 1, 0, 1}}}
		if strings.HasPrefix(want, "comparing") {
			in.Rivals = []Rival{{Name: "other", Means: make([][]float64, 1)}}
		}
		if _, err := Evaluate(in, Options{Bootstrap: Bootstrap{Replicates: 2}, Decisions: o}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}
