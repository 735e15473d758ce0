package model

import (
	"slices"
	"sync"

	"credence/internal/par"
)

// pool keeps the ensembles of callers that are done for those to come: callers at
// the same time have one each, and share the cores.
type pool struct {
	mu   sync.Mutex
	idle []*Ensemble
	busy int
}

// acquire returns an ensemble for one caller, and how many cores it may use.
func (m *Model) acquire() (e *Ensemble, cores int, err error) {
	p := &m.pool
	p.mu.Lock()
	p.busy++
	cores = max(1, par.Threads()/p.busy)
	for e == nil && len(p.idle) > 0 {
		e = p.idle[len(p.idle)-1]
		p.idle = p.idle[:len(p.idle)-1]
		if !slices.Equal(e.nets, m.Members) {
			e = nil // of networks that the model had before
		}
	}
	p.mu.Unlock()
	if e == nil {
		if e, err = NewEnsemble(m.Engine, slices.Clone(m.Members)); err != nil {
			m.release(nil)
		}
	}
	return e, cores, err
}

// release takes an ensemble back. No more are kept than there are cores.
func (m *Model) release(e *Ensemble) {
	p := &m.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy--
	if e != nil && len(p.idle) < par.Threads() {
		p.idle = append(p.idle, e)
	}
}
