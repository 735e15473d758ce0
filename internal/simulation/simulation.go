// Package simulation implements the design of Wu et al. (ICML 2019) and similar ones,
// which studies and demonstrations draw from.
package simulation

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strconv"

	"credence/dataset"
	"credence/internal/atomicfile"
	"credence/internal/rng"
	"credence/mixture"
)

// Design is a distribution of items in the plane: of their places, and the Beta
// distribution of the probability of class 0 at each place.
type Design string

const (
	// Paper is the design of the paper's comparison with other methods. With
	// ψ₁ an equal mixture of Gaussians at (−2, 2) and (2, −2), ψ₂ of those at
	// (2, 2) and (−2, −2), each of variance 0.7, items are drawn from all four
	// and
	//
	//	p ~ Beta(ψ₁/ψ₂ + 1, ψ₂/ψ₁ + 1).
	//
	// The variance of p is then a function of its mean.
	Paper Design = "paper"
	// Spread lets mean and spread vary independently:
	//
	//	x ~ N(0, I),  μ = σ(1.5 x₁),  α₀ = exp(1 + 1.5 x₂),  p ~ Beta(μα₀, (1−μ)α₀).
	Spread Design = "spread"
)

// Designs are all designs.
var Designs = []Design{Paper, Spread}

// Simulation is a sample of a design.
type Simulation struct {
	Design Design
	X      [][2]float64 // [N] places
	P      []float64    // [N] probability of class 0, as drawn
	Q      []float64    // [N] that of class 1, with the digits that 1 − P has lost
	Votes  [][2]int     // [N] votes for class 0 and class 1
}

// Simulate draws items with the given number of votes each. Equal arguments
// give equal samples; an item's draws do not depend on the number of items.
func Simulate(d Design, items, votes int, seed uint64) (*Simulation, error) {
	s := &Simulation{Design: d}
	for i := range items {
		r := rand.New(rng.New(seed, "study."+string(d), uint64(i)))
		x := d.Place(r)
		dist, err := d.Dist(x)
		if err != nil {
			return nil, err
		}
		pair := dist.Dirichlet().Sample(nil, r)
		p := pair[0]
		var v [2]int
		for range votes {
			if r.Float64() < p {
				v[0]++
			} else {
				v[1]++
			}
		}
		s.X, s.P, s.Q, s.Votes = append(s.X, x), append(s.P, p), append(s.Q, pair[1]), append(s.Votes, v)
	}
	return s, nil
}

// PaperVariance is the variance of each of the Gaussians of Paper.
const PaperVariance = 0.7

// Place draws where an item lies.
func (d Design) Place(r *rand.Rand) [2]float64 {
	center, sd := [2]float64{}, 1.0
	if d == Paper {
		center = [4][2]float64{{-2, 2}, {2, -2}, {2, 2}, {-2, -2}}[r.IntN(4)]
		sd = math.Sqrt(PaperVariance)
	}
	return [2]float64{center[0] + sd*r.NormFloat64(), center[1] + sd*r.NormFloat64()}
}

// Dist returns the true distribution of the probability of class 0 at x.
func (d Design) Dist(x [2]float64) (*mixture.Beta, error) {
	var a, b float64
	switch d {
	case Paper:
		l := logPair(x, [2]float64{-2, 2}, [2]float64{2, -2}) - logPair(x, [2]float64{2, 2}, [2]float64{-2, -2})
		// Far out the ratio leaves the range of parameters, and the distribution is almost
		// a point mass.
		l = min(max(l, -30), 30)
		a, b = math.Exp(l)+1, math.Exp(-l)+1
	case Spread:
		mean := 1 / (1 + math.Exp(-1.5*x[0]))
		total := math.Exp(1 + 1.5*x[1])
		a, b = mean*total, total/(1+math.Exp(1.5*x[0]))
	default:
		return nil, fmt.Errorf("expected one of the designs %v, found %q", Designs, d)
	}
	return mixture.NewBeta([]float64{1}, []float64{a}, []float64{b})
}

// logPair returns ln of the sum of two Gaussian densities, up to a constant.
func logPair(x, c0, c1 [2]float64) float64 {
	l0, l1 := logBump(x, c0), logBump(x, c1)
	return max(l0, l1) + math.Log1p(math.Exp(-math.Abs(l0-l1)))
}

func logBump(x, c [2]float64) float64 {
	u, v := x[0]-c[0], x[1]-c[1]
	return -(u*u + v*v) / (2 * PaperVariance)
}

// Dataset returns the sample as data, with the probabilities as truth.
func (s *Simulation) Dataset() *dataset.Dataset {
	ds := &dataset.Dataset{
		Classes:  []string{"0", "1"},
		Features: []dataset.Feature{{Name: "x1", Kind: dataset.Numeric}, {Name: "x2", Kind: dataset.Numeric}},
	}
	rows := &dataset.Memory{N: len(s.X), W: 2}
	for i, x := range s.X {
		ds.Items = append(ds.Items, strconv.Itoa(i))
		rows.Values = append(rows.Values, float32(x[0]), float32(x[1]))
		ds.Counts = append(ds.Counts, float32(s.Votes[i][0]), float32(s.Votes[i][1]))
	}
	ds.Rows = rows
	return ds
}

// Truth returns the true class probabilities [N × 2].
func (s *Simulation) Truth() []float64 {
	var t []float64
	for i, p := range s.P {
		t = append(t, p, s.Q[i])
	}
	return t
}

// WriteFiles writes a sample as the CSV files that credence reads, items, votes
// and, if requested, the truth, with names that begin with prefix.
func (s *Simulation) WriteFiles(folder, prefix string, truth bool) error {
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	items, votes, p := [][]string{{"item", "x1", "x2"}}, [][]string{{"item", "label"}}, [][]string{{"item", "0", "1"}}
	for i, x := range s.X {
		id := strconv.Itoa(i)
		items = append(items, []string{id, number(float64(float32(x[0]))), number(float64(float32(x[1])))})
		p = append(p, []string{id, number(s.P[i]), number(1 - s.P[i])})
		for class, n := range s.Votes[i] {
			for range n {
				votes = append(votes, []string{id, strconv.Itoa(class)})
			}
		}
	}
	files := []struct {
		name string
		rows [][]string
	}{{"items", items}, {"votes", votes}, {"truth", p}}
	if !truth {
		files = files[:2]
	}
	for _, f := range files {
		err := atomicfile.Write(filepath.Join(folder, prefix+f.name+".csv"), func(w io.Writer) error {
			return csv.NewWriter(w).WriteAll(f.rows)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
