package dataset

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"credence/internal/table"
	"credence/internal/words"
)

// longVote is one row of the long form.
type longVote struct {
	item, rater, label int32
	count              float32
}

// readLong reads one vote a row.
func readLong(ctx context.Context, t table.Table, item, label int, opts VotesOptions) (*Votes, error) {
	if item < 0 && !opts.numbered {
		return nil, noColumn(t, "item", SetItem)
	}
	if label < 0 {
		return nil, noColumn(t, "label", SetLabel)
	}
	rater, err := findColumn(t, opts.RaterColumn, raterNames)
	if err != nil {
		return nil, err
	}
	count, err := findColumn(t, opts.CountColumn, countNames)
	if err != nil {
		return nil, err
	}
	if rater == label || rater == item || count == label || count == item {
		rater, count = except(rater, item, label), except(count, item, label)
	}
	var (
		items, raters ids
		names         labels
		votes         []longVote
		blank         int
		twice         []string
		last          = map[[2]int32]int{} // (item, rater) → index of its vote
	)
	err = table.Records(ctx, t, func(rec []table.Cell) error {
		id := strconv.Itoa(len(items.names))
		if item >= 0 {
			id = rec[item].String()
		}
		if id == "" {
			return t.ErrorAt(item, "the item has no id")
		}
		vote := longVote{item: items.code(id), rater: -1, label: -1, count: 1}
		if opts.missing(&rec[label], table.VoteNA) {
			blank++
			return nil
		}
		vote.label = names.code(rec[label].String(), t.Line(), label)
		if len(names.names) > 100*maxClasses {
			return t.ErrorAt(label, "more than %s different labels: is this the label column?", words.Thousands(100*maxClasses))
		}
		if count >= 0 {
			m, err := votesIn(t, count, &rec[count])
			if err != nil {
				return err
			}
			vote.count = float32(m)
		}
		if rater >= 0 && !opts.missing(&rec[rater], table.VoteNA) {
			vote.rater = raters.code(rec[rater].String())
			key := [2]int32{vote.item, vote.rater}
			if at, ok := last[key]; ok {
				if opts.Duplicates == RefuseSecond {
					return t.ErrorAt(-1, "rater %q votes on item %q a second time", raters.names[vote.rater], id)
				}
				twice = append(twice, fmt.Sprintf("rater %s on item %s, line %d", raters.names[vote.rater], items.names[vote.item], t.Line()))
				switch opts.Duplicates {
				case LastVote:
					votes[at] = vote
					return nil
				case FirstVote:
					return nil
				}
			}
			last[key] = len(votes)
		}
		votes = append(votes, vote)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(items.names) == 0 {
		return nil, &ParseError{File: t.Name(), Msg: "there are no rows below the header"}
	}
	class, classes, err := names.classes(t, &opts)
	if err != nil {
		return nil, err
	}
	v := &Votes{Items: items.names, Classes: classes, Counts: make([]float32, len(items.names)*len(classes))}
	header := t.Header()
	v.How = Interpretation{Form: Long, LabelColumn: header[label]}
	if item >= 0 {
		v.How.ItemColumn = header[item]
	}
	if rater >= 0 {
		v.How.RaterColumn = header[rater]
		v.Raters, v.Ratings = raters.names, make([]Rating, 0, len(votes))
	}
	left := 0
	for _, vote := range votes {
		c := class[vote.label]
		if c < 0 {
			left++
			continue
		}
		v.add(int(vote.item), int(c), vote.count)
		if vote.rater >= 0 {
			v.Ratings = append(v.Ratings, Rating{vote.item, vote.rater, c})
		}
	}
	v.warnVotes(blank, left)
	if len(twice) > 0 {
		what := map[Duplicates]string{LastVote: "the last vote counts", FirstVote: "the first vote counts", EveryVote: "every vote counts"}
		v.warn("%s by a rater who had voted on the item before (%s): %s", number(len(twice), "vote"), twice[0], what[opts.Duplicates])
	}
	return v, nil
}

// except returns −1 in place of a column that has another use.
func except(col int, others ...int) int {
	for _, o := range others {
		if col == o {
			return -1
		}
	}
	return col
}

func noColumn(t table.Table, what string, settle Setting) error {
	return advise(&ParseError{File: t.Name(), Msg: fmt.Sprintf("no column looks like the %s among [%s]", what, words.Few(t.Header()))}, "", settle)
}

func (v *Votes) warn(format string, args ...any) {
	v.Warnings = append(v.Warnings, fmt.Errorf(format, args...))
}

// warnVotes reports votes without a label and those for unknown classes.
func (v *Votes) warnVotes(blank, left int) {
	if blank > 0 && v.How.Form == Long {
		v.warn("%s without a label left out", number(blank, "row"))
	}
	if left > 0 {
		v.warn("%s left out, for labels that are not among the classes %s", number(left, "vote"), classList(v.Classes))
	}
}

// votesIn reads a number of votes.
func votesIn(t table.Table, col int, c *table.Cell) (float64, error) {
	m, ok := c.Number(t.Traits().Commas)
	switch {
	case !ok:
		return 0, t.ErrorAt(col, "%q is not a number of votes", c.String())
	case m < 0:
		return 0, t.ErrorAt(col, "%s votes: a count cannot be negative", c.String())
	case m > maxVotes || math.IsNaN(m):
		return 0, t.ErrorAt(col, "%s votes: more than %s cannot be counted", c.String(), words.Thousands(maxVotes))
	}
	return m, nil
}

// ids numbers names in order of first appearance.
type ids struct {
	codes map[string]int32
	names []string
}

func (s *ids) code(name string) int32 {
	if c, ok := s.codes[name]; ok {
		return c
	}
	if s.codes == nil {
		s.codes = map[string]int32{}
	}
	c := int32(len(s.names))
	name = strings.Clone(name)
	s.codes[name] = c
	s.names = append(s.names, name)
	return c
}
