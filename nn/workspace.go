package nn

import "credence/internal/kernel"

// workspace is the working memory of matrix products, shared by the layers of
// a session: one piece for each worker.
type workspace struct {
	gemm []*kernel.GemmScratch
}

func (b *Builder) workspace() *workspace {
	if b.work == nil {
		b.work = &workspace{}
	}
	return b.work
}

// grow makes room for so many workers.
func (w *workspace) grow(workers int) {
	for w != nil && len(w.gemm) < workers {
		w.gemm = append(w.gemm, new(kernel.GemmScratch))
	}
}
