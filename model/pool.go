package model

import (
	"reflect"
	"slices"
	"sync"

	"credence/head"
	"credence/internal/par"
)

// pool keeps what callers that are done have worked with for those to come:
// callers at the same time have one runner each, and share the cores.
type pool struct {
	mu   sync.Mutex
	idle []*runner
	busy int
}

// runner is the networks and the head of one caller.
type runner struct {
	ensemble *Ensemble
	head     head.Head
	method   head.Method // that head was made of
	equals   bool        // whether methods of its type can be compared
	classes  int
	raters   int
}

// acquire returns a runner for one caller, and how many cores it may use.
func (m *Model) acquire() (r *runner, cores int, err error) {
	p := &m.pool
	p.mu.Lock()
	p.busy++
	cores = max(1, par.Threads()/p.busy)
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

// newRunner makes a runner of what the model is now.
func (m *Model) newRunner() (*runner, error) {
	h, err := m.Head()
	if err != nil {
		return nil, err
	}
	e, err := NewEnsemble(m.Engine, slices.Clone(m.Members))
	if err != nil {
		return nil, err
	}
	return &runner{e, h, m.Method, reflect.ValueOf(m.Method).Comparable(), len(m.Classes), len(m.Raters)}, nil
}

// fits reports whether the model is still what the runner was made of.
func (r *runner) fits(m *Model) bool {
	return slices.Equal(r.ensemble.nets, m.Members) && r.classes == len(m.Classes) && r.raters == len(m.Raters) &&
		r.equals && reflect.TypeOf(r.method) == reflect.TypeOf(m.Method) && r.method == m.Method
}

// release takes a runner back. A few more are kept than there are cores: of many
// callers at once, some lose their core in the middle of their work.
func (m *Model) release(r *runner) {
	p := &m.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy--
	if r != nil && len(p.idle) < 4*par.Threads() {
		p.idle = append(p.idle, r)
	}
}
