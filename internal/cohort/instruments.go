package cohort

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"credence/internal/rng"
)

// Level is the verdict of an instrument, from well to ill.
type Level int

// The levels of all instruments.
const (
	NC  Level = iota // normal control
	MCI              // mild cognitive impairment
	AD               // Alzheimer's disease
)

// String returns the paper's name of the level.
func (l Level) String() string { return [...]string{"NC", "MCI", "AD"}[l] }

// Instrument is a measurement of how ill a subject is: its reading is s + σε.
type Instrument struct {
	Name  string
	Error float64 // σ
	// Counts are how often the paper's 1,660 scans are NC, MCI and AD.
	Counts [3]int
	// scale are the values of each level, from well to ill, and their shares.
	scale [3][]step
}

type step struct {
	value, share float64
}

// Instruments are diagnosis, CDR and MMSE, with the counts of the paper's table.
// Within a level, values are given out by rank, in shares such as are usual
// among the patients of memory clinics.
var Instruments = [3]Instrument{
	{Name: "DX", Error: 0.35, Counts: [3]int{500, 822, 338},
		scale: [3][]step{{{0, 1}}, {{1, 1}}, {{2, 1}}}},
	{Name: "CDR", Error: 0.35, Counts: [3]int{664, 830, 166},
		scale: [3][]step{{{0, 1}}, {{0.5, 1}}, {{1, 0.86}, {2, 0.12}, {3, 0.02}}}},
	{Name: "MMSE", Error: 0.5, Counts: [3]int{785, 570, 305},
		scale: [3][]step{
			{{30, 0.42}, {29, 0.35}, {28, 0.23}},
			{{27, 0.32}, {26, 0.27}, {25, 0.22}, {24, 0.19}},
			{{23, 0.22}, {22, 0.18}, {21, 0.15}, {20, 0.12}, {19, 0.09}, {18, 0.07}, {17, 0.05}, {16, 0.04},
				{15, 0.03}, {14, 0.02}, {12, 0.02}, {10, 0.01}}}},
}

// diagnoses are the names of the levels in the column DX.
var diagnoses = [3]string{"CN", "MCI", "Dementia"}

// instruments takes the readings, cuts them, and fills in levels and values.
func (c *Cohort) instruments() {
	n := c.Options.Scans
	for l, in := range Instruments {
		readings := make([]float64, len(c.Scans))
		for i := range readings {
			s := &c.Scans[i]
			r := rand.New(rng.New(c.Seed, "cohort.reading."+string(s.Part), uint64(c.place(i)), uint64(l)))
			s.Reading[l] = s.Severity + in.Error*r.NormFloat64()
			readings[i] = s.Reading[l]
		}
		steps, counts := in.steps(n)
		order := make([]int, n)
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(readings[a], readings[b]) })

		// The study's scans by rank, so that every margin is exact.
		var cuts []float64
		at := 0
		for k, s := range steps {
			if k > 0 {
				cuts = append(cuts, cut(readings, order, at, in.Error))
			}
			if k > 0 && s.level == AD && steps[k-1].level != AD {
				c.Thresholds[l] = cuts[k-1]
			}
			for range counts[k] {
				c.Scans[order[at]].read(l, s.level, s.value)
				at++
			}
		}
		// Others by the same cuts.
		for i := n; i < len(c.Scans); i++ {
			k := 0
			for k < len(cuts) && readings[i] > cuts[k] {
				k++
			}
			c.Scans[i].read(l, steps[k].level, steps[k].value)
		}
	}
}

// read stores the level and value of instrument l.
func (s *Scan) read(l int, level Level, value float64) {
	s.Level[l] = level
	switch Instruments[l].Name {
	case "DX":
		s.DX = diagnoses[level]
	case "CDR":
		s.CDR = value
	case "MMSE":
		s.MMSE = int(value)
	}
}

// cut is the reading midway between those of ranks k−1 and k. Where one of them
// does not exist, it is the quantile that a whole cohort would have, and beyond
// all readings.
func cut(readings []float64, order []int, k int, sd float64) float64 {
	n := len(order)
	if k > 0 && k < n {
		return (readings[order[k-1]] + readings[order[k]]) / 2
	}
	// A share of less than half a scan.
	far := math.Sqrt(1+sd*sd) * math.Sqrt2 * math.Erfinv(1-1/float64(n+1))
	switch {
	case n == 0:
		return far
	case k == 0:
		return min(-far, readings[order[0]])
	}
	return max(far, readings[order[n-1]])
}

// leveled is one value of an instrument.
type leveled struct {
	level Level
	value float64
}

// steps returns the values of an instrument from well to ill and how many of n
// scans get each. Levels are divided as the paper's table is, and the scans of
// a level as its shares are, both by largest remainder.
func (in *Instrument) steps(n int) ([]leveled, []int) {
	var steps []leveled
	var counts []int
	shares := []float64{float64(in.Counts[0]), float64(in.Counts[1]), float64(in.Counts[2])}
	for level, m := range apportion(shares, n) {
		var within []float64
		for _, s := range in.scale[level] {
			steps = append(steps, leveled{Level(level), s.value})
			within = append(within, s.share)
		}
		counts = append(counts, apportion(within, m)...)
	}
	return steps, counts
}

// apportion divides n in proportion to shares by the method of the largest
// remainder; of equal remainders the first goes first.
func apportion(shares []float64, n int) []int {
	var sum float64
	for _, s := range shares {
		sum += s
	}
	counts, left := make([]int, len(shares)), n
	rest := make([]float64, len(shares))
	order := make([]int, len(shares))
	for i, s := range shares {
		exact := s * float64(n) / sum
		counts[i] = int(exact)
		rest[i], order[i] = exact-float64(counts[i]), i
		left -= counts[i]
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rest[b], rest[a]) })
	for _, i := range order[:left] {
		counts[i]++
	}
	return counts
}
