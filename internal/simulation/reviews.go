package simulation

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"

	"credence/dataset"
	"credence/internal/atomicfile"
	"credence/internal/rng"
	"credence/mixture"
)

// Reviews are short reviews of restaurants, which simulated raters call negative or positive: items that a person can
// judge as well. A review has two or three statements, each with a value v; raters disagree most where the statements
// contradict each other:
//
//	μ = σ(Σ v),  p ~ Beta(μα₀, (1−μ)α₀),  α₀ = 12 / (1 + Σ|v| − |Σ v|).
type Reviews struct {
	Texts []string
	P     []float64 // [N] probability of a positive vote
	Votes [][]rating
}

// rating is a vote of a simulated rater.
type rating struct {
	rater string
	class int // 1: positive
}

// ReviewClasses are the classes of reviews.
var ReviewClasses = []string{"negative", "positive"}

// reviewers are the simulated raters.
var reviewers = []string{"Ada", "Ben", "Chloe", "Dev", "Ema"}

// statement is a sentence of a review with its value on the logit scale.
type statement struct {
	text  string
	value float64
}

// aspects are groups of statements; a review has at most one of each.
var aspects = [][]statement{
	{{"The food was outstanding.", 2.2}, {"The soup tasted fresh.", 1.1}, {"We liked most of the dishes.", 1.3}, {"The food was all right.", 0.2}, {"My pasta was a bit bland.", -0.9}, {"The fish was undercooked.", -1.6}, {"The food was awful.", -2.4}},
	{{"Our waiter was charming.", 1.4}, {"The service was quick.", 1.0}, {"The staff were polite enough.", 0.3}, {"We waited half an hour for the menu.", -1.1}, {"The waiter was rude.", -1.9}, {"Nobody apologized for the wrong order.", -1.5}},
	{{"Good value for the price.", 1.2}, {"Cheaper than I expected.", 0.8}, {"Prices are as everywhere.", 0}, {"Rather expensive for such small portions.", -1.0}, {"Far too expensive.", -1.5}},
	{{"The terrace is lovely.", 1.1}, {"A cozy room with candles.", 0.9}, {"It was very busy that evening.", -0.1}, {"The music was too loud.", -0.7}, {"The table was sticky.", -1.3}},
	{{"We will certainly come back.", 1.8}, {"I might go again for lunch.", 0.6}, {"Not sure what to make of it.", -0.1}, {"I have been to better places.", -0.9}, {"Never again.", -2.2}},
}

// SimulateReviews draws reviews with the given number of votes each, by different raters.
func SimulateReviews(items, votes int, seed uint64) (*Reviews, error) {
	if votes < 1 || votes > len(reviewers) {
		return nil, fmt.Errorf("expected 1 to %d votes per review, found %d", len(reviewers), votes)
	}
	s := &Reviews{}
	for i := range items {
		r := rand.New(rng.New(seed, "reviews", uint64(i)))
		var text []string
		sum, size := 0.0, 0.0
		for _, a := range r.Perm(len(aspects))[:2+r.IntN(2)] {
			x := aspects[a][r.IntN(len(aspects[a]))]
			text = append(text, x.text)
			sum, size = sum+x.value, size+math.Abs(x.value)
		}
		mean, total := 1/(1+math.Exp(-sum)), 12/(1+size-math.Abs(sum))
		dist, err := mixture.NewBeta([]float64{1}, []float64{mean * total}, []float64{total / (1 + math.Exp(sum))})
		if err != nil {
			return nil, err
		}
		p := dist.Dirichlet().Sample(nil, r)[0]
		var list []rating
		for _, k := range r.Perm(len(reviewers))[:votes] {
			class := 0
			if r.Float64() < p {
				class = 1
			}
			list = append(list, rating{reviewers[k], class})
		}
		s.Texts, s.P, s.Votes = append(s.Texts, strings.Join(text, " ")), append(s.P, p), append(s.Votes, list)
	}
	return s, nil
}

// item returns the id of review i.
func (s *Reviews) item(i int) string { return fmt.Sprintf("review%03d", i+1) }

// Dataset returns the sample as data.
func (s *Reviews) Dataset() *dataset.Dataset {
	rows := &dataset.Memory{N: len(s.Texts), W: 1}
	ds := &dataset.Dataset{Classes: ReviewClasses, Raters: reviewers, Rows: rows,
		Features: []dataset.Feature{{Name: "review", Kind: dataset.Text, Texts: s.Texts}}}
	for i, list := range s.Votes {
		ds.Items = append(ds.Items, s.item(i))
		rows.Values = append(rows.Values, float32(i))
		counts := make([]float32, 2)
		for _, v := range list {
			counts[v.class]++
			for k, name := range reviewers {
				if name == v.rater {
					ds.Ratings = append(ds.Ratings, dataset.Rating{Item: int32(i), Rater: int32(k), Class: int32(v.class)})
				}
			}
		}
		ds.Counts = append(ds.Counts, counts...)
	}
	return ds
}

// Truth returns the true class probabilities [N × 2].
func (s *Reviews) Truth() []float64 {
	var t []float64
	for _, p := range s.P {
		t = append(t, 1-p, p)
	}
	return t
}

// WriteFiles writes the sample as the CSV files that credence reads, like [Simulation.WriteFiles].
func (s *Reviews) WriteFiles(folder, prefix string, truth bool) error {
	items, votes, p := [][]string{{"item", "review"}}, [][]string{{"item", "rater", "label"}}, [][]string{{"item", "negative", "positive"}}
	for i, text := range s.Texts {
		id := s.item(i)
		items = append(items, []string{id, text})
		p = append(p, []string{id, strconv.FormatFloat(1-s.P[i], 'g', -1, 64), strconv.FormatFloat(s.P[i], 'g', -1, 64)})
		for _, v := range s.Votes[i] {
			votes = append(votes, []string{id, v.rater, ReviewClasses[v.class]})
		}
	}
	write := func(name string, rows [][]string) error {
		return atomicfile.Write(filepath.Join(folder, prefix+name+".csv"), func(w io.Writer) error { return csv.NewWriter(w).WriteAll(rows) })
	}
	err := errors.Join(write("items", items), write("votes", votes))
	if truth {
		err = errors.Join(err, write("truth", p))
	}
	return err
}
