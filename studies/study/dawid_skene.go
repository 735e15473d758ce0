package study

import (
	"math"

	"credence/dataset"
)

// dawidSkene is the model of Dawid and Skene (Applied Statistics 1979), fitted to votes: every
// item has one true class, drawn from Prior, and a rater votes for class l on an item of class c with
// the probability Confusion[r][c·d + l]. It uses no features and covers only the items voted on.
type dawidSkene struct {
	Prior     []float64   // [d]
	Confusion [][]float64 // [raters][d × d]
	Posterior []float64   // [N × d], of the true class of each item
}

// leastChance keeps probabilities above zero, since their logarithm is taken.
const leastChance = 1e-10

// fitDawidSkene maximizes the likelihood of the ratings of ds by the given number of steps of expectation
// maximization, from the shares of votes on each item.
func fitDawidSkene(ds *dataset.Dataset, steps int) *dawidSkene {
	n, d := ds.Len(), len(ds.Classes)
	m := &dawidSkene{Prior: make([]float64, d), Posterior: make([]float64, n*d)}
	for range ds.Raters {
		m.Confusion = append(m.Confusion, make([]float64, d*d))
	}
	for _, r := range ds.Ratings {
		m.Posterior[int(r.Item)*d+int(r.Class)]++
	}
	for j := range n {
		normalize(m.Posterior[j*d : (j+1)*d])
	}
	m.maximize(ds.Ratings)
	for range steps {
		m.expect(ds.Ratings)
		m.maximize(ds.Ratings)
	}
	return m
}

// maximize fits the confusion matrices and the prior to the posteriors.
func (m *dawidSkene) maximize(ratings []dataset.Rating) {
	d := len(m.Prior)
	clear(m.Prior)
	for k, p := range m.Posterior {
		m.Prior[k%d] += p
	}
	normalize(m.Prior)
	for _, c := range m.Confusion {
		clear(c)
	}
	for _, r := range ratings {
		for c := range d {
			m.Confusion[r.Rater][c*d+int(r.Class)] += m.Posterior[int(r.Item)*d+c]
		}
	}
	for _, confusion := range m.Confusion {
		for c := range d {
			row := confusion[c*d : (c+1)*d]
			for l := range row {
				row[l] = max(row[l], leastChance)
			}
			normalize(row)
		}
	}
}

// expect finds the posteriors, in logarithms.
func (m *dawidSkene) expect(ratings []dataset.Rating) {
	d := len(m.Prior)
	for k := range m.Posterior {
		m.Posterior[k] = math.Log(max(m.Prior[k%d], leastChance))
	}
	for _, r := range ratings {
		for c := range d {
			m.Posterior[int(r.Item)*d+c] += math.Log(m.Confusion[r.Rater][c*d+int(r.Class)])
		}
	}
	for lo := 0; lo < len(m.Posterior); lo += d {
		row := m.Posterior[lo : lo+d]
		most := row[0]
		for _, x := range row {
			most = max(most, x)
		}
		for c := range row {
			row[c] = math.Exp(row[c] - most)
		}
		normalize(row)
	}
}

// normalize makes numbers sum to one; all zeros become equal shares.
func normalize(p []float64) {
	sum := 0.0
	for _, x := range p {
		sum += x
	}
	for i := range p {
		if sum > 0 {
			p[i] /= sum
		} else {
			p[i] = 1 / float64(len(p))
		}
	}
}

// bias returns a rater's tendency to vote for class 1, whatever the item: the mean of the
// logits of doing so on items of class 0 and of class 1.
func (m *dawidSkene) bias(r int) float64 {
	c := m.Confusion[r]
	return (math.Log(c[1]/c[0]) + math.Log(c[3]/c[2])) / 2
}

// guessing returns one less Youden's index of a rater: 1 if her votes do not depend on the true class.
func (m *dawidSkene) guessing(r int) float64 {
	c := m.Confusion[r]
	return 1 - (c[0] + c[3] - 1)
}
