package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"credence/evaluate"
	"credence/head"
	"credence/internal/par"
	"credence/mixture"
	"credence/model"
)

// Input is the content of a report. Classes are required; Provenance, Result and
// the items each have a section of the page that is left out without them.
type Input struct {
	// Title is the title of the page; "" means "Report of a Credence model".
	Title string
	// Author and Date are shown below the title, if given. Date is any text: the
	// package does not read the clock.
	Author, Date string
	// Subject names the data as the object of "… was trained on", such as "the LIDC
	// lung nodules".
	Subject string
	Classes []string // [d]
	// Network describes the architecture, such as "mlp 64-64"; Parameters is the
	// number of fitted parameters.
	Network    string
	Members    int // number of networks in the ensemble
	Method     head.Method
	Parameters int

	// Provenance is the provenance stored in the model file.
	Provenance *model.Provenance

	// Result is the evaluation of the items below. Evaluated names them, such as
	// "items held out" or "items with out-of-fold predictions"; it is printed after
	// their number.
	Result      *evaluate.Result
	Evaluated   string
	Items       []string       // ids, [N]; numbers if nil
	Predictions []head.Decoded // [N]
	Scale       []float64      // [d] values of ordered classes, increasing; nil if they are not ordered
	Votes       evaluate.Votes // [N × d]; the zero value if there are none

	// Raters are shown if training modelled them, by the names given here.
	Raters *evaluate.RaterReport
	// Suspects are the votes to look at again, by the names of raters given here.
	Suspects *evaluate.SuspectReport

	// Study makes the page the report of a study, with a first page, methods and a table of all items; nil leaves
	// these out.
	Study *Study

	// Commands reproduce the run, one per line; Config is the complete configuration
	// as the text of a file.
	Commands []string
	Config   string
	// Files are the files that the run read and wrote, with their hashes.
	Files []File
	// Warnings are shown in addition to those of Provenance and Result.
	Warnings []string
}

// File is a file and its SHA-256.
type File struct{ Name, SHA256 string }

// check returns an error if the input is inconsistent.
func (in *Input) check() error {
	d, n := len(in.Classes), len(in.Predictions)
	if d < 2 {
		return fmt.Errorf("expected at least two classes, found %d", d)
	}
	if in.Items != nil && len(in.Items) != n {
		return fmt.Errorf("expected names of %d items, found %d", n, len(in.Items))
	}
	if in.Votes.Classes != 0 && (in.Votes.Classes != d || in.Votes.Len() != n) {
		return fmt.Errorf("expected votes on %d items and %d classes, found %d and %d",
			n, d, in.Votes.Len(), in.Votes.Classes)
	}
	for j := range in.Predictions {
		if m := in.Predictions[j].Dist; m == nil || m.Classes() != d {
			return fmt.Errorf("prediction %d: expected a distribution of %d classes", j, d)
		}
	}
	return nil
}

// item holds the quantities of one prediction that the page shows.
type item struct {
	id         string
	m          *mixture.Dirichlet
	votes      []float64 // nil if there are none
	total      float64
	mean       []float64
	class      int     // the class shown: the second of two, otherwise the predicted one
	lo, hi     float64 // ends of its two-sided interval
	width      float64 // of that interval
	disagree   float64 // predicted probability that two votes differ
	resolution float64 // of its intervals
}

// itemsOf returns the items of all predictions, with intervals at the given level.
func itemsOf(in *Input, level float64) []item {
	items := make([]item, len(in.Predictions))
	par.Chunks(len(items), 64, func(lo, hi int) {
		for j := lo; j < hi; j++ {
			x := item{id: strconv.Itoa(j), m: in.Predictions[j].ReportedDist(), resolution: in.Predictions[j].Resolution}
			if in.Items != nil {
				x.id = in.Items[j]
			}
			if in.Votes.Classes > 0 {
				x.votes = in.Votes.Item(j)
				x.total = in.Votes.Total(j)
			}
			x.mean = x.m.Mean(nil)
			x.class = 1
			if len(x.mean) > 2 {
				x.class = argmax(x.mean)
			}
			interval := in.Predictions[j].Reported().Class(x.class).Interval(mixture.TwoSided, level)
			x.lo, x.hi, x.width = interval.Lo, interval.Hi, interval.Length()
			x.disagree = 1
			for k, v := range x.m.Variance(nil) {
				x.disagree -= x.mean[k]*x.mean[k] + v
			}
			items[j] = x
		}
	})
	return items
}

// argmax returns the index of the largest number, the first of equals.
func argmax(s []float64) int { return slices.Index(s, slices.Max(s)) }

// How the votes on an item agree about the class shown.
const (
	allFor = iota
	allAgainst
	mixed
	unknown // fewer than two votes
)

// agreement classifies the item by its votes.
func (x *item) agreement() int {
	if x.total < 2 {
		return unknown
	}
	most := argmax(x.votes)
	switch {
	case x.votes[most] < x.total:
		return mixed
	case most == x.class:
		return allFor
	}
	return allAgainst
}

// certain returns the item with the narrowest interval and, among equals, the least predicted
// disagreement. With two classes it returns one item for each predicted class, as far as
// there are any.
func certain(items []item) []item {
	narrowest := func(items []item) []item {
		return first(items, 1, func(a, b item) int {
			return cmp.Or(cmp.Compare(a.width, b.width), cmp.Compare(a.disagree, b.disagree))
		})
	}
	if len(items[0].mean) > 2 {
		return narrowest(items)
	}
	var chosen []item
	for class := range 2 {
		chosen = append(chosen, narrowest(slices.DeleteFunc(slices.Clone(items),
			func(x item) bool { return argmax(x.mean) != class }))...)
	}
	return chosen
}

// contested returns n of the items with the least agreement between votes and, among
// equals, the most predicted disagreement. Items with fewer than two votes come last.
func contested(items []item, n int) []item {
	observed := func(x item) float64 {
		if x.total < 2 {
			return 1
		}
		return evaluate.PairAgreement(x.votes)
	}
	return spread(items, n, func(a, b item) int {
		return cmp.Or(cmp.Compare(observed(a), observed(b)), cmp.Compare(b.disagree, a.disagree))
	})
}

// typical returns n of the items with a probability and width closest to the
// medians.
func typical(items []item, n int) []item {
	middle := func(of func(item) float64) (m, scale float64) {
		v := make([]float64, len(items))
		for j, x := range items {
			v[j] = of(x)
		}
		slices.Sort(v)
		return v[len(v)/2], max(1e-9, v[len(v)*3/4]-v[len(v)/4])
	}
	probability := func(x item) float64 { return x.mean[x.class] }
	width := func(x item) float64 { return x.width }
	p, ps := middle(probability)
	w, ws := middle(width)
	distance := func(x item) float64 { return math.Hypot((probability(x)-p)/ps, (width(x)-w)/ws) }
	return spread(items, n, func(a, b item) int { return cmp.Compare(distance(a), distance(b)) })
}

// spread returns the first item and n − 1 others from the first twentieth that have
// very different means, since neighbors in a ranking may be alike.
func spread(items []item, n int, compare func(a, b item) int) []item {
	candidates := first(items, max(n, len(items)/20), compare)
	var chosen []item
	for len(chosen) < n && len(candidates) > 0 {
		next, farthest := 0, -1.0
		for i, x := range candidates {
			near := math.Inf(1)
			for _, y := range chosen {
				near = min(near, math.Abs(x.mean[x.class]-y.mean[y.class]))
			}
			if near > farthest {
				next, farthest = i, near
			}
		}
		chosen = append(chosen, candidates[next])
		candidates = slices.Delete(candidates, next, next+1)
	}
	return chosen
}

// first returns the first n items in the order of compare.
func first(items []item, n int, compare func(a, b item) int) []item {
	sorted := slices.Clone(items)
	slices.SortStableFunc(sorted, compare)
	return sorted[:min(n, len(sorted))]
}

// label returns a label with the item and its votes: "nodule 12 (2 of 3 votes for yes)".
func (x *item) label(classes []string) string {
	switch {
	case x.total == 0:
		return x.id + " (no votes)"
	case x.total == 1:
		return fmt.Sprintf("%s (one vote, for %s)", x.id, classes[argmax(x.votes)])
	}
	return fmt.Sprintf("%s (%s of %s votes for %s)", x.id, count(x.votes[x.class]), count(x.total), classes[x.class])
}
