package dataset_test

import (
	"fmt"
	"io"
	"testing"

	"credence/dataset"
)

// query simulates the rows of a database query.
type query struct{ rows [][]dataset.Cell }

func (q *query) Name() string     { return "the query" }
func (q *query) Header() []string { return []string{"item", "age", "rater", "label"} }
func (q *query) Close() error     { return nil }

func (q *query) Next() ([]dataset.Cell, error) {
	if len(q.rows) == 0 {
		return nil, io.EOF
	}
	row := q.rows[0]
	q.rows = q.rows[1:]
	return row, nil
}

func newQuery() *query {
	age := func(x float64) dataset.Cell { return dataset.Cell{Kind: dataset.NumberCell, Num: x} }
	return &query{[][]dataset.Cell{{{Text: "a"}, age(61), {Text: "r1"}, {Text: "ill"}}, {{Text: "b"}, age(48), {Text: "r1"}, {Text: "well"}}}}
}

// Records of a caller are read as items and as votes.
func TestSource(t *testing.T) {
	votes, err := dataset.VotesOf(t.Context(), newQuery(), dataset.VotesOptions{})
	if err != nil || fmt.Sprint(votes.Items, votes.Classes, votes.Counts, votes.Raters) != "[a b] [ill well] [1 0 0 1] [r1]" {
		t.Error(votes, err)
	}
	in, err := dataset.StreamOf(t.Context(), newQuery(), []dataset.Feature{{Name: "age", Kind: dataset.Numeric}}, dataset.StreamOptions{})
	if err != nil {
		t.Fatal(err)
	}
	batch, err := in.Next()
	if err != nil || fmt.Sprint(batch.Items, batch.Rows.(*dataset.Memory).Values) != "[a b] [61 48]" {
		t.Error(batch, err)
	}
	bad := newQuery()
	bad.rows[1][1] = dataset.Cell{Text: "old"}
	in, err = dataset.StreamOf(t.Context(), bad, []dataset.Feature{{Name: "age", Kind: dataset.Numeric}}, dataset.StreamOptions{})
	if err == nil {
		_, err = in.Next()
	}
	if want := `reading the query: line 2, column 2 (age): expected a number, found "old"`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
