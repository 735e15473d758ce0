package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"credence/dataset"
	"credence/internal/words"
	"credence/model"
)

// castVotes are votes on items of a request, as a model takes them into account.
type castVotes struct {
	votes    *dataset.Dataset
	voted    *model.Voted
	at       map[string]int // item → its index in votes
	warnings []string
}

// votesSchema describes the votes of a request.
func votesSchema() *huma.Schema {
	text := &huma.Schema{Type: "string"}
	counts := &huma.Schema{Type: "object", AdditionalProperties: &huma.Schema{Type: "number"},
		Description: "class → number of votes, of nobody in particular"}
	named := &huma.Schema{Type: "array", Items: &huma.Schema{Type: "object", Required: []string{"label"},
		Properties: map[string]*huma.Schema{"label": {OneOf: []*huma.Schema{text, {Type: "boolean"}}}, "rater": text}}, Description: "one by one, with who cast them"}
	return &huma.Schema{Type: "object", AdditionalProperties: &huma.Schema{AnyOf: []*huma.Schema{counts, named}},
		Description: "votes on items to take into account, by item; those of raters whom the model knows count by who cast them"}
}

// votes takes item → class → number, or item → [{"rater": …, "label": …}, …], as the long form of votes.
func (r *reader) votes() (*frame, error) {
	f := &frame{name: "the request's votes", columns: []column{{name: "item"}, {name: "rater"}, {name: "label"}, {name: "count"}}}
	err := r.object(func(key []byte) error {
		item := string(key)
		if r.peek() == '[' {
			return r.array(func(int) error { return r.namedVote(f, item) })
		}
		return r.object(func(key []byte) error {
			label := string(key)
			n, err := r.number()
			if err == nil {
				err = r.addVote(f, item, "", label, n)
			}
			return err
		})
	})
	return f, err
}

// namedVote takes {"rater": …, "label": …}.
func (r *reader) namedVote(f *frame, item string) error {
	var rater, label string
	err := r.object(func(key []byte) error {
		var to *string
		switch name := string(key); name {
		case "rater":
			to = &rater
		case "label":
			to = &label
		default:
			return badRequest("votes on item %q: found %q, expected rater and label", item, name)
		}
		for _, word := range []string{"true", "false"} {
			if to == &label && r.word(word) {
				label = word
				return nil
			}
		}
		text, err := r.str()
		*to = string(text)
		return err
	})
	if err == nil && label == "" {
		err = badRequest("votes on item %q: a vote has no label", item)
	}
	if err != nil {
		return err
	}
	return r.addVote(f, item, rater, label, 1)
}

// addVote adds a row to the long form of votes, of which there may be ten for each item of a request.
func (r *reader) addVote(f *frame, item, rater, label string, n float64) error {
	if most := 10 * r.limits.Rows; f.rows >= most {
		return failf(http.StatusRequestEntityTooLarge, "more than %d votes in a request", most)
	}
	f.columns[0].addText(item)
	if rater == "" {
		f.columns[1].addMissing()
	} else {
		f.columns[1].addText(rater)
	}
	f.columns[2].addText(label)
	f.columns[3].addNumber(n)
	f.rows++
	return nil
}

// cast reads votes as credence predict reads a file of them, and matches them with the model's
// classes and raters. Without any it returns nil.
func (s *served) cast(ctx context.Context, f *frame) (*castVotes, error) {
	if f == nil || f.rows == 0 {
		return nil, nil
	}
	if err := f.finish(); err != nil {
		return nil, err
	}
	c := &castVotes{at: map[string]int{}}
	var err error
	if c.votes, err = dataset.VotesOf(ctx, f, dataset.VotesOptions{Form: dataset.Long, Classes: s.model.Classes,
		Duplicates: s.read.VotesOptions.Duplicates}); err != nil {
		return nil, err
	}
	if c.voted, err = s.model.Match(c.votes); err != nil {
		return nil, badRequest("%w", err)
	}
	for j, item := range c.votes.Items {
		c.at[item] = j
	}
	for _, w := range c.votes.Warnings {
		if !errors.Is(w, dataset.ErrOneVote) {
			c.warnings = append(c.warnings, w.Error())
		}
	}
	switch unknown := c.voted.Unknown(); {
	case s.model.Crowd == nil:
	case len(c.votes.Raters) == 0:
		c.warnings = append(c.warnings, "the votes name no raters: each counts as one of an average rater")
	case len(unknown) > 0:
		c.warnings = append(c.warnings, fmt.Sprintf("%s of %s [%s] unknown to the model: their votes count as cast by average raters",
			words.Thousands(len(unknown)), words.Plural(len(c.votes.Raters), "rater"), words.Few(unknown)))
	}
	return c, nil
}

// update takes the votes into account.
func (c *castVotes) update(p *predicting, t *told) error {
	if c == nil {
		return nil
	}
	for j := range t.answers {
		if err := p.ctx.Err(); err != nil {
			return err
		}
		at, ok := c.at[t.items[j]]
		if !ok {
			continue
		}
		p.voted++
		if t.bad[j] != nil {
			continue
		}
		if t.answers[j].Law == nil {
			return failf(http.StatusBadRequest, "votes on item %q: the model, by method %s, has no distribution that they could change",
				t.items[j], t.of.model.Method.Name())
		}
		c.voted.Update(&t.answers[j], at)
		t.bad[j] = t.answers[j].Err
	}
	return nil
}

// doubts returns what is doubtful about the votes; done is whether p has seen all items.
func (c *castVotes) doubts(p *predicting, done bool) []string {
	if c == nil {
		return nil
	}
	if left := len(c.votes.Items) - p.voted; left > 0 && done {
		return append(c.warnings, fmt.Sprintf("votes on %s that the request does not have were not used", words.Plural(left, "item")))
	}
	return c.warnings
}
