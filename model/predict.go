package model

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sync"

	"credence/calibrate"
	"credence/dataset"
	"credence/head"
	"credence/internal/par"
	"credence/nn"
	"credence/tree"
)

// PredictOptions controls how items are predicted.
type PredictOptions struct {
	// BatchValues limits the number of items that go through the networks at a time, by the number of values that a
	// network keeps for them. 0 means 2^27. The smaller it is, the sooner a prediction stops when its context is done.
	BatchValues int
	// KeepBad returns items that cannot be predicted with the reason in Err, such as values so extreme that a network's
	// outputs are not finite, or a row that cannot be read. Without it, the first such item is an error.
	KeepBad bool
	// MeansOnly permits leaving all fields of a prediction but Mean and Err unset.
	MeansOnly bool
	// Threads is the largest number of goroutines that compute; 0 means all cores (GOMAXPROCS). Concurrent calls share
	// them. Results do not depend on it.
	Threads int
}

// Predict returns the prediction for every item of ds, without regard to votes on it. Equal inputs give equal bits,
// whatever the other items and the number of cores. When ctx is done it stops, after the pass of a batch through one
// network at the latest, and returns the context's error.
func (m *Model) Predict(ctx context.Context, ds *dataset.Dataset, o PredictOptions) ([]head.Decoded, error) {
	var out []head.Decoded
	in, err := m.Transform.Over(ds)
	if err != nil {
		return out, err
	}
	width := m.Transform.Width()
	batch := min(1024, max(16, 1<<21/max(1, width))) // some megabytes of inputs
	batch = min(batch, ds.Len(), max(1, cmp.Or(o.BatchValues, maxBatch)/m.itemSize()))
	x := make([]float32, batch*width)
	unread := make([]error, batch)
	level, err := m.levels(ds)
	if err != nil {
		return out, err
	}
	group, err := m.groups(ds)
	if err != nil {
		return out, err
	}
	for lo := 0; lo < ds.Len(); lo += batch {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		n := min(batch, ds.Len()-lo)
		par.Limit(o.Threads).For(n, func(j int) {
			row := x[j*width : (j+1)*width]
			if unread[j] = in.ReadRow(lo+j, row); unread[j] != nil {
				clear(row)
			}
		})
		got, err := m.decoded(ctx, x[:n*width], func(j int) int { return group(lo + j) }, &o)
		if got == nil {
			return out, err
		}
		for j := range got {
			if unread[j] != nil {
				got[j] = head.Decoded{Err: unread[j]}
			} else if m.Recalibration != nil {
				m.Recalibration.Apply(&got[j], level(lo+j))
			}
			if err := got[j].Err; err != nil && !o.KeepBad {
				return out, fmt.Errorf("item %q: %w", ds.Items[lo+j], err)
			}
		}
		if n == ds.Len() {
			return got, nil
		}
		out = append(slices.Grow(out, ds.Len()-len(out)), got...)
	}
	return out, nil
}

// maxBatch is the number of values that a network may keep for all items of a batch.
const maxBatch = 1 << 27

// itemSize returns the number of values that the largest network keeps per item.
func (m *Model) itemSize() int {
	n := 0
	for _, member := range m.Members {
		n = max(n, member.ItemSize())
	}
	return n
}

// decoded returns the predictions for network inputs x [N, width], the outputs of the Transform, of items in the given
// groups of the calibration. If items cannot be
// predicted they have an Err, and the error is that of the first of them. When ctx is done, decoded returns no
// predictions.
func (m *Model) decoded(ctx context.Context, x []float32, group func(j int) int, o *PredictOptions) ([]head.Decoded, error) {
	r, cores, err := m.acquire(o.Threads)
	if err != nil {
		return nil, err
	}
	defer m.release(r)
	average := m.RaterModel.Average()
	meansOnly := o.MeansOnly && average == nil && m.Recalibration == nil // calibration does not change means
	// Calibration has distributions of its own, which have other moments.
	decoded, err := r.ensemble.decode(ctx, r.head, x, head.DecodeOptions{MeansOnly: meansOnly, DistsOnly: m.Calibration != nil, Threads: cores})
	if meansOnly {
		return decoded, err
	}
	if m.Calibration != nil || average != nil {
		width, plain := m.Transform.Width(), m.Transform.Plain()
		par.Limit(cores).For(len(decoded), func(j int) {
			if ctx.Err() != nil {
				return
			}
			m.Calibration.Apply(&decoded[j], calibrate.Item{Inputs: x[j*width : j*width+plain], Level: group(j)})
			if decoded[j].Err == nil {
				decoded[j].ForAverageRater(average)
			}
		})
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return decoded, err
}

// Ensemble runs the networks of an ensemble for one caller at a time.
type Ensemble struct {
	nets  []*nn.Network
	run   []nn.Predictor
	trees *tree.Blend
}

// NewEnsemble returns an ensemble of the given networks, blended with trees unless these are nil, that runs on an
// engine; nil means the CPU.
func NewEnsemble(e nn.Engine, nets []*nn.Network, trees *tree.Blend) (*Ensemble, error) {
	if e == nil {
		e = nn.CPU{}
	}
	s := &Ensemble{nets: nets, trees: trees}
	for _, net := range nets {
		p, err := e.NewPredictor(net, 1)
		if err != nil {
			return nil, err
		}
		s.run = append(s.run, p)
	}
	return s, nil
}

// Decode returns the joint predictions of the networks, with the given head, for the items
// with inputs x [N, width]. If items cannot be predicted they have an Err, and the error
// is that of the first of them. The predictions are nil only if the networks did not
// run.
func (s *Ensemble) Decode(h head.Head, x []float32) ([]head.Decoded, error) {
	return s.decode(context.Background(), h, x, head.DecodeOptions{})
}

// decode runs the networks and decodes their outputs.
func (s *Ensemble) decode(ctx context.Context, h head.Head, x []float32, o head.DecodeOptions) ([]head.Decoded, error) {
	outputs, err := s.Outputs(ctx, h, x, o.Threads, 0)
	if err != nil {
		return nil, err
	}
	return o.Decode(h, outputs, len(x)/s.nets[0].In.Size())
}

// Outputs returns the outputs of each network for the items with inputs x [N, width], or of each of the
// head's passes with dropout on, using at most the given number of cores; 0 means all. The networks are
// those from position first of an ensemble, which matters if passes are random. When ctx is done it stops
// between passes.
func (s *Ensemble) Outputs(ctx context.Context, h head.Head, x []float32, cores, first int) ([]head.Output, error) {
	var outputs []head.Output
	passes := h.Traits().Passes
	var keys []uint64
	if passes > 0 {
		for item := range slices.Chunk(x, s.nets[0].In.Size()) {
			keys = append(keys, contentKey(item))
		}
	}
	for i, net := range s.nets {
		var own [][]float32
		for _, p := range net.Own {
			own = append(own, p.Value)
		}
		for pass := range max(1, passes) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			output := head.Output{Own: own}
			if s.trees != nil {
				output.Trees, output.Share = s.trees.Forests[i].LogAlpha(x, net.In.Size(), cores), s.trees.Share
			}
			if output.Share == 1 {
				outputs = append(outputs, output)
				continue
			}
			p := nn.Pass{Sample: keys, Cores: cores}
			if passes > 0 {
				p.At = nn.Step{Member: uint64(first + i), Step: uint64(pass)}
			}
			out, err := s.run[i].Forward(x, p)
			if err != nil {
				return nil, err
			}
			output.Raw = slices.Clone(out)
			outputs = append(outputs, output)
		}
	}
	return outputs, nil
}

// contentKey returns a hash of the inputs of an item, FNV-1a of their bits, so that
// dropout drops the same units for equal inputs, whatever their position.
func contentKey(x []float32) uint64 {
	key := uint64(14695981039346656037)
	for _, v := range x {
		key = (key ^ uint64(math.Float32bits(v))) * 1099511628211
	}
	return key
}

// runners keeps runners that are not in use for later callers. Concurrent callers have
// one runner each, and share the cores.
type runners struct {
	mu   sync.Mutex
	idle []*runner
	busy int
}

// runner is the networks and the head of one caller.
type runner struct {
	ensemble *Ensemble
	head     head.Head
	method   head.Method // that made the head
	equals   bool        // whether methods of its type can be compared
	classes  int
	raters   int
}

// acquire returns a runner for one caller, and the number of cores it may use, of at most the given number of threads.
func (m *Model) acquire(threads int) (r *runner, cores int, err error) {
	p := &m.runners
	p.mu.Lock()
	p.busy++
	cores = max(1, par.Limit(threads).Workers()/p.busy)
	for r == nil && len(p.idle) > 0 {
		r = p.idle[len(p.idle)-1]
		p.idle = p.idle[:len(p.idle)-1]
		if !r.fits(m) {
			r = nil
		}
	}
	p.mu.Unlock()
	if r == nil {
		if r, err = m.newRunner(); err != nil {
			m.release(nil)
		}
	}
	return r, cores, err
}

// newRunner returns a runner for the current state of the model.
func (m *Model) newRunner() (*runner, error) {
	h, err := m.Head()
	if err != nil {
		return nil, err
	}
	e, err := NewEnsemble(m.Engine, slices.Clone(m.Members), m.Trees)
	if err != nil {
		return nil, err
	}
	return &runner{e, h, m.Method, reflect.ValueOf(m.Method).Comparable(), len(m.Classes), len(m.Raters)}, nil
}

// fits reports whether the runner was made for the current state of the model.
func (r *runner) fits(m *Model) bool {
	return slices.Equal(r.ensemble.nets, m.Members) && r.ensemble.trees == m.Trees && r.classes == len(m.Classes) && r.raters == len(m.Raters) &&
		r.equals && reflect.TypeOf(r.method) == reflect.TypeOf(m.Method) && r.method == m.Method
}

// release keeps a runner for later callers. A few more are kept than there are cores:
// of many concurrent callers, some lose their core in the middle of their work.
func (m *Model) release(r *runner) {
	p := &m.runners
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy--
	if r != nil && len(p.idle) < 4*par.Threads() {
		p.idle = append(p.idle, r)
	}
}

// levels returns a function for the level of an item that the recalibration depends on, −1 if there is none.
func (m *Model) levels(ds *dataset.Dataset) (func(j int) int, error) {
	if m.Recalibration == nil || m.Recalibration.Feature == "" {
		return noLevel, nil
	}
	return levelOf(ds, m.Recalibration.Feature, m.Recalibration.Levels)
}

// groups returns a function for the group of an item that the calibration depends on, −1 if there is none.
func (m *Model) groups(ds *dataset.Dataset) (func(j int) int, error) {
	if m.Calibration == nil || m.Calibration.Groups == nil {
		return noLevel, nil
	}
	return levelOf(ds, m.Calibration.Groups.Feature, m.Calibration.Groups.Names())
}

func noLevel(int) int { return -1 }

// levelOf is [LevelsOf] as a function.
func levelOf(ds *dataset.Dataset, name string, levels []string) (func(j int) int, error) {
	codes, err := LevelsOf(ds, name, levels)
	if err != nil {
		return nil, err
	}
	return func(j int) int { return codes[j] }, nil
}

// LevelsOf returns the level of a categorical feature of each item of ds, as an index into levels, −1 if it has none of
// them.
func LevelsOf(ds *dataset.Dataset, name string, levels []string) ([]int, error) {
	at := 0
	for _, f := range ds.Features {
		if f.Name != name {
			at += f.Width()
			continue
		}
		codes, row := make([]int, ds.Len()), make([]float32, ds.Rows.Width())
		for j := range codes {
			codes[j] = -1
			if err := ds.Rows.ReadRow(j, row); err == nil && row[at] >= 0 && int(row[at]) < len(f.Levels) {
				codes[j] = slices.Index(levels, f.Levels[int(row[at])])
			}
		}
		return codes, nil
	}
	return nil, fmt.Errorf("expected a feature %q, by which the model was calibrated", name)
}
