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

// Rater is how one rater votes compared with the others on the same items.
//
// If raters are exchangeable, as the likelihood of a mixture takes them to be, a
// rater's vote on an item is any of the item's m votes with equal chance. That
// gives the mean and the variance of what a rater does on all of her items, and
// so two tests, of agreement and of the use of classes, by the normal
// approximation.
type Rater struct {
	Rater int    `json:"rater"`
	Name  string `json:"name"`
	Votes int    `json:"votes"` // on items that others voted on too
	// Agreement is the mean share of the other votes on an item that equal the
	// rater's; Expected is the same for an exchangeable rater.
	Agreement Number `json:"agreement"`
	Expected  Number `json:"expected"`
	// AgreementP and UsageP are the p-values of the two tests, adjusted after
	// Holm for all tests of all raters; null with too few votes that could
	// differ.
	AgreementP Number `json:"agreement_p"`
	UsageP     Number `json:"usage_p"`
	// Excess is, for each class, how much more of the rater's votes go to it
	// than an exchangeable rater's would, as a share.
	Excess []float64 `json:"excess"`
	// Differs is whether a p-value is below 0.05.
	Differs bool `json:"differs"`
}

// informative is how many of a rater's votes must be on items where votes
// differ for a test.
const informative = 10

// compareRaters describes every rater, by number; those who voted on no item
// that others voted on are left out.
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
		x := Rater{Rater: int(id), Votes: r.n, Agreement: Number(r.agree / n), Expected: Number(r.expected / n)}
		if x.Rater >= 0 && x.Rater < len(names) {
			x.Name = names[x.Rater]
		}
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
	for i, p := range holm(ps) {
		x := &raters[i/2]
		if i%2 == 0 {
			x.AgreementP = Number(p)
		} else {
			x.UsageP = Number(p)
		}
		x.Differs = x.Differs || p < 0.05
	}
	return raters
}

// usageP returns the p-value of the largest standardized excess over the
// classes, after Bonferroni; of two classes one says all.
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

// RaterReport is what is known of raters: how they vote compared with the others and, where
// training modelled them, what it learned.
type RaterReport struct {
	// Modelled says that training modelled raters; Reason is why it did or did not, in words.
	Modelled bool   `json:"modelled"`
	Reason   string `json:"reason"`
	// Class is that which leans are towards, of two; empty if leans are not modelled.
	Class string `json:"class,omitempty"`
	// BiasSD is the standard deviation of leans between raters, which leans of few votes are
	// drawn to zero by.
	BiasSD Number `json:"lean_sd"`
	// Raters are in the order in which they were first seen, those who are modelled first.
	Raters []RaterEstimate `json:"raters"`
	// Pseudonymous says that names have been replaced.
	Pseudonymous bool `json:"pseudonymous"`
}

// RaterEstimate is what is known of one rater; what is not modelled is not known.
type RaterEstimate struct {
	Name  string `json:"rater"`
	Votes Number `json:"votes"`
	// Bias is how far the logit of the probability that she says Class is shifted, the mean
	// over all votes being 0. Guess is the share of her votes that have nothing to do with the
	// item. Both are with 95% intervals.
	Bias  IntervalEstimate `json:"lean"`
	Guess IntervalEstimate `json:"guess"`
	// Agreement is the mean share of the other votes on an item that equal the rater's,
	// Expected the same for an exchangeable rater; see [Rater].
	Agreement Number `json:"agreement"`
	Expected  Number `json:"expected"`
	// Flags are [FlagBiased] and [FlagGuesses], or [FlagDiffers] where raters are not modelled.
	Flags []string `json:"flags"`
	// Average is whether the rater is not modelled where others are (see [RaterGraph.Group]): votes count
	// as cast by an average rater, and Lean is 0 with the uncertainty of the prior.
	Average bool `json:"average,omitempty"`
	// Like is the name of the first rater that differs from this one only in case, spaces or Unicode form.
	Like string `json:"like,omitempty"`
}

// Marks returns the flags, and "average" for a rater who is not modelled where others are.
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

// AddAverage adds a rater who is not modelled where others are.
func (r *RaterReport) AddAverage(name string, votes int) {
	r.average(r.add(name), votes)
}

// add adds a rater of whom nothing is known.
func (r *RaterReport) add(name string) *RaterEstimate {
	r.Raters = append(r.Raters, RaterEstimate{Name: name, Bias: unknownInterval, Guess: unknownInterval, Agreement: unknown, Expected: unknown, Flags: []string{}})
	return &r.Raters[len(r.Raters)-1]
}

// average makes an estimate that of an average rater.
func (r *RaterReport) average(x *RaterEstimate, votes int) {
	x.Average, x.Votes = true, Number(votes)
	if r.BiasSD.Known() {
		x.Bias = IntervalEstimate{Estimate{0, r.BiasSD}, -normal975 * r.BiasSD, normal975 * r.BiasSD}
	}
}

// What raters are flagged for.
const (
	// FlagBiased says that the lean is not 0, after Holm among all raters at 5%.
	FlagBiased = "leans"
	// FlagGuesses says that the 95% interval of guessing lies above 5% of the votes.
	FlagGuesses = "guesses"
	// FlagDiffers is [Rater].Differs.
	FlagDiffers = "differs"
)

// muchGuessing is the share of guesses above which the interval of a rater who is flagged lies.
const muchGuessing = 0.05

// DescribeRaters tells what is known of the raters of ds, and of those that a model knows by
// name: crowd is what it learned of them, nil if it did not model raters. Without ds there is
// no agreement.
func DescribeRaters(ds *dataset.Dataset, crowd *head.RaterModel, names []string) *RaterReport {
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
	if crowd != nil {
		r.Modelled = true
		for i := range crowd.Votes {
			x := &r.Raters[add(raterName(names, i))]
			x.Votes = Number(crowd.Votes[i])
			x.Bias, x.Guess = BiasOf(crowd, i), GuessOf(crowd, i)
		}
		if len(crowd.Bias) > 0 {
			r.BiasSD = Number(crowd.BiasSD)
		}
		r.flag()
	}
	if ds == nil {
		return r
	}
	if crowd != nil && len(crowd.Bias) > 0 && len(ds.Classes) == 2 {
		r.Class = ds.Classes[1]
	}
	r.compare(ds, add)
	return r
}

// compare adds how raters vote compared with the others.
func (r *RaterReport) compare(ds *dataset.Dataset, add func(name string) int) {
	place := make([]int, len(ds.Raters))
	votes := make([]float64, len(ds.Raters))
	for _, v := range ds.Ratings {
		votes[v.Rater]++
	}
	modelled := len(r.Raters)
	for i, n := range votes {
		place[i] = -1
		if n > 0 {
			place[i] = add(raterName(ds.Raters, i))
			x := &r.Raters[place[i]]
			switch {
			case !r.Modelled:
				x.Votes = Number(n)
			case place[i] >= modelled:
				r.average(x, int(n))
			}
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

// BiasOf returns the lean of a rater with its 95% interval, not known where leans are not
// modelled.
func BiasOf(c *head.RaterModel, r int) IntervalEstimate {
	if len(c.Bias) == 0 {
		return unknownInterval
	}
	b, se := c.Bias[r], c.BiasSE[r]
	return IntervalEstimate{Estimate{Number(b), Number(se)}, Number(b - normal975*se), Number(b + normal975*se)}
}

// GuessOf returns the share of guesses of a rater with its 95% interval, which is one of its
// logit.
func GuessOf(c *head.RaterModel, r int) IntervalEstimate {
	u, se := c.GuessLogit[r], c.GuessLogitSE[r]
	share := func(logit float64) Number { return Number(1 / (1 + math.Exp(-logit))) }
	g := Number(c.Guess[r])
	return IntervalEstimate{Estimate{g, g * (1 - g) * Number(se)}, min(g, share(u-normal975*se)), max(g, share(u+normal975*se))}
}

// flag marks raters who lean or guess.
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

// Pseudonyms returns a name for each name, such as R-7KQ2M: a function of the name and the seed
// alone (HMAC-SHA-256), so that it is the same in every report with that seed, whoever else
// is in it, but for the rare case that two names share one, which then both have more letters.
// Equal names have equal pseudonyms. Whoever knows the seed and suspects a name can check it, so
// a seed that protects names is not told to those whom they are kept from.
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
	letters := make(map[string]int, len(sorted)) // that tell a code from its neighbors
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
