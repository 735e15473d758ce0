package run_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"credence/dataset"
	"credence/evaluate"
	"credence/run"
	"credence/train"
)

// ring returns items in the plane, whose votes depend on how far out they are.
func ring(n int) *dataset.Dataset {
	rows := &dataset.Memory{N: n, W: 2}
	ds := &dataset.Dataset{Classes: []string{"inside", "outside"}, Features: []dataset.Feature{{Name: "x"}, {Name: "y"}}, Rows: rows}
	for i := range n {
		x, y := math.Sin(float64(i)), math.Sin(2.3*float64(i))
		ds.Items = append(ds.Items, fmt.Sprint("item-", i))
		rows.Values = append(rows.Values, float32(x), float32(y))
		out := float32(math.Round(3 * min(1, x*x+y*y)))
		ds.Counts = append(ds.Counts, 3-out, out)
	}
	return ds
}

// A run leaves a fifth of the items alone, and its model is judged on them.
func Example() {
	folder, err := os.MkdirTemp("", "run")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "first")

	ds := ring(300)
	division, err := run.Divide(ds, 0, 0.2, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = run.Train(context.Background(), run.Folder(path), division, run.Options{
		Fit: train.Options{Epochs: 200, Ensemble: 2, Widths: []int{16}, Rate: 0.01, Seed: 1},
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	model, err := run.Load(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	test, err := run.Folder(path).Split(ds, run.TestSplit)
	if err != nil {
		fmt.Println(err)
		return
	}
	in, err := run.Input(model, test)
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := evaluate.Evaluate(*in, evaluate.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Items, "items,", result.Votes, "votes")
	fmt.Println("better than one distribution for all:", result.LessConstantDM.Hi < 0)
	// Output:
	// 60 items, 180 votes
	// better than one distribution for all: true
}
