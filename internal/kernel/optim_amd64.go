//go:build !purego

package kernel

func sgd8(w, v, d []float32, p *SGD) {
	f := p.factors()
	sgdAVX2(first(w), first(v), first(d), &f.scale, len(w))
}

func adam8(w, m, v, d []float32, p *Adam) {
	f := p.factors()
	adamAVX2(first(w), first(m), first(v), first(d), &f.scale, len(w))
}

func adam16(w, m, v, d []float32, p *Adam) {
	if len(w) > 0 {
		f := p.factors()
		adamAVX512(&w[0], &m[0], &v[0], &d[0], &f.scale, len(w))
	}
}
