package model

import (
	"context"
	"math"
	"slices"

	"credence/head"
	"credence/nn"
)

// Ensemble runs the networks of an ensemble for one caller at a time.
type Ensemble struct {
	nets []*nn.Network
	run  []nn.Predictor
}

// NewEnsemble returns what runs the given networks on an engine; nil means the
// CPU.
func NewEnsemble(e nn.Engine, nets []*nn.Network) (*Ensemble, error) {
	if e == nil {
		e = nn.CPU{}
	}
	s := &Ensemble{nets: nets}
	for _, net := range nets {
		p, err := e.NewPredictor(net, 1)
		if err != nil {
			return nil, err
		}
		s.run = append(s.run, p)
	}
	return s, nil
}

// Answers returns what the networks with the given head together say of the items
// with inputs x [N, width], on up to so many cores; 0 means all. If there are items
// without an answer, which have an Err, the error is that of the first of them; the
// answers are nil only if the networks did not run.
func (s *Ensemble) Answers(h head.Head, x []float32, cores int) ([]head.Answer, error) {
	return s.answers(context.Background(), h, x, cores, head.Decode)
}

// Outputs returns what each network, or each pass through it, says of the items with inputs x
// [N, width]. The networks are those from place first of an ensemble, which matters where they are
// sampled.
func (s *Ensemble) Outputs(h head.Head, x []float32, first int) ([]head.Output, error) {
	return s.raw(context.Background(), h, x, 0, first)
}

// answers runs the networks and decodes their outputs.
func (s *Ensemble) answers(ctx context.Context, h head.Head, x []float32, cores int,
	decode func(head.Head, []head.Output, int) ([]head.Answer, error)) ([]head.Answer, error) {
	outputs, err := s.raw(ctx, h, x, cores, 0)
	if err != nil {
		return nil, err
	}
	return decode(h, outputs, len(x)/s.nets[0].In.Size())
}

// raw returns the outputs of each network, or of each of the head's passes with
// dropout on. The first network has a place in an ensemble. When ctx is done it stops between passes.
func (s *Ensemble) raw(ctx context.Context, h head.Head, x []float32, cores, first int) (outputs []head.Output, err error) {
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
			p := nn.Pass{Sample: keys, Cores: cores}
			if passes > 0 {
				p.At = nn.Step{Member: uint64(first + i), Step: uint64(pass)}
			}
			out, err := s.run[i].Forward(x, p)
			if err != nil {
				return nil, err
			}
			outputs = append(outputs, head.Output{Raw: slices.Clone(out), Own: own})
		}
	}
	return outputs, nil
}

// contentKey is a number for the content of an item, FNV-1a of its bits, so that
// equal inputs lose the same units to dropout wherever they stand.
func contentKey(x []float32) uint64 {
	key := uint64(14695981039346656037)
	for _, v := range x {
		key = (key ^ uint64(math.Float32bits(v))) * 1099511628211
	}
	return key
}
