package dataset_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"credence/dataset"
)

// Features and votes are read from two files and joined on the item column;
// the transform is fitted on the training part and applied to new items.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	items, votes := filepath.Join(dir, "items.csv"), filepath.Join(dir, "votes.csv")
	os.WriteFile(items, []byte("item,age,sex\na,40,f\nb,50,m\nc,,f\nd,60,m\n"), 0o644)
	os.WriteFile(votes, []byte("item,reader,label\na,r1,benign\na,r2,malignant\nb,r1,malignant\nc,r2,benign\nc,r1,benign\nd,r1,benign\n"), 0o644)

	ds, err := dataset.Load(context.Background(), dataset.LoadOptions{Data: []string{items}, Votes: []string{votes}})
	if err != nil {
		panic(err)
	}
	defer ds.Close()
	how, _, _ := strings.Cut(ds.Votes.String(), ";")
	fmt.Println(how)
	fmt.Println(dataset.DescribeColumns(ds.Columns))

	split, err := dataset.NewSplit(ds, dataset.SplitOptions{Validation: 0.25, Seed: 7})
	if err != nil {
		panic(err)
	}
	transform, err := dataset.Fit(ds, split.Train, dataset.TransformOptions{})
	if err != nil {
		panic(err)
	}
	fmt.Println(transform.Inputs()[0].Features)

	stream, err := dataset.NewStream(context.Background(), strings.NewReader("item,sex,age\nnew,f,NA\n"), "stdin", transform.Schema(), dataset.StreamOptions{})
	if err != nil {
		panic(err)
	}
	for batch, err := range stream.All() {
		if err != nil {
			panic(err)
		}
		inputs, err := transform.Over(batch.Dataset)
		if err != nil {
			panic(err)
		}
		x := make([]float32, inputs.Width())
		if err := inputs.ReadRow(0, x); err != nil {
			panic(err)
		}
		fmt.Println(batch.Items[0], x)
	}
	// Output:
	// 4 items, 2 classes, 1–2 votes per item (6 in all), 2 raters
	// 2 features: 1 numeric, 1 categorical (sex); 1 missing value
	// [age age missing sex=f sex=m]
	// new [0 1 1 0]
}
