package monitor

import (
	"fmt"
	"math"

	"credence/internal/words"
	"credence/mixture"
)

// Unlike is how an item differs from those of training.
type Unlike struct {
	Far     bool // a value is far outside the training range
	Unknown bool // a level is not in the training data
}

// InputRates are upper bounds of the rates of unlike items that are expected without a change.
type InputRates struct {
	Far     float64 `json:"far"`
	Unknown float64 `json:"unknown"`
}

// NewInputRates returns the upper bounds, at 95%, of the rates of which far and unknown of items held-out items are
// counts.
func NewInputRates(items, far, unknown int) InputRates {
	return InputRates{upperRate(far, items), upperRate(unknown, items)}
}

// upperRate returns the upper bound of Clopper and Pearson at 95% of a rate: x of n.
func upperRate(x, n int) float64 {
	if x >= n {
		return 1
	}
	b, err := mixture.NewBeta([]float64{1}, []float64{float64(x + 1)}, []float64{float64(n - x)})
	if err != nil {
		return 1
	}
	return b.Quantile(0.95)
}

// inputs is the evidence that items are unlike those of training more often than expected: about inputs, not about
// wrong predictions.
type inputs struct {
	rates                InputRates
	items, far, unknown  int
	farStream, newStream *process
}

// inputBets are the rates that inputs bet on, as factors of the expected rate.
var inputBets = []float64{2, 5, 20}

func newInputs(r *InputRates) *inputs {
	if r == nil {
		return nil
	}
	return &inputs{rates: *r, farStream: newProcess(len(inputBets)), newStream: newProcess(len(inputBets))}
}

// add adds an item.
func (n *inputs) add(u Unlike) {
	n.items++
	count := func(p *process, unlike bool, rate float64, total *int) {
		l := make([]float64, len(inputBets))
		for j, factor := range inputBets {
			q := math.Min(rate*factor, (1+rate)/2)
			if l[j] = (1 - q) / (1 - rate); unlike {
				l[j] = q / rate
			}
			if rate >= 1 {
				l[j] = 1
			}
		}
		if unlike {
			*total++
		}
		p.add(l, l, true, blockItems)
	}
	count(n.farStream, u.Far, n.rates.Far, &n.far)
	count(n.newStream, u.Unknown, n.rates.Unknown, &n.unknown)
}

// evidence returns the mean of the evidence of both kinds.
func (n *inputs) evidence() float64 {
	return (n.farStream.evidence().Strict + n.newStream.evidence().Strict) / 2
}

// words describes what was found.
func (n *inputs) words() string {
	count, rate, what := n.far, n.rates.Far, "a value far outside the training range"
	if n.newStream.evidence().Strict > n.farStream.evidence().Strict {
		count, rate, what = n.unknown, n.rates.Unknown, "a level that is not in the training data"
	}
	return fmt.Sprintf("%s of %s have %s, expected at most %.2g%%: inputs changed, predictions need not be wrong",
		words.Thousands(count), words.Plural(n.items, "item"), what, 100*rate)
}
