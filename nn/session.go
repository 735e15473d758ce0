package nn

import (
	"cmp"
	"fmt"

	"credence/internal/kernel"
	"credence/internal/par"
)

// Session runs a network for one caller at a time: its layers with their buffers.
// Its results are bit-identical whatever other sessions do, and on any number of
// cores.
type Session struct {
	net   *Network
	root  Layer
	build *Builder
	batch int       // largest batch that buffers are allocated for
	back  bool      // whether buffers for Backward are allocated
	out   []float32 // [batch, Out]
	in    []float32 // the inputs of the last Forward
	pass  Pass
	cores int // default of Pass.Cores
}

// NewSession returns a session for batches of up to batch items; a larger batch
// makes it grow.
func (n *Network) NewSession(batch int) (*Session, error) {
	s := &Session{net: n, root: instance(n.root), build: &Builder{net: n, unfused: n.unfused}}
	if _, err := s.root.Build(s.build, n.In); err != nil {
		return nil, err
	}
	if s.build.err != nil {
		return nil, s.build.err
	}
	s.bind(batch)
	return s, nil
}

// bind allocates buffers for batches of up to batch items.
func (s *Session) bind(batch int) {
	s.batch = batch
	s.out = make([]float32, batch*s.net.Out.Size())
	for _, f := range s.build.forward {
		f(batch)
	}
	if s.back {
		s.bindBackward()
	}
}

// bindBackward allocates the buffers of Backward.
func (s *Session) bindBackward() {
	s.back = true
	s.net.MakeGrads()
	for _, f := range s.build.backward {
		f(s.batch)
	}
}

// Forward returns the outputs [N, Out] for the inputs x [N, In]; p describes the pass,
// its Items is set here. The result is overwritten by the next call; x must stay
// unchanged until Backward returns.
func (s *Session) Forward(x []float32, p Pass) ([]float32, error) {
	in := s.net.In.Size()
	p.Items, p.Cores = len(x)/in, cmp.Or(p.Cores, s.cores)
	switch {
	case p.Items*in != len(x):
		return nil, fmt.Errorf("nn: %d inputs are not a multiple of %v", len(x), s.net.In)
	case p.Sample != nil && len(p.Sample) != p.Items:
		return nil, fmt.Errorf("nn: %d keys for %d items", len(p.Sample), p.Items)
	}
	if p.Items > s.batch {
		s.bind(p.Items)
	}
	p.workers = par.Limit(p.Cores).Workers()
	s.pass, s.in = p, x
	s.build.work.grow(p.workers)
	y := s.out[:p.Items*s.net.Out.Size()]
	s.root.Forward(&s.pass, y, x)
	return y, nil
}

// Backward sets the network's gradients to those of a loss whose gradient with
// respect to the last outputs is dy [N, Out], and, unless dx is nil, fills dx
// [N, In] with that with respect to the inputs. It may overwrite dy.
func (s *Session) Backward(dx, dy []float32) error {
	y := s.out[:s.pass.Items*s.net.Out.Size()]
	if len(dy) != len(y) || dx != nil && len(dx) != len(s.in) {
		return fmt.Errorf("nn: %d and %d gradients after a forward pass with %d inputs and %d outputs",
			len(dx), len(dy), len(s.in), len(y))
	}
	if !s.back {
		s.bindBackward()
		if !s.pass.Train {
			s.root.Forward(&s.pass, y, s.in) // a session that only predicts does not keep all that goes back
		}
	}
	s.root.Backward(&s.pass, dx, dy, y, s.in)
	return nil
}

// workspace is the working memory of matrix products, shared by the layers of
// a session: one piece for each worker.
type workspace struct{ gemm []*kernel.GemmScratch }

func (b *Builder) workspace() *workspace {
	if b.work == nil {
		b.work = &workspace{}
	}
	return b.work
}

// grow allocates memory for the given number of workers.
func (w *workspace) grow(workers int) {
	for w != nil && len(w.gemm) < workers {
		w.gemm = append(w.gemm, new(kernel.GemmScratch))
	}
}
