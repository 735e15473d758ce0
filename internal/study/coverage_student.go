package study

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"credence/dataset"
	"credence/evaluate"
	"credence/head"
	"credence/internal/mnist"
	"credence/mixture"
	"credence/model"
	"credence/nn"
	"credence/train"
)

// student is an ensemble of mixture networks that learned from votes, with the
// weights that each member had after each epoch.
type student struct {
	model   *model.Model
	weights [][][]float32 // [member][epoch − 1]
	held    [][]int       // [member] images held out
	best    []int         // [member] epoch that early stopping keeps
	votes   evaluate.Votes
	train   dataset.Rows // network inputs
	test    dataset.Rows
}

// newStudent trains on the votes of the images. If on is true, members train on
// to the last epoch; early stopping keeps the same weights either way.
func newStudent(ctx context.Context, set, test *mnist.Set, g grouping, counts []float32,
	o train.Options, on bool) (*student, error) {
	patience := o.Patience
	if on {
		o.Patience = o.Epochs
	}
	ds := imageData(set, g.Names, counts)
	s := &student{votes: evaluate.NewVotes(ds)}
	o.NoReferences = true
	var mu sync.Mutex
	o.AfterEpoch = func(now train.Snapshot) {
		mu.Lock()
		defer mu.Unlock()
		for len(s.weights) <= now.Index {
			s.weights, s.held = append(s.weights, nil), append(s.held, nil)
		}
		s.weights[now.Index] = append(s.weights[now.Index], slices.Clone(now.Values))
		s.held[now.Index] = slices.Clone(now.Held)
	}
	fit, err := train.Fit(ctx, ds, o)
	if err != nil {
		return nil, err
	}
	s.model = fit.Model
	for i, r := range fit.Model.Provenance.Runs {
		if len(r.History) != len(s.weights[i]) || len(fit.Model.Members[i].States) > 0 {
			return nil, fmt.Errorf("%s: the weights of %d of %d epochs are known", r.Name,
				len(s.weights[i]), len(r.History))
		}
		s.best = append(s.best, keptEpoch(r.History, patience))
	}
	if s.train, err = s.inputs(ds); err != nil {
		return nil, err
	}
	s.test, err = s.inputs(imageData(test, g.Names, make([]float32, test.Len()*len(g.Names))))
	return s, err
}

// keptEpoch is the epoch with the smallest held-out loss before so many epochs
// went by without a smaller one.
func keptEpoch(history []model.Epoch, patience int) int {
	best := 0
	for i, e := range history {
		if *e.HeldOut < *history[best].HeldOut {
			best = i
		}
		if i-best >= patience {
			break
		}
	}
	return best + 1
}

// heldOut is the mean loss per vote of the images that members held out.
func (s *student) heldOut() float64 {
	sum := 0.0
	for m, e := range s.best {
		sum += *s.model.Provenance.Runs[m].History[e-1].HeldOut
	}
	return sum / float64(len(s.best))
}

// imageData are images with votes as data to train on.
func imageData(set *mnist.Set, classes []string, counts []float32) *dataset.Dataset {
	ds := &dataset.Dataset{
		Classes: classes, Counts: counts, Rows: set,
		Parts: []dataset.Part{{Name: "image", Kind: dataset.Tensor, Shape: []int{1, mnist.Height, mnist.Width}}},
	}
	for i := range set.Len() {
		ds.Items = append(ds.Items, strconv.Itoa(i))
	}
	return ds
}

func (s *student) inputs(ds *dataset.Dataset) (dataset.Rows, error) {
	return s.model.Transform.Over(ds)
}

// predict returns what the given members say of the test images after the given epoch of each, and
// how that is to be reported, as training finds it: by the votes on the images that each held out.
func (s *student) predict(members, epochs []int) ([]*mixture.Dirichlet, *head.Calibration, error) {
	h, err := s.model.Head()
	if err != nil {
		return nil, nil, err
	}
	outputs := make([]head.Output, len(members))
	all := make([][]head.Answer, len(members)) // of the training images
	held := train.NewHeldOut(s.votes.Classes, max(2, len(members)))
	for k, m := range members {
		net := s.model.Members[m]
		copy(net.Values, s.weights[m][epochs[k]-1])
		if outputs[k].Raw, err = forward(net, s.test, indices(0, s.test.Len())); err != nil {
			return nil, nil, err
		}
		out, err := forward(net, s.train, indices(0, s.train.Len()))
		if err != nil {
			return nil, nil, err
		}
		if all[k], err = head.Decode(h, []head.Output{{Raw: out}}, s.train.Len()); err != nil {
			return nil, nil, err
		}
		for _, j := range s.held[m] {
			held.Add(all[k][j].Law, s.counts(j), k)
		}
	}
	within := &train.Within{}
	if len(members) > 1 {
		one := make([]head.Answer, len(members))
		for j := range s.train.Len() {
			for k := range all {
				one[k] = all[k][j]
			}
			within.Add(one)
		}
	}
	c, err := held.Calibration(within.Share())
	if err != nil {
		return nil, nil, err
	}
	c.Resolution = s.model.Calibration.Resolution
	predicted, err := head.Decode(h, outputs, s.test.Len())
	return head.Laws(predicted), &c, err
}

// counts returns the votes on training image j.
func (s *student) counts(j int) []float32 {
	var list []float32
	for _, v := range s.votes.Item(j) {
		list = append(list, float32(v))
	}
	return list
}

// forward returns the raw outputs of a network for some rows.
func forward(net *nn.Network, rows dataset.Rows, items []int) ([]float32, error) {
	const batch = 250
	session, err := net.NewSession(batch)
	if err != nil {
		return nil, err
	}
	x := make([]float32, batch*rows.Width())
	var outputs []float32
	for lo := 0; lo < len(items); lo += batch {
		part := items[lo:min(lo+batch, len(items))]
		for j, i := range part {
			if err := rows.ReadRow(i, x[j*rows.Width():(j+1)*rows.Width()]); err != nil {
				return nil, err
			}
		}
		out, err := session.Forward(x[:len(part)*rows.Width()], nn.Pass{})
		if err != nil {
			return nil, err
		}
		outputs = append(outputs, out...)
	}
	return outputs, nil
}

// chosen carries the bars.
const chosen = single

// studentOptions is the configuration of students. Weight decay and large
// batches, which leave concentrations low, widen intervals that the resolution
// rule widens again.
var studentOptions = train.Options{
	Network: "lenet5", Head: head.Mixture{Components: 3}, Optimizer: "adam", Rate: 1e-3,
	WeightDecay: -1, Schedule: "constant",
	Batch: 32, Epochs: 14, Patience: 4, Ensemble: 5,
}
