package evaluate_test

import (
	"fmt"

	"credence/dataset"
	"credence/evaluate"
	"credence/head"
	"credence/mixture"
)

func ExampleEvaluate() {
	sure, _ := mixture.NewDirichlet([]float64{1}, [][]float64{{9, 1}})
	unsure, _ := mixture.NewDirichlet([]float64{1}, [][]float64{{2, 2}})
	r, err := evaluate.Evaluate(evaluate.Input{
		Predictions: []head.Decoded{head.NewDecoded(sure), head.NewDecoded(unsure), head.NewDecoded(sure)},
		Votes:       evaluate.Votes{Classes: 2, Counts: []float64{3, 0, 1, 2, 4, 1}},
		Classes:     []string{"healthy", "ill"},
	}, evaluate.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.3f nats per vote over %v votes, accuracy %.2f\n", r.NLL.Value, r.Votes, r.Accuracy.Value)
	fmt.Println(r.Warnings[0])
	// Output:
	// 0.509 nats per vote over 11 votes, accuracy 0.67
	// only 3 items with votes: all numbers are imprecise
}

func ExampleCheck() {
	r, err := evaluate.Check(&dataset.Dataset{
		Items: []string{"a", "b", "c", "d", "e"}, Classes: []string{"healthy", "ill"},
		Counts: []float32{3, 0, 1, 2, 4, 1, 0, 4, 2, 2},
	}, evaluate.CheckOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("alpha %.2f, kappa %.2f\n", r.AlphaNominal.Value, r.FleissKappa.Value)
	fmt.Println(r.Support.Intervals, r.Support.Reasons[0])
	// Output:
	// alpha 0.33, kappa 0.30
	// no there are too few votes to determine the variance that intervals depend on: more items, or more votes per item, help
}

func ExampleAllocate() {
	known, _ := mixture.NewDirichlet([]float64{1}, [][]float64{{500, 500}})          // one half, for sure
	open, _ := mixture.NewDirichlet([]float64{1}, [][]float64{{1, 1}})               // it could be anything
	modes, _ := mixture.NewDirichlet([]float64{.5, .5}, [][]float64{{9, 3}, {3, 9}}) // three to one, either way
	gains, err := evaluate.Gains([]*mixture.Dirichlet{known, open, modes}, 4, 3)
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := evaluate.Allocate(gains, 4)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("votes %v, expected to take %.3f off the variance; spread evenly %.3f\n", plan.Votes, plan.Total, plan.Even)
	// Output: votes [0 2 2], expected to take 0.156 off the variance; spread evenly 0.121
}

// Decisions on a class, scored against votes: here two votes on each of six items.
func ExampleDecisions() {
	in := evaluate.Input{Classes: []string{"benign", "malignant"}, Votes: evaluate.Votes{Classes: 2, Counts: []float64{2, 0, 2, 0, 1, 1, 2, 0, 1, 1, 0, 2}}}
	for _, p := range []float64{0.1, 0.2, 0.3, 0.4, 0.6, 0.9} {
		in.Predictions = append(in.Predictions, head.Decoded{Mean: []float64{1 - p, p}})
	}
	r, err := evaluate.Evaluate(in, evaluate.Options{Decisions: evaluate.DecisionOptions{Positive: "malignant", Thresholds: []float64{0.25}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	d := r.Decisions
	fmt.Printf("compared with %s\n", d.Basis())
	fmt.Printf("AUC %.3f, sensitivity %.2f, specificity %.2f, net benefit %.3f\n", d.AUC.Value,
		d.Thresholds[0].Sensitivity.Value, d.Thresholds[0].Specificity.Value, d.Thresholds[0].NetBenefit.Value)
	// Output:
	// compared with the votes on 6 items, each item by its share of votes: the opinion of a further rater
	// AUC 0.900, sensitivity 1.00, specificity 0.50, net benefit 0.222
}
