package serve

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"credence/internal/fault"
	"credence/internal/text"
	"credence/internal/votelog"
	"credence/internal/words"
)

// skipKey is the key prefix of a line without a label that records that a rater skipped the item. Other readers of
// the vote file treat the line as one without a vote.
const skipKey = "skip:"

func isSkip(v votelog.Vote) bool { return v.Label == "" && strings.HasPrefix(v.Key, skipKey) }

// mostSkipped bounds the number of skipped items that are remembered; the oldest are forgotten.
const mostSkipped = 100_000

// skip moves an item to the end of a rater's queue. It is written to the vote file, if there is one, so that a
// restart does not undo it; it does not count as a vote.
func (q *queue) skip(_ context.Context, in *skipInput) (*struct{}, error) {
	item, rater := in.Body.Item, in.Body.Rater
	p, release, err := q.get()
	if err != nil {
		return nil, err
	}
	i, err := p.find(item)
	voted := false
	if err == nil {
		_, voted = p.ballots.cast(i, rater)
	}
	release()
	if err != nil {
		return nil, err
	}
	if voted {
		return nil, failf(http.StatusConflict, "%q has voted on item %q: withdraw the vote first", rater, item)
	}
	if q.server.votes == nil {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.skipTo(itemRater{item, rater})
		return nil, nil
	}
	_, err = q.server.votes.Add(votelog.Vote{Item: item, Rater: rater, Key: skipKey + rand.Text(), Time: time.Now()})
	if err != nil && statusOf(err) == http.StatusInternalServerError {
		err = badRequest("%w", err)
	}
	q.voted()
	return nil, err
}

// skipTo remembers that a rater skipped an item, as the last of those that she skipped. The queue must be locked.
func (q *queue) skipTo(skipped itemRater) {
	if len(q.skipped) >= mostSkipped {
		oldest := q.skips - mostSkipped*9/10
		maps.DeleteFunc(q.skipped, func(_ itemRater, n int) bool { return n < oldest })
	}
	q.skips++
	q.skipped[skipped] = q.skips
}

// unskip forgets that a rater skipped an item. The queue must be locked.
func (q *queue) unskip(forgotten itemRater) { delete(q.skipped, forgotten) }

// holdFor is how long an item at the head of a rater's queue is reserved for her.
const holdFor = 10 * time.Minute

// reservation is the item at the head of a rater's queue, which counts as assigned to her.
type reservation struct {
	item  string
	until time.Time
}

// reserve reserves an item for a rater, instead of the one before.
func (q *queue) reserve(rater, item string) {
	q.holdMu.Lock()
	defer q.holdMu.Unlock()
	if q.held == nil || len(q.held) > mostSkipped {
		q.held = map[string]reservation{}
	}
	q.held[rater] = reservation{item, time.Now().Add(holdFor)}
}

// reserved returns how many other raters have each item at the head of their queue.
func (q *queue) reserved(rater string) map[string]int {
	q.holdMu.Lock()
	defer q.holdMu.Unlock()
	n, now := map[string]int{}, time.Now()
	for who, r := range q.held {
		if who != rater && now.Before(r.until) {
			n[r.item]++
		}
	}
	return n
}

// assigned returns how many raters have voted on item i or are undecided about it, in all files.
func (p *rankedItems) assigned(i int) int {
	v := p.ballots.count(i)
	n := float64(v.CannotTell)
	for _, c := range v.Counts {
		n += c
	}
	return int(n)
}

type raterNamesInput struct {
	Name string `query:"name" maxLength:"1024" doc:"a name to compare with the known ones"`
}

type raterNamesBody struct {
	Names []string `json:"names" doc:"raters with votes in the vote file or in the files of earlier votes, at most 1,000"`
	Known bool     `json:"known" doc:"whether name is one of them"`
	Like  string   `json:"like,omitempty" doc:"the known rater whose name resembles an unknown name"`
}

// mostNames bounds the list of known raters.
const mostNames = 1000

// raterNames lists the known raters, and compares a name with them.
func (p *rankedItems) raterNames(_ context.Context, in *raterNamesInput) (*raterNamesBody, error) {
	known := map[string]bool{}
	for _, marks := range p.ballots.marks {
		for _, m := range marks {
			known[m.rater] = true
		}
	}
	for _, e := range p.ballots.earlier {
		for _, m := range e.named {
			known[m.rater] = true
		}
	}
	delete(known, "")
	out := &raterNamesBody{Names: make([]string, 0, len(known)), Known: known[in.Name]}
	for name := range known {
		out.Names = append(out.Names, name)
	}
	slices.Sort(out.Names)
	if in.Name != "" && !out.Known {
		out.Like = resembling(in.Name, out.Names)
	}
	out.Names = out.Names[:min(len(out.Names), mostNames)]
	return out, nil
}

// resembling returns the name that differs from the given one only in case, spaces or Unicode form, otherwise the
// one with the smallest edit distance if that is small; "" if there is none. Names that differ only in a number,
// such as rater1 and rater2, are different people.
func resembling(name string, names []string) string {
	mine := text.SameName(name)
	letters := func(s string) string {
		return strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' {
				return -1
			}
			return r
		}, s)
	}
	best, least := "", 3
	for _, other := range names {
		theirs := text.SameName(other)
		d := words.Distance(mine, theirs)
		switch shorter := min(len(mine), len(theirs)); {
		case d == 0:
			return other
		case letters(mine) == letters(theirs), d >= least, shorter < 4 && d > 0, shorter < 8 && d > 1:
			continue
		}
		best, least = other, d
	}
	return best
}

type instructionsBody struct {
	Text string `json:"text" doc:"instructions for raters, Markdown; empty if there are none"`
}

// mostInstructions bounds the bytes of the file of instructions.
const mostInstructions = 256 << 10

// instructions returns the instructions for raters. The file is read every time, so that it can be edited.
func (s *Server) instructions(context.Context, *struct{}) (*instructionsBody, error) {
	if s.queue == nil {
		return nil, errNoItems
	}
	text, err := readInstructions(s.options.Queue.Instructions)
	return &instructionsBody{text}, err
}

// readInstructions reads a file of instructions; "" if there is none.
func readInstructions(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", fault.Of(path, err)
	}
	if info.IsDir() || info.Size() > mostInstructions {
		return "", fmt.Errorf("%s: expected a text file of at most %d kB", path, mostInstructions>>10)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", fault.Of(path, err)
	}
	if !utf8.Valid(b) {
		return "", fmt.Errorf("%s: expected UTF-8 text, found other bytes: save the file as UTF-8", path)
	}
	if strings.TrimSpace(string(b)) == "" {
		return "", fmt.Errorf("%s: expected instructions, found an empty file", path)
	}
	return strings.TrimPrefix(string(b), "\ufeff"), nil
}

type searchInput struct {
	Contains string `query:"contains" required:"true" minLength:"1" maxLength:"1024" doc:"part of an id or of a text, case-insensitive"`
}

type searchBody struct {
	Items []string `json:"items" doc:"ids of the items that contain it, in the order of the file"`
}

// search returns the items whose id or text contains a string.
func (p *rankedItems) search(ctx context.Context, in *searchInput) (*searchBody, error) {
	out := &searchBody{Items: []string{}}
	find := strings.ToLower(in.Contains)
	for i, id := range p.ids {
		if err := stopped(ctx, i); err != nil {
			return nil, err
		}
		if p.contains(i, find) {
			out.Items = append(out.Items, id)
		}
	}
	return out, nil
}

// contains reports whether the id or a text of item i contains a string in lower case.
func (p *rankedItems) contains(i int, find string) bool {
	if strings.Contains(strings.ToLower(p.ids[i]), find) {
		return true
	}
	return slices.ContainsFunc(p.rows.texts(i), func(s string) bool { return strings.Contains(strings.ToLower(s), find) })
}
