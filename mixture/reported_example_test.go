package mixture_test

import (
	"fmt"
	"log"

	"credence/mixture"
)

// A distribution that is known to be too narrow, reported at a resolution of 0.02.
func ExampleReported() {
	m, err := mixture.NewDirichlet([]float64{0.8, 0.2}, [][]float64{{0.5, 12}, {4, 4}})
	if err != nil {
		log.Fatal(err)
	}
	dist, err := m.Rescale(1.3)
	if err != nil {
		log.Fatal(err)
	}
	item, err := mixture.NewReported(dist, 0.02)
	if err != nil {
		log.Fatal(err)
	}
	raw := m.Marginal(0).Interval(mixture.TwoSided, 0.9)
	i := item.Class(0).Interval(mixture.TwoSided, 0.9)
	fmt.Printf("mean %.3f, raw [%.5f, %.3f], reported [%.3f, %.3f]\n", item.Mean(nil)[0], raw.Lo, raw.Hi, i.Lo, i.Hi)

	after, err := item.Update([]float64{0, 400})
	if err != nil {
		log.Fatal(err)
	}
	i = after.Class(0).Interval(mixture.TwoSided, 0.9)
	fmt.Printf("after 400 votes against it: [%.3f, %.3f], at least 90%%: %v\n", i.Lo, i.Hi, i.AtLeast)
	// Output:
	// mean 0.132, raw [0.00026, 0.621], reported [0.000, 0.559]
	// after 400 votes against it: [0.000, 0.020], at least 90%: true
}

// Which of two items to ask about: where raters disagree by themselves a further
// vote changes little; where little is known, it changes much.
func ExampleDirichlet_Gain() {
	for _, alpha := range [][]float64{{50, 50}, {1, 1}} {
		m, err := mixture.NewDirichlet([]float64{1}, [][]float64{alpha})
		if err != nil {
			log.Fatal(err)
		}
		one, err := m.Gain(1)
		if err != nil {
			log.Fatal(err)
		}
		three, err := m.Gain(3)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("one vote %.5f, three %.5f\n", one, three)
	}
	// Output:
	// one vote 0.00005, three 0.00014
	// one vote 0.05556, three 0.10000
}

// Whether the spread is right, from pairs of votes: R = ΣD/ΣV and its standard
// error.
func ExampleDirichlet_PairError() {
	m, err := mixture.NewDirichlet([]float64{1}, [][]float64{{3, 3}})
	if err != nil {
		log.Fatal(err)
	}
	var d, v, variance float64
	for _, votes := range [][]float64{{2, 0}, {1, 1}, {0, 2}, {2, 0}} {
		e, err := m.PairError(votes)
		if err != nil {
			log.Fatal(err)
		}
		d += e
		v += m.Variance(nil)[0] + m.Variance(nil)[1]
		variance += m.PairVariance(2)
	}
	fmt.Printf("R = %.2f, variance of its numerator %.3f\n", d/v, variance)
	// Output:
	// R = 3.50, variance of its numerator 0.980
}
