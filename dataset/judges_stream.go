package dataset

import (
	"context"
	"fmt"
	"slices"

	"credence/internal/table"
	"credence/internal/words"
)

// judged returns a stream of items that open opens without judges, with the votes of judges in o.Judges joined to them; with alone, of
// the items of o.Judges.
func (o StreamOptions) judged(ctx context.Context, alone bool, schema []Feature, open func([]Feature, StreamOptions) (*Stream, error)) (*Stream, error) {
	judges, rest := o.Judges, withoutJudges(schema)
	o.Judges = nil
	if alone {
		if len(rest) > 0 {
			return nil, fmt.Errorf("expected a file of items with the feature %q, with which the model was trained besides judges, found none", rest[0].Name)
		}
		return &Stream{ctx: ctx, features: judges.Features, opts: o, f: &features{Dataset: *judges}}, nil
	}
	s, err := open(rest, o)
	if err == nil {
		s.beside = append(s.beside, &features{Dataset: Dataset{Items: judges.Items, Features: judges.Features, Rows: judges.Rows},
			at: placesOf(judges.Items), partial: true})
	}
	return s, err
}

// checkJudgeColumns returns an error if a table of items has no column for any of the judges of a model, or one for a judge that looks
// like another version of one of them.
func checkJudgeColumns(t table.Table, schema []Feature) error {
	judges := JudgesOf(schema)
	if len(judges) == 0 {
		return nil
	}
	found := 0
	for _, name := range t.Header() {
		switch {
		case slices.Contains(judges, name):
			found++
		case featureNamed(schema, name) < 0 && resembles(name, judges):
			return &ParseError{File: t.Name(), Msg: UnknownJudge(name, judges)}
		}
	}
	if found == 0 {
		return advise(&ParseError{File: t.Name(),
			Msg: fmt.Sprintf("no votes of judges: expected a column for at least one of the judges of the model [%s], or a file of their votes", words.Few(judges))}, "", SetVotes)
	}
	return nil
}

// OnlyJudges returns ds without features other than judges. Only ds needs to be closed.
func (ds *Dataset) OnlyJudges() *Dataset {
	c := *ds
	c.Features, c.Columns, c.closers = nil, nil, nil
	var from []int
	at := 0
	for _, p := range ds.Features {
		if p.Judge {
			c.Features, from = append(c.Features, p), append(from, at)
		}
		at += p.Width()
	}
	c.Rows = rowsBy{ds.Rows.Len(), len(from), func(i int, dst []float32) error {
		row := make([]float32, ds.Rows.Width())
		if err := ds.Rows.ReadRow(i, row); err != nil {
			return err
		}
		for k, f := range from {
			dst[k] = row[f]
		}
		return nil
	}}
	return &c
}
