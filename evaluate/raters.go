package evaluate

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"strings"

	"credence/dataset"
	"credence/head"
	"credence/internal/words"
)

// Rater describes how one rater votes compared with the others on the same items.
//
// If raters are exchangeable, as the likelihood of a mixture assumes, a rater's
// vote on an item is any of the item's m votes with equal probability. That gives
// the mean and the variance of a rater's agreement and use of classes over all
// items of the rater, and so two tests, one for each, by the normal
// approximation.
type Rater struct {
	Rater int    `json:"rater"`
	Name  string `json:"name"`
	Votes int    `json:"votes"` // on items that others voted on, too
	// Agreement is the mean share of the other votes on an item that equal the
	// rater's; Expected is the same for an exchangeable rater.
	Agreement Number `json:"agreement"`
	Expected  Number `json:"expected"`
	// AgreementP and UsageP are the p-values of the two tests, with Holm's
	// adjustment for all tests of all raters; null if too few of the votes are on
	// items where votes differ.
	AgreementP Number `json:"agreement_p"`
	UsageP     Number `json:"usage_p"`
	// Excess is, for each class, the share of the rater's votes for it minus the
	// share expected of an exchangeable rater.
	Excess []float64 `json:"excess"`
	// Differs reports whether a p-value is below 0.05.
	Differs bool `json:"differs"`
}

// informative is the number of votes on items where votes differ that a rater
// must have cast to be tested.
const informative = 10

// compareRaters describes every rater, ordered by number; raters who share no
// item with others are left out.
func compareRaters(ratings []dataset.Rating, votes Votes, names []string) []Rater {
	type sums struct {
		n, mixed                  int
		agree, expected, variance float64
		use, useVariance          []float64
	}
	of := map[int32]*sums{}
	for _, b := range ratings {
		s := votes.Item(int(b.Item))
		m := sum(s)
		if m < 2 {
			continue
		}
		r := of[b.Rater]
		if r == nil {
			r = &sums{use: make([]float64, votes.Classes), useVariance: make([]float64, votes.Classes)}
			of[b.Rater] = r
		}
		r.n++
		if s[b.Class] < m {
			r.mixed++
		}
		r.agree += (s[b.Class] - 1) / (m - 1)
		mean, square := 0.0, 0.0
		for c, k := range s {
			a, p := (k-1)/(m-1), k/m
			mean += p * a
			square += p * a * a
			r.use[c] -= p
			r.useVariance[c] += p * (1 - p)
		}
		r.use[b.Class]++
		r.expected += mean
		r.variance += square - mean*mean
	}
	var raters []Rater
	var ps []float64 // two for each rater
	for _, id := range slices.Sorted(maps.Keys(of)) {
		r := of[id]
		n := float64(r.n)
		x := Rater{Rater: int(id), Name: names[id], Votes: r.n,
			Agreement: Number(r.agree / n), Expected: Number(r.expected / n)}
		agreement, usage := math.NaN(), math.NaN()
		if r.mixed >= informative {
			if r.variance > 1e-9 {
				agreement = twoSidedNormal((r.agree - r.expected) / math.Sqrt(r.variance))
			}
			usage = usageP(r.use, r.useVariance)
		}
		ps = append(ps, agreement, usage)
		for _, u := range r.use {
			x.Excess = append(x.Excess, u/n)
		}
		raters = append(raters, x)
	}
	adjusted := holm(ps)
	for i := range raters {
		x := &raters[i]
		x.AgreementP, x.UsageP = Number(adjusted[2*i]), Number(adjusted[2*i+1])
		x.Differs = x.AgreementP < 0.05 || x.UsageP < 0.05
	}
	return raters
}

// usageP returns the p-value of the largest standardized excess over the
// classes, after Bonferroni's correction; two classes count as one test.
func usageP(excess, variance []float64) float64 {
	z, classes := 0.0, 0.0
	for c, v := range variance {
		if v > 1e-9 {
			z = max(z, math.Abs(excess[c])/math.Sqrt(v))
			classes++
		}
	}
	if classes == 0 {
		return math.NaN()
	}
	if classes == 2 {
		classes = 1
	}
	return min(1, classes*twoSidedNormal(z))
}

// RaterReport describes raters: how they vote compared with the others and, if training
// modelled them, their estimated parameters.
type RaterReport struct {
	// Modelled reports whether training modelled raters; Reason explains why it did or did not.
	Modelled bool   `json:"modelled"`
	Reason   string `json:"reason"`
	// Class is the one of two classes that a positive bias favors; empty if biases are not modelled.
	Class string `json:"class,omitempty"`
	// BiasSD is the standard deviation of biases between raters, by which biases from few votes
	// are shrunk towards zero.
	BiasSD Number `json:"lean_sd"`
	// Raters are in order of first appearance, modelled raters first.
	Raters []RaterEstimate `json:"raters"`
	// Pseudonymous reports whether names have been replaced by pseudonyms.
	Pseudonymous bool `json:"pseudonymous"`
}

// RaterEstimate describes one rater; parameters that are not modelled are unknown.
type RaterEstimate struct {
	Name  string `json:"rater"`
	Votes Number `json:"votes"`
	// Bias is the shift of the logit of the probability that the rater votes for Class; its mean
	// over all votes is 0. Guess is the share of the rater's votes that do not depend on the
	// item. Both have 95% intervals.
	Bias IntervalEstimate `json:"lean"`
	// Scale is s of ordered classes: above 1 the rater agrees with the usual vote more often than an average rater, below 1
	// less often. It is zero for other classes.
	Scale IntervalEstimate `json:"scale,omitzero"`
	Guess IntervalEstimate `json:"guess"`
	// Agreement is the mean share of the other votes on an item that equal the rater's,
	// Expected the same for an exchangeable rater; see [Rater].
	Agreement Number `json:"agreement"`
	Expected  Number `json:"expected"`
	// Flags are [FlagBiased] and [FlagGuesses], or [FlagDiffers] where raters are not modelled.
	Flags []string `json:"flags"`
	// Average reports whether the rater is not modelled although others are (see [RaterGraph.Group]): the
	// votes count as cast by an average rater, and Bias is 0 with the uncertainty of the prior.
	Average bool `json:"average,omitempty"`
	// Like is the first rater whose name differs from this one only in case, spaces or Unicode form.
	Like string `json:"like,omitempty"`
}

// Marks returns the flags, and "average" for a rater who is not modelled although others are.
func (x *RaterEstimate) Marks() []string {
	if x.Average {
		return append(slices.Clone(x.Flags), "average")
	}
	return x.Flags
}

// MarkAlike fills in [RaterEstimate].Like.
func (r *RaterReport) MarkAlike() {
	names := words.Each(r.Raters, func(x RaterEstimate) string { return x.Name })
	for i, k := range dataset.RatersAlike(names) {
		if k >= 0 {
			r.Raters[i].Like = names[k]
		}
	}
}

// AddAverage adds a rater who is not modelled although others are.
func (r *RaterReport) AddAverage(name string, votes int) {
	r.average(r.add(name), votes)
}

// add adds a rater with unknown parameters.
func (r *RaterReport) add(name string) *RaterEstimate {
	r.Raters = append(r.Raters, RaterEstimate{Name: name, Bias: unknownInterval, Guess: unknownInterval, Agreement: unknown, Expected: unknown, Flags: []string{}})
	return &r.Raters[len(r.Raters)-1]
}

// average sets x to the estimate of an average rater with the given number of votes.
func (r *RaterReport) average(x *RaterEstimate, votes int) {
	x.Average, x.Votes = true, Number(votes)
	if r.BiasSD.Known() {
		x.Bias = normalInterval(0, r.BiasSD)
	}
}

// normalInterval returns an estimate with the 95% interval of the normal distribution.
func normalInterval(value, se Number) IntervalEstimate {
	return IntervalEstimate{Estimate{value, se}, value - normal975*se, value + normal975*se}
}

// The flags of raters.
const (
	// FlagBiased means that the bias differs from 0, at 5% with Holm's adjustment for all raters.
	FlagBiased = "leans"
	// FlagGuesses means that the 95% interval of the guess rate lies above 5% of the votes.
	FlagGuesses = "guesses"
	// FlagDiffers means that [Rater].Differs is true.
	FlagDiffers = "differs"
)

// muchGuessing is the guess rate that the interval of a flagged rater exceeds.
const muchGuessing = 0.05

// DescribeRaters describes the raters of ds and those of a model: raters holds their estimated
// parameters, nil if the model does not have them, and names their names. ds may be nil; then
// agreement is unknown.
func DescribeRaters(ds *dataset.Dataset, raters *head.RaterModel, names []string) *RaterReport {
	r := &RaterReport{BiasSD: unknown, Raters: []RaterEstimate{}}
	at := map[string]int{}
	add := func(name string) int {
		k, ok := at[name]
		if !ok {
			k = len(r.Raters)
			at[name] = k
			r.add(name)
		}
		return k
	}
	if raters != nil {
		r.Modelled = true
		for i := range raters.Votes {
			x := &r.Raters[add(raterName(names, i))]
			x.Votes = Number(raters.Votes[i])
			x.Bias, x.Guess = BiasOf(raters, i), GuessOf(raters, i)
			if raters.Ordered {
				x.Scale = scaleOf(raters, i)
			}
		}
		if len(raters.Bias) > 0 {
			r.BiasSD = Number(raters.BiasSD)
		}
		r.flag()
	}
	if ds == nil {
		return r
	}
	if raters != nil && len(raters.Bias) > 0 {
		r.Class = ds.Classes[len(ds.Classes)-1]
	}
	r.compare(ds, add)
	return r
}

// compare adds how the raters of ds vote compared with each other.
func (r *RaterReport) compare(ds *dataset.Dataset, add func(name string) int) {
	place := make([]int, len(ds.Raters)) // in r.Raters, of those who voted
	votes := make([]int, len(ds.Raters))
	for _, v := range ds.Ratings {
		votes[v.Rater]++
	}
	modelled := len(r.Raters)
	for i, n := range votes {
		if n == 0 {
			continue
		}
		place[i] = add(raterName(ds.Raters, i))
		if x := &r.Raters[place[i]]; !r.Modelled {
			x.Votes = Number(n)
		} else if place[i] >= modelled {
			r.average(x, n)
		}
	}
	for _, x := range compareRaters(ds.Ratings, NewVotes(ds), ds.Raters) {
		e := &r.Raters[place[x.Rater]]
		e.Agreement, e.Expected = x.Agreement, x.Expected
		if x.Differs && !r.Modelled {
			e.Flags = append(e.Flags, FlagDiffers)
		}
	}
}

// BiasOf returns the bias of rater r with its 95% interval, which is unknown if biases are not
// modelled.
func BiasOf(c *head.RaterModel, r int) IntervalEstimate {
	if len(c.Bias) == 0 {
		return unknownInterval
	}
	return normalInterval(Number(c.Bias[r]), Number(c.BiasSE[r]))
}

// scaleOf returns the scale of rater r with its 95% interval, which is symmetric for the logarithm.
func scaleOf(c *head.RaterModel, r int) IntervalEstimate {
	u := normalInterval(Number(c.LogScale[r]), Number(c.LogScaleSE[r]))
	exp := func(x Number) Number { return Number(math.Exp(float64(x))) }
	return IntervalEstimate{Estimate{exp(u.Value), exp(u.Value) * u.SE}, exp(u.Lo), exp(u.Hi)}
}

// GuessOf returns the guess rate of rater r with its 95% interval, which is symmetric for the
// logit.
func GuessOf(c *head.RaterModel, r int) IntervalEstimate {
	u, g := normalInterval(Number(c.GuessLogit[r]), Number(c.GuessLogitSE[r])), Number(c.Guess[r])
	share := func(logit Number) Number { return Number(1 / (1 + math.Exp(float64(-logit)))) }
	return IntervalEstimate{Estimate{g, g * (1 - g) * u.SE}, min(g, share(u.Lo)), max(g, share(u.Hi))}
}

// flag sets the flags of raters who are biased or guess.
func (r *RaterReport) flag() {
	ps := make([]float64, len(r.Raters))
	for i, x := range r.Raters {
		ps[i] = math.NaN()
		if x.Bias.SE > 0 {
			ps[i] = twoSidedNormal(float64(x.Bias.Value / x.Bias.SE))
		}
	}
	for i, p := range holm(ps) {
		x := &r.Raters[i]
		if p < 0.05 {
			x.Flags = append(x.Flags, FlagBiased)
		}
		if x.Guess.Lo > muchGuessing {
			x.Flags = append(x.Flags, FlagGuesses)
		}
	}
}

// Pseudonyms returns a pseudonym for each name, such as R-7KQ2M. It is a function of the name and
// the seed alone (HMAC-SHA-256), so it is the same in every report with that seed, regardless of the
// other raters, except in the rare case of a collision, in which both pseudonyms get more letters.
// Equal names have equal pseudonyms. Anyone who knows the seed can check a suspected name, so a seed
// that protects names must be kept secret from the readers.
func Pseudonyms(names []string, seed uint64) []string {
	key := binary.LittleEndian.AppendUint64([]byte("credence pseudonym "), seed)
	codes := map[string]string{}
	for _, name := range names {
		if codes[name] == "" {
			h := hmac.New(sha256.New, key)
			h.Write([]byte(name))
			codes[name] = base32.StdEncoding.EncodeToString(h.Sum(nil))
		}
	}
	sorted := slices.Sorted(maps.Values(codes))
	letters := make(map[string]int, len(sorted)) // length of the unique prefix of each code
	for i, code := range sorted {
		n := 5
		for _, k := range []int{i - 1, i + 1} {
			if k >= 0 && k < len(sorted) {
				for n < len(code) && strings.HasPrefix(sorted[k], code[:n]) {
					n++
				}
			}
		}
		letters[code] = n
	}
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = "R-" + codes[name][:letters[codes[name]]]
	}
	return list
}

// UsePseudonyms replaces the names of raters; see [Pseudonyms].
func (r *RaterReport) UsePseudonyms(seed uint64) {
	names := words.Each(r.Raters, func(x RaterEstimate) string { return x.Name })
	code := map[string]string{}
	for i, name := range Pseudonyms(names, seed) {
		code[r.Raters[i].Name], r.Raters[i].Name = name, name
	}
	for i := range r.Raters {
		r.Raters[i].Like = code[r.Raters[i].Like]
	}
	r.Pseudonymous = true
}
