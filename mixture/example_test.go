package mixture_test

import (
	"fmt"
	"log"
	"math/rand/v2"

	"credence/mixture"
)

// Two readers could be right: the probability is near 0.9 or near 0.1.
func ExampleBeta() {
	m, err := mixture.NewBeta([]float64{0.5, 0.5}, []float64{30, 3}, []float64{4, 25})
	if err != nil {
		log.Fatal(err)
	}
	i := m.Interval(mixture.TwoSided, 0.95)
	fmt.Printf("mean %.3f, 95%% interval [%.3f, %.3f]\n", m.Mean(), i.Lo, i.Hi)
	for _, piece := range m.HighestDensity(0.95) {
		fmt.Printf("likely between %.3f and %.3f\n", piece.Lo, piece.Hi)
	}
	fmt.Printf("P(p > 0.5) = %.4f\n", m.Survival(0.5))
	// Output:
	// mean 0.495, 95% interval [0.031, 0.958]
	// likely between 0.013 and 0.219
	// likely between 0.774 and 0.976
	// P(p > 0.5) = 0.5000
}

// Quantiles keep their digits at both ends, however extreme.
func ExampleBeta_QuantileBoth() {
	m, err := mixture.NewBeta([]float64{1}, []float64{1e7}, []float64{2})
	if err != nil {
		log.Fatal(err)
	}
	x, complement := m.QuantileBoth(0.975)
	fmt.Printf("%.12f, %.6g below 1\n", x, complement)

	tiny, err := mixture.NewBeta([]float64{1}, []float64{0.001}, []float64{1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%g, logit %.1f\n", tiny.Quantile(0.025), tiny.QuantileLogit(0.025))
	// Output:
	// 0.999999975779, 2.42209e-08 below 1
	// 0, logit -3688.9
}

// Three classes, and what two further votes do to them.
func ExampleDirichlet() {
	m, err := mixture.NewDirichlet(
		[]float64{0.6, 0.4},
		[][]float64{{8, 2, 1}, {1, 3, 3}},
	)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("mean %.3f\n", m.Mean(nil))
	fmt.Printf("most probable class %.3f\n", m.TopClass(nil))

	after, err := m.Update([]float64{0, 0, 2})
	if err != nil {
		log.Fatal(err)
	}
	i := after.Marginal(2).Interval(mixture.TwoSided, 0.9)
	fmt.Printf("after two votes for the last: %.3f, its 90%% interval [%.3f, %.3f]\n", after.Mean(nil), i.Lo, i.Hi)
	// Output:
	// mean [0.494 0.281 0.226]
	// most probable class [0.607 0.201 0.192]
	// after two votes for the last: [0.159 0.316 0.524], its 90% interval [0.197, 0.801]
}

// The smallest region of the simplex that contains 90% of the mass.
func ExampleRegion() {
	m, err := mixture.NewDirichlet([]float64{1}, [][]float64{{10, 5, 5}})
	if err != nil {
		log.Fatal(err)
	}
	region, err := m.Region(0.9, 0, 1)
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range [][]float64{{0.5, 0.25, 0.25}, {0.1, 0.45, 0.45}} {
		in, err := region.Contains(p)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(p, in)
	}
	// Output:
	// [0.5 0.25 0.25] true
	// [0.1 0.45 0.45] false
}

// Many mixtures at once, on all cores.
func ExampleIntervalsInto() {
	rows := mixture.BetaBatch{
		K:       2,
		Weights: []float64{0.5, 0.5, 0.9, 0.1},
		A:       []float64{30, 3, 2, 1},
		B:       []float64{4, 25, 5, 1},
	}
	intervals := make([]mixture.Interval, rows.Len())
	if err := mixture.IntervalsInto(intervals, rows, mixture.TwoSided, 0.95); err != nil {
		log.Fatal(err)
	}
	for _, i := range intervals {
		fmt.Printf("[%.3f, %.3f]\n", i.Lo, i.Hi)
	}
	// Output:
	// [0.031, 0.958]
	// [0.042, 0.775]
}

func ExampleDirichlet_Sample() {
	m, err := mixture.NewDirichlet([]float64{1}, [][]float64{{200, 100, 100}})
	if err != nil {
		log.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	mean := make([]float64, 3)
	var p []float64
	for range 1000 {
		p = m.Sample(p[:0], r)
		for i := range mean {
			mean[i] += p[i] / 1000
		}
	}
	fmt.Printf("%.2f\n", mean)
	// Output:
	// [0.50 0.25 0.25]
}
