package dataset

import (
	"context"
	"fmt"
	"strconv"

	"credence/internal/table"
	"credence/internal/words"
)

// longVote is one row of the long form.
type longVote struct {
	item, rater, label int32
	count              float32
}

// longReader collects votes of the long form, one per row.
type longReader struct {
	t                               table.Table
	opts                            *VotesOptions
	item, label, rater, count, kind int // columns, or −1

	items, raters, labels idSet
	list                  []longVote
	blank                 int              // rows without a label
	withdrawn             int              // votes withdrawn by a later row without a label
	twice                 int              // votes by raters who had voted on the item before
	firstTwice            string           // description of the first of them
	last                  map[[2]int32]int // (item, rater) → index of its vote
	kinds                 []kindSet        // of each rater, if there is a column of kinds
	otherKind             error            // about the first value of that column that is no kind
}

// readLong reads one vote per row.
func readLong(ctx context.Context, t table.Table, item, label int, opts VotesOptions) (*votes, error) {
	r := &longReader{t: t, opts: &opts, item: item, label: label, last: map[[2]int32]int{}}
	if err := r.columns(); err != nil {
		return nil, err
	}
	if err := table.Records(ctx, t, r.add); err != nil {
		return nil, err
	}
	if len(r.items.names) == 0 {
		msg := "there are no rows below the header"
		if t.Traits().Roles != nil {
			msg = "none of its items has votes"
		}
		return nil, &ParseError{File: t.Name(), Msg: msg}
	}
	return r.votes()
}

// columns determines the columns of raters and counts; no column has two uses.
func (r *longReader) columns() (err error) {
	if r.item < 0 && !r.opts.numbered {
		return noColumn(r.t, "item", SetItem)
	}
	if r.label < 0 {
		return noColumn(r.t, "label", SetLabel)
	}
	if r.rater, err = findColumn(r.t, r.opts.RaterColumn, raterNames, table.RaterRole); err != nil {
		return err
	}
	if r.count, err = findColumn(r.t, r.opts.CountColumn, countNames, table.DataRole); err != nil {
		return err
	}
	r.kind = -1
	if r.rater >= 0 {
		r.kind = known(r.t.Header(), judgeKindNames)
	}
	for _, col := range []*int{&r.rater, &r.count, &r.kind} {
		if *col == r.item || *col == r.label || col != &r.rater && *col == r.rater {
			*col = -1
		}
	}
	return nil
}

// add adds the vote of a row and accounts for its memory.
func (r *longReader) add(rec []table.Cell) error {
	const text = 120 // bytes per text in a list and a map, in addition to its length
	before := len(r.items.names) + len(r.raters.names) + len(r.labels.names)
	if err := r.addVote(rec); err != nil {
		return err
	}
	size := 64 // of a vote, twice, with its map entry
	if len(r.items.names)+len(r.raters.names)+len(r.labels.names) > before {
		for _, col := range []int{r.item, r.rater, r.label} {
			if col >= 0 {
				size += text + len(rec[col].Text)
			}
		}
	}
	return r.t.Keep(size)
}

func (r *longReader) addVote(rec []table.Cell) error {
	id := strconv.Itoa(len(r.items.names))
	if r.item >= 0 {
		id = rec[r.item].String()
	}
	if id == "" {
		return r.t.ErrorAt(r.item, "the item has no id")
	}
	vote := longVote{item: r.items.code(id, r.t.Line()), rater: -1, label: -1, count: 1}
	if r.opts.missing(&rec[r.label], table.VoteNA) {
		r.blankVote(vote.item, rec)
		return nil
	}
	vote.label = r.labels.code(r.opts.spelling(rec[r.label].String()), r.t.Line())
	if len(r.labels.names) > 100*maxClasses {
		return r.t.ErrorAt(r.label, "more than %s different labels: is this the label column?", words.Thousands(100*maxClasses))
	}
	if r.count >= 0 {
		m, ok := rec[r.count].Number(r.t.Traits().Commas)
		if err := checkVotes(r.t, r.t.Line(), r.count, rec[r.count].String(), m, ok, votesRange); err != nil {
			return err
		}
		vote.count = float32(m)
	}
	if r.rater >= 0 && !r.opts.missing(&rec[r.rater], table.VoteNA) {
		vote.rater = r.raters.code(rec[r.rater].String(), r.t.Line())
		r.addKind(rec, vote.rater)
		if done, err := r.applyPolicy(vote); done || err != nil {
			return err
		}
		r.last[[2]int32{vote.item, vote.rater}] = len(r.list)
	}
	r.list = append(r.list, vote)
	return nil
}

// kindSet has the kinds that a rater has in the column of kinds.
type kindSet struct{ human, machine bool }

// addKind adds the kind of a rater, if there is a column of kinds.
func (r *longReader) addKind(rec []table.Cell, rater int32) {
	if r.kind < 0 || r.opts.missing(&rec[r.kind], table.VoteNA) {
		return
	}
	machine, ok := kindOfRater(rec[r.kind].String())
	if !ok {
		if r.otherKind == nil { // an error if other values are kinds: see kindsOf
			r.otherKind = r.t.ErrorAt(r.kind, "expected human or machine, found %q", rec[r.kind].String())
		}
		return
	}
	for int(rater) >= len(r.kinds) {
		r.kinds = append(r.kinds, kindSet{})
	}
	k := &r.kinds[rater]
	k.machine, k.human = k.machine || machine, k.human || !machine
}

// kindsOf sets the raters of each kind. A column without any kind is about something else.
func (r *longReader) kindsOf(v *votes) error {
	if r.kinds == nil {
		return nil
	}
	for i, k := range r.kinds {
		if k.machine {
			v.machines = append(v.machines, r.raters.names[i])
		}
		if k.human {
			v.people = append(v.people, r.raters.names[i])
		}
	}
	return r.otherKind
}

// blankVote handles a row without a label: with the policy LastVote, it withdraws the earlier vote
// of the rater.
func (r *longReader) blankVote(item int32, rec []table.Cell) {
	if r.opts.Duplicates == LastVote && r.rater >= 0 && !r.opts.missing(&rec[r.rater], table.VoteNA) {
		pair := [2]int32{item, r.raters.code(rec[r.rater].String(), r.t.Line())}
		if at, ok := r.last[pair]; ok {
			r.list[at].label = withdrawn
			delete(r.last, pair)
			r.withdrawn++
			return
		}
	}
	r.blank++
}

// withdrawn is the label of a vote that no longer counts.
const withdrawn = -1

// applyPolicy applies the policy Duplicates if the rater has voted on the item before, and
// reports whether the vote needs no further handling.
func (r *longReader) applyPolicy(vote longVote) (done bool, err error) {
	at, ok := r.last[[2]int32{vote.item, vote.rater}]
	if !ok {
		return false, nil
	}
	rater, item := r.raters.names[vote.rater], r.items.names[vote.item]
	if r.opts.Duplicates == RefuseSecond {
		return true, r.t.ErrorAt(-1, "second vote by rater %q on item %q", rater, item)
	}
	if r.twice++; r.twice == 1 {
		r.firstTwice = fmt.Sprintf("rater %s on item %s, %s", rater, item, table.Place(r.t, r.t.Line()))
	}
	if r.opts.Duplicates == LastVote {
		r.list[at] = vote
	}
	return r.opts.Duplicates != EveryVote, nil
}

// votes returns the collected votes.
func (r *longReader) votes() (*votes, error) {
	class, classes, err := r.labels.classes(r.t, r.opts)
	if err != nil {
		return nil, err
	}
	v, err := newVotes(r.t, r.items.names, classes)
	if err != nil {
		return nil, err
	}
	header := r.t.Header()
	v.Votes = Interpretation{Form: Long, LabelColumn: header[r.label]}
	for _, col := range []int{r.label, r.rater, r.count, r.kind} {
		if col >= 0 {
			v.columns = append(v.columns, header[col])
		}
	}
	if r.item >= 0 {
		v.Votes.ItemColumn = header[r.item]
	}
	if r.rater >= 0 {
		v.Votes.RaterColumn = header[r.rater]
		v.Raters, v.Ratings = r.raters.names, make([]Rating, 0, len(r.list))
		if err := r.kindsOf(v); err != nil {
			return nil, err
		}
	}
	left := 0
	for _, vote := range r.list {
		if vote.label == withdrawn {
			continue
		}
		c := class[vote.label]
		if c < 0 {
			left++
			continue
		}
		v.add(int(vote.item), int(c), vote.count)
		if vote.rater >= 0 {
			v.Ratings = append(v.Ratings, Rating{vote.item, vote.rater, c})
			if r.count >= 0 {
				v.amounts = append(v.amounts, vote.count)
			}
		}
	}
	if r.blank > 0 {
		v.warn("%s without a label left out", words.Plural(r.blank, "row"))
	}
	v.warnVotes(left, r.labels.names, class)
	if r.withdrawn > 0 {
		v.warn("%s withdrawn by a later row without a label", words.Plural(r.withdrawn, "vote"))
	}
	if r.twice > 0 {
		v.warn("%s by a rater who had voted on the item before (%s): %s", words.Plural(r.twice, "vote"), r.firstTwice, duplicatesText[r.opts.Duplicates])
	}
	return v.from(r.t), nil
}

// duplicatesText describes which of two votes counts.
var duplicatesText = map[Duplicates]string{LastVote: "the last vote counts", FirstVote: "the first vote counts", EveryVote: "every vote counts"}

func noColumn(t table.Table, what string, settle Setting) error {
	return advise(&ParseError{File: t.Name(), Msg: fmt.Sprintf("expected a column for the %s, found [%s]", what, words.Few(t.Header()))}, "", settle)
}

// warn adds a warning.
func (ds *Dataset) warn(format string, args ...any) {
	ds.Warnings = append(ds.Warnings, fmt.Errorf(format, args...))
}

// warnVotes adds a warning if votes were left out: those for the labels whose class is −1.
func (v *votes) warnVotes(left int, labels []string, class []int32) {
	if left == 0 {
		return
	}
	var unknown []string
	for k, c := range class {
		if c < 0 {
			unknown = append(unknown, labels[k])
		}
	}
	which := "labels"
	if unknown != nil {
		which += " [" + words.Few(quoted(unknown)) + "]"
	}
	v.warn("%s left out, for %s that are not among the classes %s", words.Plural(left, "vote"), which, classList(v.Classes))
}

// checkVotes returns an error if a cell of a line is not a number of votes: its value x, and whether
// it is a number. what describes what was expected.
func checkVotes(t table.Table, line, col int, text string, x float64, number bool, what string) error {
	if number && x >= 0 && x <= maxVotes {
		return nil
	}
	return errorIn(t, line, col, "expected %s, found %q", what, text)
}
