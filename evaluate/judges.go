package evaluate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"credence/dataset"
	"credence/record"
)

// JudgeOptions configures [Judges].
type JudgeOptions struct {
	AltTest   AltTestOptions
	Bootstrap Bootstrap
	// Disagreement, [N] or nil, is the predicted probability that two votes by people on an item differ.
	Disagreement []float64
	// Means, [N × d] or nil, are the predictions of a model that was not trained on the items. Without them, the panel
	// is a logistic regression on the votes of all judges, cross-validated.
	Means []float64
}

// JudgeReport compares judges with the people who voted on the same items.
type JudgeReport struct {
	Items    int      `json:"items"`    // with votes of people
	Unvoted  int      `json:"unvoted"`  // with votes of judges only
	Weighted bool     `json:"weighted"` // items are weighted
	Classes  []string `json:"classes"`
	// People is how often two people agree, the same for a judge and a person is in Judges.
	People IntervalEstimate `json:"people_agreement"`
	// Concentration κ is that of people's votes: an item's probabilities vary like those after κ votes.
	Concentration Number         `json:"concentration"`
	Judges        []JudgeSummary `json:"judges"`
	Panel         JudgePanel     `json:"panel"`
	AltTest       AltTestOptions `json:"alt_test"`
	Warnings      Messages       `json:"warnings"`

	variance float64 // mean over classes of q(1−q), with q the share of the class
}

// JudgePanel is what all judges are worth together.
type JudgePanel struct {
	Method         string           `json:"method"` // "model", or "logistic regression"
	EffectiveVotes IntervalEstimate `json:"effective_votes"`
	// SharedErrors tests whether judges err together; nil for a single judge.
	SharedErrors *SharedErrors `json:"shared_errors,omitempty"`
}

// JudgeSummary is what is known about one judge.
type JudgeSummary struct {
	Name  string `json:"name"`
	Items int    `json:"items"` // with votes of people and of the judge
	// Agreement is the share of people's votes that equal that of the judge.
	Agreement IntervalEstimate `json:"agreement"`
	// Classes is the same by the class of people's votes, [d]: how much of each class the judge finds.
	Classes []IntervalEstimate `json:"agreement_by_class"`
	// EffectiveVotes is the number of votes by people that are as informative as that of the judge:
	//
	//	κ·(V₀/MSE − 1)
	//
	// where V₀ is the variance of the items' probabilities and MSE the squared error of what the judge's vote predicts for them,
	// both by pairs of people's votes on the same items. Below 0 it does harm; unknown where pairs do not determine it.
	EffectiveVotes IntervalEstimate `json:"effective_votes"`
	AltTest        *AltTest         `json:"alt_test"`
	// Strata are where the judge errs.
	Strata []JudgeStratum `json:"strata"`
}

// JudgeStratum is the error of a judge in part of the items, next to that of people: the share of people's votes on the items that
// differ from the judge's, and from those of another person.
type JudgeStratum struct {
	Column string           `json:"column"`
	Name   string           `json:"name"`
	Items  int              `json:"items"`
	Judge  Number           `json:"judge_error"`
	People Number           `json:"people_error"`
	Excess IntervalEstimate `json:"excess"` // of the judge over people, on items with two votes of people
}

// DisagreementColumn is the column of strata by predicted disagreement.
const DisagreementColumn = "predicted disagreement"

// NewJudgeVotes returns the votes of people and judges in ds, and the labels as numbers, nil if they are none.
func NewJudgeVotes(ds *dataset.Dataset) (*JudgeVotes, []float64, error) {
	v := &JudgeVotes{Labels: slices.Clone(ds.Classes), Judges: dataset.JudgesOf(ds.Features), People: ds.Raters}
	if len(v.Judges) == 0 {
		return nil, nil, errors.New("the data have no votes of judges")
	}
	number := func(label string) (float64, bool) { return record.ParseNumber(label, false) }
	index := func(label string, value float64, numeric bool) int32 {
		for i, l := range v.Labels {
			if x, ok := number(l); l == label || numeric && ok && x == value {
				return int32(i)
			}
		}
		v.Labels = append(v.Labels, label)
		return int32(len(v.Labels) - 1)
	}
	row := make([]float32, ds.Rows.Width())
	for i := range ds.Len() {
		if err := ds.Rows.ReadRow(i, row); err != nil {
			return nil, nil, err
		}
		at := 0
		for _, p := range ds.Features {
			x := row[at]
			at += p.Width()
			switch {
			case !p.Judge:
			case x != x || p.Kind == dataset.Categorical && x < 0:
				v.Judged = append(v.Judged, -1)
			case p.Kind == dataset.Categorical:
				v.Judged = append(v.Judged, index(p.Levels[int(x)], 0, false))
			default:
				v.Judged = append(v.Judged, index(fmt.Sprint(x), float64(x), true))
			}
		}
	}
	v.Voted = make([][]JudgedBy, ds.Len())
	for _, r := range ds.Ratings {
		list := &v.Voted[r.Item]
		vote := JudgedBy{r.Rater, r.Class}
		if k := slices.IndexFunc(*list, func(x JudgedBy) bool { return x.Person == r.Rater }); k >= 0 {
			(*list)[k] = vote // the last counts
		} else {
			*list = append(*list, vote)
		}
	}
	values := make([]float64, len(v.Labels))
	for i, l := range v.Labels {
		x, ok := number(l)
		if !ok {
			return v, nil, nil
		}
		values[i] = x
	}
	return v, values, nil
}

// Judges compares the judges of ds with the people who voted on the same items.
func Judges(ctx context.Context, ds *dataset.Dataset, o JudgeOptions) (*JudgeReport, error) {
	v, values, err := NewJudgeVotes(ds)
	if err != nil {
		return nil, err
	}
	c := &judgeComparison{ds: ds, votes: v, options: o, d: len(ds.Classes), mean: make([]float64, len(ds.Classes))}
	r := &JudgeReport{Classes: ds.Classes, Weighted: ds.Weights != nil, Concentration: unknown,
		AltTest: o.AltTest.complete(values != nil && len(v.Labels) > 2)}
	of, units, err := unitsOf(ds.Len(), ds.Groups)
	if err != nil {
		return nil, err
	}
	c.of, c.t = of, newTally(units)
	for i := range ds.Len() {
		n := ds.VotesOf(i)
		if n == 0 {
			r.Unvoted++
			continue
		}
		r.Items++
		c.total += c.weight(i) * n
		for k, m := range ds.CountsOf(i) {
			c.mean[k] += c.weight(i) * float64(m)
		}
	}
	if r.Items == 0 {
		return nil, dataset.ErrNoHumanVotes
	}
	for _, m := range c.mean {
		q := m / c.total
		r.variance += q * (1 - q) / float64(c.d)
	}
	c.people(r)
	strata, err := c.strata()
	if err != nil {
		return nil, err
	}
	r.Judges = make([]JudgeSummary, len(v.Judges))
	for j := range r.Judges {
		s := &r.Judges[j]
		s.Name = v.Judges[j]
		if s.AltTest, err = v.AltTest(j, values, o.AltTest); err != nil {
			return nil, err
		}
		c.agreement(j, s)
		c.effective(&s.EffectiveVotes, c.given(j))
		s.Strata = slices.Clone(strata)
		for k := range s.Strata {
			c.stratum(j, &s.Strata[k], func(i int) bool { return c.in[i*len(strata)+k] })
		}
	}
	if err := c.panel(ctx, r); err != nil {
		return nil, err
	}
	c.t.run(o.Bootstrap)
	if len(v.Judges) > 1 {
		shared, err := TestSharedErrors(ds, [][]string{v.Judges}, o.Bootstrap)
		if err != nil {
			return nil, err
		}
		r.Panel.SharedErrors = &shared[0]
	}
	c.warn(r)
	return r, nil
}

// warn adds what the votes cannot show.
func (c *judgeComparison) warn(r *JudgeReport) {
	say := func(kind Kind, args ...any) { r.Warnings.add(kind, args...) }
	if !r.People.Value.Known() {
		say("no item has two votes by people: how far people agree, effective votes and shared errors of judges cannot be determined from these votes")
	}
	if r.Unvoted > 0 && !r.Weighted {
		say("for selected items: people voted on %d of %d items; where these were not drawn at random, agreement and effective votes describe them alone, unless --item-weights weights them by one over their selection share", r.Items, r.Items+r.Unvoted)
	}
	if len(c.ds.Raters) == 0 {
		say("the votes of people have no names: the alternative annotator test cannot be done")
	}
}

// judgeComparison has what the statistics of judges share.
type judgeComparison struct {
	ds      *dataset.Dataset
	votes   *JudgeVotes
	options JudgeOptions
	d       int
	of      []int // unit of each item
	t       *tally
	mean    []float64 // votes of all items per class
	total   float64
	in      []bool // [N × strata]
}

func (c *judgeComparison) weight(i int) float64 {
	if c.ds.Weights == nil {
		return 1
	}
	return c.ds.Weights[i]
}

// without returns the shares of the classes among the votes on all other items.
func (c *judgeComparison) without(i int) []float64 {
	w := c.weight(i)
	p := make([]float64, c.d)
	n := c.total - w*c.ds.VotesOf(i)
	for k, m := range c.ds.CountsOf(i) {
		p[k] = (c.mean[k] - w*float64(m)) / max(n, 1e-300)
	}
	return p
}

// pairs returns, for probabilities q of item i, the mean over pairs of its votes u ≠ v of Σ_c (q_c − u_c)(q_c − v_c), whose expectation is
// the squared error of q, and the mean over votes of Σ_c (q_c − u_c)².
func (c *judgeComparison) pairs(i int, q []float64) (pair, single float64) {
	n := c.ds.VotesOf(i)
	for k, m := range c.ds.CountsOf(i) {
		s := float64(m)
		pair += q[k]*q[k] - 2*q[k]*s/n + s*(s-1)/(n*(n-1))
		single += q[k]*q[k] - 2*q[k]*s/n + s/n
	}
	return pair, single
}

// people adds the agreement of two people and the concentration.
func (c *judgeComparison) people(r *JudgeReport) {
	at := c.t.column(4) // weights, agreement, variance between items, total variance
	for i := range c.ds.Len() {
		n := c.ds.VotesOf(i)
		if n < 2 {
			continue
		}
		same := 0.0
		for _, m := range c.ds.CountsOf(i) {
			same += float64(m) * (float64(m) - 1) / (n * (n - 1))
		}
		v0, all := c.pairs(i, c.without(i))
		w := c.weight(i)
		c.t.addAll(c.of[i], at, w, w*same, w*v0, w*all)
	}
	c.t.interval(&r.People, ratio(at+1, at))
	c.t.estimate(&r.Concentration, nil, func(s []float64) float64 { return positive(s[at+3]/s[at+2] - 1) })
}

// positive returns x if it is a positive number, else NaN.
func positive(x float64) float64 {
	if x > 0 && !math.IsInf(x, 0) {
		return x
	}
	return math.NaN()
}

// agreement adds how often people agree with a judge, in all and by class.
func (c *judgeComparison) agreement(j int, s *JudgeSummary) {
	at := c.t.column(2 + 2*c.d)
	for i := range c.ds.Len() {
		own, n := c.votes.Judged[i*len(c.votes.Judges)+j], c.ds.VotesOf(i)
		if own < 0 || n == 0 {
			continue
		}
		s.Items++
		w := c.weight(i)
		for k, m := range c.ds.CountsOf(i) {
			m := w * float64(m)
			c.t.addAll(c.of[i], at, m)
			c.t.add(c.of[i], at+2+2*k, m)
			if int32(k) == own {
				c.t.add(c.of[i], at+1, m)
				c.t.add(c.of[i], at+3+2*k, m)
			}
		}
	}
	c.t.interval(&s.Agreement, ratio(at+1, at))
	s.Classes = make([]IntervalEstimate, c.d)
	for k := range s.Classes {
		c.t.interval(&s.Classes[k], ratio(at+3+2*k, at+2+2*k))
	}
}

// given returns, for each item, the class shares of people's votes on the other items with the same vote of judge j, with one vote of
// those on all other items added; nil if the item has none.
func (c *judgeComparison) given(j int) func(i int) []float64 {
	w := len(c.votes.Judges)
	sums := make([]float64, len(c.votes.Labels)*c.d) // votes by the label of the judge
	for i := range c.ds.Len() {
		if own := c.votes.Judged[i*w+j]; own >= 0 {
			for x, m := range c.ds.CountsOf(i) {
				sums[int(own)*c.d+x] += c.weight(i) * float64(m)
			}
		}
	}
	return func(i int) []float64 {
		own := c.votes.Judged[i*w+j]
		if own < 0 {
			return nil
		}
		q, n := c.without(i), 1.0
		for x, m := range c.ds.CountsOf(i) {
			s := sums[int(own)*c.d+x] - c.weight(i)*float64(m)
			q[x] += s
			n += s
		}
		for x := range q {
			q[x] /= n
		}
		return q
	}
}

// effective adds the effective number of votes of predictions q, nil for items without.
func (c *judgeComparison) effective(e *IntervalEstimate, q func(i int) []float64) {
	at := c.t.column(3)
	for i := range c.ds.Len() {
		if c.ds.VotesOf(i) < 2 {
			continue
		}
		p := q(i)
		if p == nil {
			continue
		}
		v0, all := c.pairs(i, c.without(i))
		mse, _ := c.pairs(i, p)
		w := c.weight(i)
		c.t.addAll(c.of[i], at, w*v0, w*all, w*mse)
	}
	c.t.interval(e, func(s []float64) float64 {
		v0, all, mse := s[at], s[at+1], s[at+2]
		return positive(all/v0-1) * (positive(v0/mse) - 1)
	})
}

// VotesFor returns the number of votes by people per item for which a 95% interval of a class probability has about the given width on average,
// without judges: with q the share of a class, its probability has the variance
// q(1−q)/(κ + n + 1) after n votes, averaged over items and classes.
func (r *JudgeReport) VotesFor(width float64) float64 {
	sd := width / (2 * 1.96)
	return max(0, r.variance/(sd*sd)-float64(r.Concentration)-1)
}
