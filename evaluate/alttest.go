package evaluate

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"credence/internal/special"
)

// The alternative annotator test asks whether a judge may replace people (Calderon, Reichart and Dror 2025, arXiv 2501.10970). Each
// person in turn is left out: on each of their items, judge and person are scored against the remaining people, and the judge wins
// against the person if it is at least as good on enough items, even after a cost ε in favor of people.

// Scores of the alternative annotator test.
const (
	ScoreAccuracy = "accuracy" // the share of the other people who gave the same label
	ScoreRMSE     = "rmse"     // minus the root mean squared difference from the others, for labels that are numbers
)

// AltTestOptions configures the alternative annotator test. The zero value has the defaults of its authors.
type AltTestOptions struct {
	// Epsilon is the cost of people that judges save, as a difference of probabilities; 0 means 0.2, which the authors suggest for
	// experts (0.15 for trained people, 0.1 for crowds). A negative value means none.
	Epsilon float64 `json:"epsilon"`
	// Score is [ScoreAccuracy] or [ScoreRMSE]; "" means ScoreRMSE where labels are more than two numbers, else ScoreAccuracy.
	Score string `json:"score"`
	// Level is that of the Benjamini–Yekutieli procedure over people; 0 means 0.05.
	Level float64 `json:"level"`
	// People is the least number of people per item, 0 for 2; Items the least number of items per person, 0 for 30.
	People int `json:"people"`
	Items  int `json:"items"`
}

func (o AltTestOptions) complete(numeric bool) AltTestOptions {
	if o.Epsilon == 0 {
		o.Epsilon = 0.2
	}
	if o.Score == "" {
		o.Score = ScoreAccuracy
		if numeric {
			o.Score = ScoreRMSE
		}
	}
	o.Epsilon, o.Level = max(0, o.Epsilon), cmp.Or(o.Level, 0.05)
	o.People, o.Items = max(2, o.People), cmp.Or(max(0, o.Items), 30)
	return o
}

// AltTest is the result of the alternative annotator test for one judge.
type AltTest struct {
	// WinningRate ω is the share of people against whom the judge wins; at 0.5 or more it may replace them.
	WinningRate Number `json:"winning_rate"`
	// Advantage ρ is the probability that the judge is at least as good as a person, averaged over people.
	Advantage Number          `json:"advantage"`
	People    []AltTestPerson `json:"people"`
	// Unknown is the reason why the test has no result, or "".
	Unknown string `json:"unknown,omitempty"`
}

// Passed reports whether the judge may replace people by the test.
func (t *AltTest) Passed() bool { return t.WinningRate >= 0.5 }

// AltTestPerson is the comparison of a judge with one person.
type AltTestPerson struct {
	Name      string `json:"name"`
	Items     int    `json:"items"`
	Advantage Number `json:"advantage"` // share of items on which the judge is at least as good
	PValue    Number `json:"p_value"`   // that the person is better by ε or more
	Won       bool   `json:"won"`       // after correction for the number of people
}

// JudgeVotes has the votes of people and judges on N items as indices into Labels.
type JudgeVotes struct {
	Labels []string
	Judges []string
	People []string
	Judged []int32      // [N × Judges], −1 for none
	Voted  [][]JudgedBy // [N], the votes of people by name
}

// JudgedBy is the vote of a person.
type JudgedBy struct{ Person, Label int32 }

// AltTest tests one judge. values are the labels as numbers, nil if they are none.
func (v *JudgeVotes) AltTest(judge int, values []float64, o AltTestOptions) (*AltTest, error) {
	o = o.complete(values != nil && len(v.Labels) > 2)
	var score func(label int32, others []int32) float64
	switch {
	case o.Score == ScoreAccuracy:
		score = func(label int32, others []int32) float64 {
			same := 0
			for _, x := range others {
				if x == label {
					same++
				}
			}
			return float64(same) / float64(len(others))
		}
	case o.Score == ScoreRMSE && values != nil:
		score = func(label int32, others []int32) float64 {
			var sum float64
			for _, x := range others {
				sum += (values[label] - values[x]) * (values[label] - values[x])
			}
			return -math.Sqrt(sum / float64(len(others)))
		}
	case o.Score == ScoreRMSE:
		return nil, fmt.Errorf("score %s: expected labels that are numbers, found %q", ScoreRMSE, v.Labels)
	default:
		return nil, fmt.Errorf("expected a score among [%s %s], found %q", ScoreAccuracy, ScoreRMSE, o.Score)
	}
	type sums struct {
		n, wins       int
		diff, squares float64
	}
	of := make([]sums, len(v.People))
	var others []int32
	for i, list := range v.Voted {
		own := v.Judged[i*len(v.Judges)+judge]
		if own < 0 || len(list) < o.People {
			continue
		}
		for k, person := range list {
			others = others[:0]
			for j, x := range list {
				if j != k {
					others = append(others, x.Label)
				}
			}
			a, b := score(own, others), score(person.Label, others)
			s := &of[person.Person]
			s.n++
			d := 0.0
			switch {
			case a > b:
				d = -1
			case a < b:
				d = 1
			}
			if a >= b {
				s.wins++
			}
			s.diff += d
			s.squares += d * d
		}
	}
	t := &AltTest{WinningRate: unknown, Advantage: unknown}
	for h, s := range of {
		if s.n < o.Items {
			continue
		}
		n := float64(s.n)
		t.People = append(t.People, AltTestPerson{Name: v.People[h], Items: s.n,
			Advantage: Number(float64(s.wins) / n), PValue: Number(lowerT(s.diff/n, s.squares, n, o.Epsilon))})
	}
	if len(t.People) == 0 {
		t.Unknown = fmt.Sprintf("no person has votes on %d items that also have votes of the judge and of another person", o.Items)
		return t, nil
	}
	t.benjaminiYekutieli(o.Level)
	return t, nil
}

// lowerT returns the p-value of Student's test that a mean is below a bound, from the mean, the sum of squares and the number n.
func lowerT(mean, squares, n, bound float64) float64 {
	variance := (squares - n*mean*mean) / (n - 1)
	if variance <= 1e-15 {
		if mean < bound {
			return 0
		}
		return 1
	}
	t := (mean - bound) / math.Sqrt(variance/n)
	// P(T ≤ t) = ½ I_x(ν/2, ½) for t < 0, with x = ν/(ν + t²).
	nu := n - 1
	d := special.NewBeta(nu/2, 0.5)
	if t == 0 {
		return 0.5
	}
	p := special.Ratio(nu, t*t)
	lower, _, _ := d.Tails(&p)
	if t > 0 {
		return 1 - lower/2
	}
	return lower / 2
}

// benjaminiYekutieli marks the people against whom the judge wins, at a false discovery rate under any dependence, and sets ω and ρ.
func (t *AltTest) benjaminiYekutieli(level float64) {
	order := make([]int, len(t.People))
	harmonic := 0.0
	for i := range order {
		order[i] = i
		harmonic += 1 / float64(i+1)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(t.People[a].PValue, t.People[b].PValue) })
	m, last := float64(len(order)), -1
	for k, i := range order {
		if float64(t.People[i].PValue) <= float64(k+1)/m*level/harmonic {
			last = k
		}
	}
	for k, i := range order {
		t.People[i].Won = k <= last
	}
	var sum float64
	for _, p := range t.People {
		sum += float64(p.Advantage)
	}
	t.WinningRate, t.Advantage = Number(float64(last+1)/m), Number(sum/m)
}
