package study

import (
	"math"
	"math/rand/v2"
	"strconv"

	"credence/dataset"
	"credence/internal/rng"
	"credence/internal/simulation"
	"credence/mixture"
	"credence/train"
)

// strataCase is a design in which intervals are judged by stratum.
type strataCase struct {
	name         string
	label        string // on the page
	items, votes int
	classes      int
	raters       string // Options.Raters; "" means the default
	ordered      bool   // classes are the points of a scale
	design       func(r *rand.Rand) simulatedItem
	// change changes the data after they were drawn, for training and for judging alike.
	change func(s *strataSample, r *rand.Rand)
}

// simulatedItem is an item: its features, its distribution given them, and the probabilities that were drawn from it.
type simulatedItem struct {
	x    []float64
	dist *mixture.Dirichlet // nil if probabilities are a function of the features
	p    []float64
	z    float64 // place on the scale of ordered classes
}

// strataSample are items with votes.
type strataSample struct {
	items   []simulatedItem
	counts  [][]int
	ratings []dataset.Rating
	raters  int
}

// drawSample draws n items of a case.
func (c *strataCase) drawSample(n int, seed uint64, what string) *strataSample {
	s := &strataSample{}
	for i := range n {
		r := rand.New(rng.New(seed, "strata."+c.name+what, uint64(i)))
		one := c.design(r)
		votes := make([]int, c.classes)
		for range c.votes {
			votes[pick(one.p, r.Float64())]++
		}
		s.items, s.counts = append(s.items, one), append(s.counts, votes)
	}
	if c.change != nil {
		c.change(s, rand.New(rng.New(seed, "strata."+c.name+what+".change", 0)))
	}
	return s
}

// pick returns the index at which the sum of probabilities exceeds u.
func pick(p []float64, u float64) int {
	for i, v := range p {
		if u -= v; u < 0 {
			return i
		}
	}
	return len(p) - 1
}

// dataset returns the sample as data to train on.
func (s *strataSample) dataset(classes int) *dataset.Dataset {
	w := len(s.items[0].x)
	ds := &dataset.Dataset{}
	for i := range classes {
		ds.Classes = append(ds.Classes, strconv.Itoa(i))
	}
	for i := range w {
		ds.Features = append(ds.Features, dataset.Feature{Name: "x" + strconv.Itoa(i+1), Kind: dataset.Numeric})
	}
	rows := &dataset.Memory{N: len(s.items), W: w}
	for i, one := range s.items {
		ds.Items = append(ds.Items, strconv.Itoa(i))
		for _, x := range one.x {
			rows.Values = append(rows.Values, float32(x))
		}
		for _, n := range s.counts[i] {
			ds.Counts = append(ds.Counts, float32(n))
		}
	}
	ds.Rows = rows
	if s.raters > 0 {
		ds.Ratings = s.ratings
		for i := range s.raters {
			ds.Raters = append(ds.Raters, "rater "+strconv.Itoa(i+1))
		}
	}
	return ds
}

// normals draws n standard normal numbers.
func normals(r *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = r.NormFloat64()
	}
	return x
}

func logistic(z float64) float64 { return 1 / (1 + math.Exp(-z)) }

// drawn returns an item with a Dirichlet distribution, and probabilities from it.
func drawn(x, alpha []float64, r *rand.Rand) simulatedItem {
	for i := range alpha {
		alpha[i] = min(max(alpha[i], 1e-90), 1e14)
	}
	dist, err := mixture.NewDirichlet([]float64{1}, [][]float64{alpha})
	if err != nil {
		panic(err) // the designs have valid parameters
	}
	return simulatedItem{x: x, dist: dist, p: dist.Sample(nil, r)}
}

// planeDesign returns one of the designs of package simulation.
func planeDesign(d simulation.Design) func(r *rand.Rand) simulatedItem {
	return func(r *rand.Rand) simulatedItem {
		x := d.Place(r)
		dist, err := d.Dist(x)
		if err != nil {
			panic(err) // it is one of the designs
		}
		_, a, b := dist.Component(0)
		return drawn(x[:], []float64{a, b}, r)
	}
}

// The designs. Items lie at x ~ N(0, I) unless they say otherwise.
var (
	// μ = σ(1.5 x₁), α₀ = exp(1 + 1.5 x₂).
	spreadDesign = planeDesign(simulation.Spread)
	paperDesign  = planeDesign(simulation.Paper)
	// Three classes: logits (1.2 x₁, 1.2 x₂, 0), α₀ = exp(1 + 1.2 x₃).
	threeDesign = func(r *rand.Rand) simulatedItem {
		x := normals(r, 3)
		total := math.Exp(1 + 1.2*x[2])
		e := []float64{math.Exp(1.2 * x[0]), math.Exp(1.2 * x[1]), 1}
		sum := e[0] + e[1] + e[2]
		for i := range e {
			e[i] *= total / sum
		}
		return drawn(x, e, r)
	}
	// p = σ(1.5 x₁ + x₂ x₁), without spread.
	exactDesign = func(r *rand.Rand) simulatedItem {
		x := normals(r, 2)
		p := logistic(1.5*x[0] + x[0]*x[1])
		return simulatedItem{x: x, p: []float64{p, 1 - p}}
	}
	// Five ordered classes: P(v ≤ k) = σ(θ_k − z), z = 1.5 x₁ + exp(0.5 x₂ − 0.3) u, u ~ N(0, 1), θ = ±0.7, ±2.
	orderedDesign = func(r *rand.Rand) simulatedItem {
		x := normals(r, 2)
		z := 1.5*x[0] + math.Exp(0.5*x[1]-0.3)*r.NormFloat64()
		return simulatedItem{x: x, p: orderedClasses(z), z: z}
	}
)

// orderedClasses returns the probabilities of five ordered classes at z.
func orderedClasses(z float64) []float64 {
	p, below := make([]float64, 5), 0.0
	for k, theta := range []float64{-2, -0.7, 0.7, 2, math.Inf(1)} {
		upTo := logistic(theta - z)
		p[k], below = upTo-below, upTo
	}
	return p
}

// biasedRaters replaces votes by those of four of ten named raters, whose biases on the scale of the classes are quantiles of
// a standard normal distribution. The truth becomes p̄, the mean of the ten.
func biasedRaters(s *strataSample, r *rand.Rand) {
	const raters = 10
	s.raters, s.ratings = raters, nil
	for i := range s.items {
		mean, by := make([]float64, 5), make([][]float64, raters)
		for k := range by {
			by[k] = orderedClasses(s.items[i].z + math.Sqrt2*math.Erfinv((2*float64(k)+1)/raters-1))
			for c, p := range by[k] {
				mean[c] += p / raters
			}
		}
		clear(s.counts[i])
		for _, rater := range r.Perm(raters)[:4] {
			class := pick(by[rater], r.Float64())
			s.counts[i][class]++
			s.ratings = append(s.ratings, dataset.Rating{Item: int32(i), Rater: int32(rater), Class: int32(class)})
		}
		s.items[i].p = mean
	}
}

// leaked adds a feature: the share of the item's own votes for the first class, with noise.
func leaked(noise float64) func(s *strataSample, r *rand.Rand) {
	return func(s *strataSample, r *rand.Rand) {
		for i := range s.items {
			share := float64(s.counts[i][0]) / float64(s.counts[i][0]+s.counts[i][1])
			s.items[i].x = append(s.items[i].x, share+noise*r.NormFloat64())
		}
	}
}

// flipped replaces votes by those of three of five named raters, the last of whom votes for the other class. The
// truth becomes p̄, the mean of the five.
func flipped(s *strataSample, r *rand.Rand) {
	s.raters, s.ratings = 5, nil
	for i := range s.items {
		p := s.items[i].p
		clear(s.counts[i])
		for _, rater := range r.Perm(5)[:3] {
			class := pick(p, r.Float64())
			if rater == 4 {
				class = 1 - class
			}
			s.counts[i][class]++
			s.ratings = append(s.ratings, dataset.Rating{Item: int32(i), Rater: int32(rater), Class: int32(class)})
		}
		s.items[i].p = []float64{0.8*p[0] + 0.2*p[1], 0.8*p[1] + 0.2*p[0]}
		s.items[i].dist = nil
	}
}

// tripled makes each third item and its successors the same item with the same votes, as in a file that was appended
// to itself.
func tripled(s *strataSample, _ *rand.Rand) {
	for i := range s.items {
		first := i - i%3
		s.items[i], s.counts[i] = s.items[first], s.counts[first]
	}
}

// strataCases are all cases.
var strataCases = []strataCase{
	{name: "spread", label: "spread, 2,000 items", items: 2000, votes: 2, classes: 2, design: spreadDesign},
	{name: "spread5000", label: "spread, 5,000 items", items: 5000, votes: 2, classes: 2, design: spreadDesign},
	{name: "three", label: "spread, three classes, 2,000 items", items: 2000, votes: 3, classes: 3, design: threeDesign},
	{name: "paper", label: "the paper's design, 4,000 items", items: 4000, votes: 2, classes: 2, design: paperDesign},
	{name: "exact", label: "no spread, 1,000 items", items: 1000, votes: 2, classes: 2, design: exactDesign},
	{name: "few", label: "spread, 60 items", items: 60, votes: 3, classes: 2, design: spreadDesign},
	{name: "leak", label: "a feature is the share of the votes, with noise", items: 2000, votes: 2, classes: 2, design: spreadDesign, change: leaked(0.3)},
	{name: "flipped", label: "one of five raters flipped, raters off", items: 1000, votes: 3, classes: 2, raters: "off", design: spreadDesign, change: flipped},
	{name: "duplicates", label: "every item three times", items: 1500, votes: 2, classes: 2, design: spreadDesign, change: tripled},
	{name: "ordered", label: "five ordered classes, 1,000 items", items: 1000, votes: 4, classes: 5, design: orderedDesign},
	{name: "biased", label: "five ordered classes, ten biased raters, 1,000 items", items: 1000, votes: 4, classes: 5, design: orderedDesign, change: biasedRaters},
	{name: "biasedoff", label: "the same, raters off", items: 1000, votes: 4, classes: 5, raters: "off", design: orderedDesign, change: biasedRaters},
	{name: "biasedscale", label: "the same, --ordered --raters on", items: 1000, votes: 4, classes: 5, raters: "on", ordered: true, design: orderedDesign, change: biasedRaters},
	{name: "ordered4000", label: "five ordered classes, 4,000 items", items: 4000, votes: 4, classes: 5, design: orderedDesign},
}

// options returns the options of a fit: the defaults of the command line.
func (c *strataCase) options(seed uint64) train.Options {
	return train.Options{Seed: seed, Ensemble: train.Defaults().Ensemble, NoReferences: true, Raters: c.raters}
}
