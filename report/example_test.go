package report_test

import (
	"bytes"
	"fmt"

	"credence/evaluate"
	"credence/head"
	"credence/mixture"
	"credence/report"
)

func ExampleWrite() {
	sure, _ := mixture.NewDirichlet([]float64{1}, [][]float64{{9, 1}})
	unsure, _ := mixture.NewDirichlet([]float64{1}, [][]float64{{2, 2}})
	in := report.Input{
		Title:       "Three patients",
		Classes:     []string{"healthy", "ill"},
		Items:       []string{"A", "B", "C"},
		Predictions: []head.Decoded{head.NewDecoded(sure), head.NewDecoded(unsure), head.NewDecoded(sure)},
	}
	in.Votes = evaluate.Votes{Classes: 2, Counts: []float64{3, 0, 1, 2, 4, 1}}
	var err error
	in.Result, err = evaluate.Evaluate(evaluate.Input{Predictions: in.Predictions, Votes: in.Votes, Classes: in.Classes}, evaluate.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	var page bytes.Buffer
	if err := report.Write(&page, in); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(bytes.Contains(page.Bytes(), []byte("<h1>Three patients</h1>")))
	// Output: true
}
