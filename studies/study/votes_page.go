package study

import (
	"fmt"
	"slices"
)

// votesPage are the numbers of the page pages/votes.md.
type votesPage struct {
	Study  *Votes
	Bars   []Bar
	Shown  int      // number of votes whose methods are drawn side by side
	Levels []string // of the intervals
	Sets   []votesSetPage
	// ItemsSum is the SHA-256 of the file of items.
	ItemsSum string
	Missing  []string // sets that were not in the folder
}

// votesSetPage are the numbers of the section on a set.
type votesSetPage struct {
	*setResult
	Photographs   bool
	Judged        int // items, in all splits
	Trained       int // items, in one split
	Panels        int // of raters
	Fewest, Most  int // votes held back on an item
	Table         []*votesMethod
	Best          []bestScore
	Reported, Raw *votesMethod // of the shown number of votes
	Featureless   *votesMethod // of the shown number of votes
	Exceeds       bool         // an estimate of coverage is above 100%
}

// NoKnowledge reports whether intervals at 95% are so wide that their coverage is no evidence of knowledge.
func (x *votesSetPage) NoKnowledge() bool {
	return float64(x.Reported.Width[len(paperLevels)-1].Mean) >= wideInterval
}

// bestScore is the method that predicts the held-back counts best.
type bestScore struct {
	Votes int
	Name  string
	Score summary
}

// Page implements [Results].
func (r *votesResult) Page(f *Folder) (any, error) {
	p := &votesPage{Study: r.Study, Bars: r.bars(), Shown: r.shownVotes()}
	for _, l := range paperLevels {
		p.Levels = append(p.Levels, fmt.Sprintf("%.0f%%", 100*l))
	}
	for _, kind := range voteKinds {
		if !r.Study.has(kind.name) {
			p.Missing = append(p.Missing, kind.title)
		}
	}
	var err error
	if p.ItemsSum, err = sumFile(f.Path(itemsFile)); err != nil {
		return nil, err
	}
	for _, s := range r.Sets {
		x := votesSetPage{setResult: s, Photographs: s.images, Table: s.Methods, Panels: s.clusters,
			Reported: s.method(votesReported, p.Shown), Raw: s.method(votesRaw, p.Shown), Featureless: s.method(featureless, p.Shown),
			Exceeds: slices.ContainsFunc(s.Methods, (*votesMethod).Exceeds)}
		x.Judged, x.Trained = len(x.Reported.Items), x.Reported.Trained
		x.Fewest = x.Reported.Items[0].Votes
		for _, h := range x.Reported.Items {
			x.Fewest, x.Most = min(x.Fewest, h.Votes), max(x.Most, h.Votes)
		}
		for _, m := range r.Study.Votes {
			of := slices.DeleteFunc(slices.Clone(s.Methods), func(y *votesMethod) bool { return y.Votes != m })
			best := slices.MinFunc(of, func(a, b *votesMethod) int {
				if a.Score.Mean < b.Score.Mean {
					return -1
				}
				return 1
			})
			x.Best = append(x.Best, bestScore{m, best.Name, best.Score})
		}
		p.Sets = append(p.Sets, x)
	}
	return p, nil
}
