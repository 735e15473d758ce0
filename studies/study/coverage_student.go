package study

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"credence/calibrate"
	"credence/dataset"
	"credence/evaluate"
	"credence/head"
	"credence/internal/mnist"
	"credence/mixture"
	"credence/model"
	"credence/nn"
	"credence/train"
)

// student is an ensemble of mixture networks that learned from votes, with the weights that each
// member had after each epoch.
type student struct {
	model   *model.Model
	options train.Options // of the fit, complete
	weights [][][]float32 // [member][epoch − 1]
	held    [][]int       // [member] images held out
	best    []int         // [member] epoch that early stopping keeps
	votes   evaluate.Votes
	train   dataset.Rows // network inputs
	test    dataset.Rows
	sample  []int         // training images on which members are compared
	latest  []epochOutput // [member]
}

// epochOutput has the outputs of a member after an epoch.
type epochOutput struct {
	epoch        int
	test         []float32      // outputs for the test images
	held, sample []head.Decoded // for the images that it held out, and for those of the sample
}

// sampleSize bounds the training images on which members are compared, as training does.
const sampleSize = 20_000

// newStudent trains on the votes of the images.
func newStudent(ctx context.Context, set, test *mnist.Set, g grouping, counts []float32,
	o train.Options) (*student, error) {
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
	s.model, s.options = fit.Model, fit.Options
	for i, r := range fit.Model.Provenance.Runs {
		if len(r.History) != len(s.weights[i]) || len(fit.Model.Members[i].States) > 0 {
			return nil, fmt.Errorf("%s: the weights of %d of %d epochs are known", r.Name,
				len(s.weights[i]), len(r.History))
		}
		if r.Epoch == 0 {
			return nil, fmt.Errorf("%s: no epoch of %d is better than the start", r.Name, len(r.History))
		}
		s.best = append(s.best, r.Epoch)
	}
	s.latest = make([]epochOutput, len(s.best))
	for j, every := 0, (set.Len()+sampleSize-1)/sampleSize; j < set.Len(); j += every {
		s.sample = append(s.sample, j)
	}
	if s.train, err = s.inputs(ds); err != nil {
		return nil, err
	}
	s.test, err = s.inputs(imageData(test, g.Names, make([]float32, test.Len()*len(g.Names))))
	return s, err
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
		Features: []dataset.Feature{{Name: "image", Kind: dataset.Tensor, Shape: []int{1, mnist.Height, mnist.Width}}},
	}
	for i := range set.Len() {
		ds.Items = append(ds.Items, strconv.Itoa(i))
	}
	return ds
}

func (s *student) inputs(ds *dataset.Dataset) (dataset.Rows, error) {
	return s.model.Transform.Over(ds)
}

// predict returns the predictions of the given members for the test images after the given epoch of each,
// and their calibration. For all members with their kept weights, that is the model's own calibration; for
// others it is fitted as in training, to the votes on the images that each held out.
func (s *student) predict(members, epochs []int) ([]*mixture.Dirichlet, *calibrate.Calibration, error) {
	h, err := s.model.Head()
	if err != nil {
		return nil, nil, err
	}
	outputs := make([]head.Output, len(members))
	for k, m := range members {
		now, err := s.memberOutput(h, m, epochs[k])
		if err != nil {
			return nil, nil, err
		}
		outputs[k].Raw = now.test
	}
	predicted, err := head.Decode(h, outputs, s.test.Len())
	if err != nil {
		return nil, nil, err
	}
	if slices.Equal(members, indices(0, len(s.best))) && slices.Equal(epochs, s.best) {
		return head.Dists(predicted), s.model.Calibration, nil
	}
	c, err := s.calibrate(members)
	return head.Dists(predicted), c, err
}

// calibrate fits the calibration of the latest outputs of members.
func (s *student) calibrate(members []int) (*calibrate.Calibration, error) {
	held, within := calibrate.NewHeldOut(s.votes.Classes, max(2, len(members))), &calibrate.Within{}
	for k, m := range members {
		for at, j := range s.held[m] {
			held.Add(s.latest[m].held[at].Dist, s.counts(j), calibrate.Item{}, k)
		}
	}
	if len(members) > 1 {
		one := make([]head.Decoded, len(members))
		for j := range s.sample {
			for k, m := range members {
				one[k] = s.latest[m].sample[j]
			}
			within.Add(one)
		}
	}
	c, err := held.Calibration(within)
	c.Resolution = s.model.Calibration.Resolution
	return &c, err
}

// memberOutput returns the outputs of a member after an epoch, and caches them for the next call.
func (s *student) memberOutput(h head.Head, member, epoch int) (*epochOutput, error) {
	now := &s.latest[member]
	if now.epoch == epoch {
		return now, nil
	}
	*now = epochOutput{}
	net := s.model.Members[member]
	copy(net.Values, s.weights[member][epoch-1])
	var err error
	if now.test, err = forward(net, s.test, indices(0, s.test.Len())); err != nil {
		return nil, err
	}
	for _, part := range []struct {
		images []int
		to     *[]head.Decoded
	}{{s.held[member], &now.held}, {s.sample, &now.sample}} {
		out, err := forward(net, s.train, part.images)
		if err != nil {
			return nil, err
		}
		if *part.to, err = head.Decode(h, []head.Output{{Raw: out}}, len(part.images)); err != nil {
			return nil, err
		}
	}
	now.epoch = epoch
	return now, nil
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
