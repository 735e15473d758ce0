package study

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"credence/evaluate"
	"credence/internal/plot"
	"credence/internal/rng"
)

// votesResult has all numbers of the page.
type votesResult struct {
	Study *Votes
	Sets  []*setResult
}

// setResult has the results for a set.
type setResult struct {
	*voteSet
	Name, Title string
	Items       int // before duplicates were left out
	Twins       int // number of duplicates
	Classes     []string
	Methods     []*votesMethod
}

// votesMethod has the results for the intervals of a method that was trained on a number of votes per item.
type votesMethod struct {
	Name    string
	Votes   int
	Trained int
	Items   []heldBack

	Scale           float64   // by which reported variances are multiplied, mean over splits; 0 if none is
	Corrected       []summary // Ĉ at each of paperLevels
	Naive           []summary // the share of items whose share of votes lies in the interval
	All             []summary // Ĉ over all classes
	Width           []summary
	Score           summary   // −ln P of the held-back counts, nats per item
	Informativeness []summary // how well votes show whether p is in an interval
	Behind          summary   // the same as Score, less that of the defaults as reported

	scales []float64
}

func (x *votesMethod) add(one splitResult) {
	x.Trained = one.Trained
	x.Items = append(x.Items, one.Items...)
	x.scales = append(x.scales, one.Scale)
}

// Gap is the mean over levels of |Ĉ − level|.
func (x *votesMethod) Gap() float64 { return levelGap(x.Corrected) }

// NaiveGap is the same of the share of votes.
func (x *votesMethod) NaiveGap() float64 { return levelGap(x.Naive) }

// AllGap is the same of Ĉ over all classes.
func (x *votesMethod) AllGap() float64 { return levelGap(x.All) }

// Coverage returns Ĉ at a level as text. An estimate above 100% is no coverage, and none is printed.
func (x *votesMethod) Coverage(level int) string {
	if x.Corrected[level].Mean > 1 {
		return noCoverage
	}
	return percentOf(x.Corrected[level], 1)
}

// noCoverage stands for an estimate of coverage above 100%.
const noCoverage = "none"

// Exceeds reports whether the estimate of coverage is above 100% at any level.
func (x *votesMethod) Exceeds() bool {
	return slices.ContainsFunc(x.Corrected, func(s summary) bool { return s.Mean > 1 })
}

// wideInterval is the width from which an interval says next to nothing about its item.
const wideInterval = 0.9

// Wide returns the share of items whose interval at the highest level is at least wideInterval wide.
func (x *votesMethod) Wide() float64 {
	n := 0
	for _, h := range x.Items {
		if last := len(h.Lo) - 1; h.Hi[last]-h.Lo[last] >= wideInterval {
			n++
		}
	}
	return float64(n) / float64(len(x.Items))
}

func levelGap(at []summary) float64 {
	sum := 0.0
	for l, s := range at {
		sum += math.Abs(float64(s.Mean) - paperLevels[l])
	}
	return sum / float64(len(at))
}

// summarize finds the means over items, with errors by drawing clusters.
func (x *votesMethod) summarize(s *voteSet, seed uint64) {
	x.Scale = mean(x.scales)
	n := len(paperLevels)
	rows := make([][]float64, len(x.Items))
	cluster := make([]int, len(x.Items))
	for j, h := range x.Items {
		cluster[j] = s.cluster[h.Item]
		rows[j] = slices.Concat(h.Corrected, h.Naive, h.All, h.Informativeness, []float64{h.Score})
		for l := range n {
			rows[j] = append(rows[j], h.Hi[l]-h.Lo[l])
		}
	}
	all := clustered(rows, cluster, rng.New(seed, "study.votes.errors"))
	x.Corrected, x.Naive, x.All = all[:n], all[n:2*n], all[2*n:3*n]
	x.Informativeness, x.Score, x.Width = all[3*n:4*n], all[4*n], all[4*n+1:]
}

// behind computes the difference of the score from that of another method on the same items.
func (x *votesMethod) behind(y *votesMethod, s *voteSet, seed uint64) {
	rows, cluster := make([][]float64, len(x.Items)), make([]int, len(x.Items))
	for j, h := range x.Items {
		cluster[j] = s.cluster[h.Item]
		rows[j] = []float64{h.Score - y.Items[j].Score}
	}
	x.Behind = clustered(rows, cluster, rng.New(seed, "study.votes.errors"))[0]
}

// draws is the number of bootstrap samples of clusters for a standard error.
const draws = 400

// clustered returns the means of columns, and their standard errors by the bootstrap over clusters.
func clustered(rows [][]float64, cluster []int, r *rng.Stream) []summary {
	width := len(rows[0])
	place := map[int]int{}
	var sums [][]float64 // by cluster: the sums of columns, and the number of items
	whole := make([]float64, width+1)
	for j, row := range rows {
		k, seen := place[cluster[j]]
		if !seen {
			k = len(sums)
			place[cluster[j]] = k
			sums = append(sums, make([]float64, width+1))
		}
		for c, v := range append(row[:width:width], 1) {
			sums[k][c] += v
			whole[c] += v
		}
	}
	luck := rand.New(r)
	first, second := make([]float64, width), make([]float64, width)
	drawn := make([]float64, width+1)
	for range draws {
		clear(drawn)
		for range sums {
			for c, v := range sums[luck.IntN(len(sums))] {
				drawn[c] += v
			}
		}
		for c := range width {
			v := drawn[c]/drawn[width] - whole[c]/whole[width] // small, so that squares keep their digits
			first[c] += v
			second[c] += v * v
		}
	}
	list := make([]summary, width)
	for c := range list {
		list[c].Mean = evaluate.Number(whole[c] / whole[width])
		list[c].SE = evaluate.Number(math.Sqrt(max(0, (second[c]-first[c]*first[c]/draws)/(draws-1))))
	}
	return list
}

// method returns the numbers of a method trained on a number of votes, nil if there are none.
func (r *setResult) method(name string, votes int) *votesMethod {
	for _, x := range r.Methods {
		if x.Name == name && x.Votes == votes {
			return x
		}
	}
	return nil
}

// bars are those of the study: for each set and number of votes.
func (r *votesResult) bars() (list []Bar) {
	for _, s := range r.Sets {
		for _, m := range r.Study.Votes {
			gap := 100 * s.method(votesReported, m).Gap()
			list = append(list, Bar{fmt.Sprintf("%s, %d votes: mean |Ĉ − nominal| over 75…95%%, points", s.Title, m),
				evaluate.Number(gap), evaluate.Number(math.NaN()), "at most 4", gap <= 4, 2})
		}
	}
	return list
}

// itemsFile has a row for each item, method and number of votes.
const itemsFile = "items.csv"

// WriteTables implements [Results].
func (r *votesResult) WriteTables(f *Folder) error {
	coverage := [][]string{{"set", "votes", "method", "level", "corrected", "corrected_se",
		"informativeness", "informativeness_se", "naive", "naive_se", "all_classes", "all_classes_se", "width", "width_se"}}
	scores := [][]string{{"set", "votes", "method", "trained", "judged", "scale", "gap", "gap_naive", "gap_all_classes",
		"score", "score_se", "behind", "behind_se"}}
	items := [][]string{{"set", "votes", "method", "item", "class", "mean", "held_back", "for_class",
		"lower_75", "upper_75", "lower_95", "upper_95", "pit", "score"}}
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', 5, 64) }
	last := len(paperLevels) - 1
	for _, s := range r.Sets {
		for _, x := range s.Methods {
			id := []string{s.Name, strconv.Itoa(x.Votes), x.Name}
			for l, level := range paperLevels {
				row := append(id[:3:3], number(level))
				for _, v := range []summary{x.Corrected[l], x.Informativeness[l], x.Naive[l], x.All[l], x.Width[l]} {
					row = append(row, digits(v.Mean, 4), digits(v.SE, 5))
				}
				coverage = append(coverage, row)
			}
			scores = append(scores, append(id[:3:3], strconv.Itoa(x.Trained), strconv.Itoa(len(x.Items)), number(x.Scale),
				number(x.Gap()), number(x.NaiveGap()), number(x.AllGap()), digits(x.Score.Mean, 4), digits(x.Score.SE, 5),
				digits(x.Behind.Mean, 4), digits(x.Behind.SE, 5)))
			for _, h := range x.Items {
				items = append(items, append(id[:3:3], s.ds.Items[h.Item], s.Classes[h.Class], number(h.Mean),
					strconv.Itoa(h.Votes), strconv.Itoa(h.For), number(h.Lo[0]), number(h.Hi[0]),
					number(h.Lo[last]), number(h.Hi[last]), number(h.PIT), number(h.Score)))
			}
		}
	}
	for name, rows := range map[string][][]string{"coverage.csv": coverage, "scores.csv": scores, itemsFile: items} {
		if err := f.writeCSV(name, rows); err != nil {
			return err
		}
	}
	return nil
}

// Numbers implements [Results].
func (r *votesResult) Numbers() any {
	pass := true
	for _, b := range r.bars() {
		pass = pass && b.Pass
	}
	return struct {
		Study *Votes `json:"study"`
		Bars  []Bar  `json:"bars"`
		Pass  bool   `json:"pass"`
	}{r.Study, r.bars(), pass}
}

// shownVotes is the number of votes whose methods are drawn side by side.
func (r *votesResult) shownVotes() int { return r.Study.RivalVotes[0] }

// WriteFigures implements [Results].
func (r *votesResult) WriteFigures(f *Folder) error {
	for _, s := range r.Sets {
		figures := map[string]plot.Figure{s.Name + "-methods": r.coverageFigure(s), s.Name + "-votes": r.byVotesFigure(s),
			s.Name + "-pit": r.pitFigure(s)}
		for name, figure := range figures {
			if err := f.writeFigure(name, figure); err != nil {
				return err
			}
		}
	}
	return nil
}

// coverageSeries is a curve of Ĉ, without estimates above 100%.
func coverageSeries(label string, at []summary) plot.LineSeries {
	s := plot.LineSeries{Label: label}
	for l, v := range at {
		if v.Mean > 1 {
			continue
		}
		s.X, s.Y, s.SE = append(s.X, paperLevels[l]), append(s.Y, float64(v.Mean)), append(s.SE, float64(v.SE))
	}
	return s
}

func (r *votesResult) coverageFigure(s *setResult) plot.Figure {
	d := plot.Coverage{Title: fmt.Sprintf("Coverage by held-back votes: %s, %d votes trained on", s.Title, r.shownVotes()),
		Percent: true, XLabel: "nominal coverage (%)", YLabel: "coverage Ĉ (%)"}
	for _, x := range s.Methods {
		if x.Votes == r.shownVotes() {
			d.Series = append(d.Series, coverageSeries(x.Name, x.Corrected))
		}
	}
	return d
}

func (r *votesResult) byVotesFigure(s *setResult) plot.Figure {
	d := plot.Coverage{Title: "The defaults by the number of votes trained on: " + s.Title,
		Percent: true, XLabel: "nominal coverage (%)", YLabel: "coverage Ĉ (%)"}
	for _, name := range []string{votesReported, votesRaw} {
		for _, m := range r.Study.Votes {
			x := s.method(name, m)
			d.Series = append(d.Series, coverageSeries(fmt.Sprintf("%s, %d votes", name, m), x.Corrected))
		}
	}
	return d
}

func (r *votesResult) pitFigure(s *setResult) plot.Figure {
	d := plot.Histogram{Title: fmt.Sprintf("Where held-back votes fall in what is predicted: %s, %d votes trained on", s.Title, r.shownVotes()),
		XLabel: "probability integral transform of the count (flat is right)"}
	for _, name := range []string{votesReported, votesRaw, featureless} {
		x := s.method(name, r.shownVotes())
		v := plot.ValueSeries{Label: name}
		for _, h := range x.Items {
			v.Values = append(v.Values, h.PIT)
		}
		d.Series = append(d.Series, v)
	}
	return d
}
