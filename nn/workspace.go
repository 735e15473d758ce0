package nn

import (
	"credence/internal/kernel"
	"credence/internal/par"
)

// workspace is the working memory of matrix products, shared by the layers of
// a network: one piece for each worker.
type workspace struct {
	gemm []*kernel.GemmScratch
}

func (b *Builder) workspace() *workspace {
	if b.work == nil {
		b.work = &workspace{}
	}
	return b.work
}

// grow makes room for all workers that may run.
func (w *workspace) grow() {
	for w != nil && len(w.gemm) < par.Threads() {
		w.gemm = append(w.gemm, new(kernel.GemmScratch))
	}
}
