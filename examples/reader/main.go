// Command reader trains on items and votes that are in no file, through a dataset.Source of its own: here two slices, in practice a
// database, a queue or a format that the package does not read.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"strconv"

	"credence/dataset"
	"credence/model"
	"credence/predict"
	"credence/train"
)

// rows is a dataset.Source of records in memory.
type rows struct {
	name    string
	header  []string
	records [][]string
	cells   []dataset.Cell
}

// Name is what error messages call the source.
func (r *rows) Name() string { return r.name }

// Header returns the names of the columns.
func (r *rows) Header() []string { return r.header }

// Next returns the next record: numbers as numbers, everything else as text.
func (r *rows) Next() ([]dataset.Cell, error) {
	if len(r.records) == 0 {
		return nil, io.EOF
	}
	r.cells = r.cells[:0]
	for _, text := range r.records[0] {
		cell := dataset.Cell{Text: text}
		if x, err := strconv.ParseFloat(text, 64); err == nil {
			cell = dataset.Cell{Kind: dataset.NumberCell, Num: x}
		}
		r.cells = append(r.cells, cell)
	}
	r.records = r.records[1:]
	return r.cells, nil
}

// Close has nothing to close.
func (r *rows) Close() error { return nil }

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	votes := &rows{name: "the table of votes", header: []string{"item", "rater", "label"}}
	ds := &dataset.Dataset{Features: []dataset.Feature{{Name: "size", Kind: dataset.Numeric}}}
	values := &dataset.Memory{W: 1}
	for i := range 60 {
		id := fmt.Sprint("nodule ", i)
		ds.Items = append(ds.Items, id)
		values.N, values.Values = values.N+1, append(values.Values, float32(i))
		for k, rater := range []string{"ann", "bob", "eve"} {
			label := "benign"
			if i > 15+15*k { // the larger a nodule, the more readers call it malignant
				label = "malignant"
			}
			votes.records = append(votes.records, []string{id, rater, label})
		}
	}
	ds.Rows = values
	read, err := dataset.VotesOf(ctx, votes, dataset.VotesOptions{})
	if err != nil {
		return err
	}
	ds.Classes, ds.Counts = read.Classes, read.Counts
	trained, err := train.Fit(ctx, ds, train.Options{Epochs: 60, Seed: 1})
	if err != nil {
		return err
	}
	return show(ctx, trained.Model, &rows{name: "the table of items", header: []string{"item", "size"},
		records: [][]string{{"a small one", "5"}, {"a large one", "55"}}})
}

// show predicts the items of a source.
func show(ctx context.Context, m *model.Model, source dataset.Source) error {
	items, err := dataset.StreamOf(ctx, source, m.Transform.Schema(), dataset.StreamOptions{})
	if err != nil {
		return err
	}
	defer items.Close()
	for batch, err := range predict.New(m, predict.Options{}).Run(ctx, items) {
		if err != nil {
			return err
		}
		for _, p := range batch.Predictions {
			class := 0
			if p.Mean[1] > p.Mean[0] {
				class = 1
			}
			fmt.Printf("%s is probably %s\n", p.Item, m.Classes[class])
		}
	}
	return nil
}
