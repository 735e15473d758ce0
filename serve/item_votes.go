package serve

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"credence/dataset"
	"credence/predict"
)

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
	err := r.Object(func(key []byte) error {
		item := string(key)
		if r.Peek() == '[' {
			return r.Array(func(int) error { return r.namedVote(f, item) })
		}
		return r.Object(func(key []byte) error {
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
	err := r.Object(func(key []byte) error {
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
		text, err := r.String()
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
func (s *served) cast(ctx context.Context, f *frame) (*predict.Votes, error) {
	if f == nil || f.rows == 0 {
		return nil, nil
	}
	if !s.law {
		return nil, badRequest("votes on items: the model, by method %s, has no distribution that they could change", s.model.Method.Name())
	}
	if err := f.finish(); err != nil {
		return nil, err
	}
	ds, err := dataset.VotesOf(ctx, f, dataset.VotesOptions{Form: dataset.Long, Classes: s.model.Classes,
		Duplicates: s.read.VotesOptions.Duplicates})
	if err != nil {
		return nil, err
	}
	v, err := predict.MatchVotes(s.model, ds)
	if err != nil {
		return nil, badRequest("%w", err)
	}
	return v, nil
}
