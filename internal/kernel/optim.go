package kernel

import "math"

// SGD holds the factors of one step of stochastic gradient descent with
// momentum.
type SGD struct {
	Rate        float32 // learning rate η
	Momentum    float32 // μ
	WeightDecay float32 // λ, added to the gradient
	GradScale   float32 // s, multiplies the gradient: clipping, 1/batch
	Nesterov    bool
}

// Update makes one step for weights w with velocity v and gradient d, all of
// one length:
//
//	g = s·d + λ·w
//	v = μ·v + g
//	w = w − η·v                 (Nesterov: w − η·(g + μ·v))
func (p *SGD) Update(w, v, d []float32) {
	sameLen(len(w), len(v), len(d))
	active.sgd(w, v, d, p)
}

// Adam holds the factors of one step of Adam (Kingma & Ba 2015) or, with
// Decoupled, AdamW (Loshchilov & Hutter 2019).
type Adam struct {
	Rate         float32 // learning rate η
	Beta1, Beta2 float32
	Epsilon      float32
	WeightDecay  float32 // λ
	Decoupled    bool    // decay the weights (AdamW), not the gradient
	GradScale    float32 // s, multiplies the gradient: clipping, 1/batch
	Correction1  float32 // 1 − β₁ᵗ at step t = 1, 2, …
	Correction2  float32 // 1 − β₂ᵗ
}

// Update makes one step for weights w with moments m and v and gradient d, all
// of one length:
//
//	g = s·d                     (+ λ·w unless Decoupled)
//	m = β₁·m + (1 − β₁)·g
//	v = β₂·v + (1 − β₂)·g²
//	w = w − η·λ·w               (Decoupled only)
//	w = w − η/c₁ · m / (√(v/c₂) + ε)
//
// Implementations may take subnormal numbers as zero.
func (p *Adam) Update(w, m, v, d []float32) {
	sameLen(len(w), len(m), len(v))
	sameLen(len(w), len(d), len(d))
	active.adam(w, m, v, d, p)
}

// sgdFactors are the constants of the inner loop of SGD:
//
//	g = s·d + λ·w
//	v = μ·v + g
//	w = w − (a·v + b·g)
//
// with a = η, b = 0, or for Nesterov a = ημ, b = η.
type sgdFactors struct{ scale, decay, momentum, fromV, fromG float32 }

func (p *SGD) factors() sgdFactors {
	f := sgdFactors{p.GradScale, p.WeightDecay, p.Momentum, p.Rate, 0}
	if p.Nesterov {
		f.fromV, f.fromG = p.Rate*p.Momentum, p.Rate
	}
	return f
}

func sgdGeneric(w, v, d []float32, p *SGD) {
	f := p.factors()
	for i, g := range d {
		g = float32(f.scale*g) + float32(f.decay*w[i])
		v[i] = float32(f.momentum*v[i]) + g
		w[i] -= float32(f.fromV*v[i]) + float32(f.fromG*g)
	}
}

// adamFactors are the constants of the inner loop of Adam:
//
//	g = s·d + λ·w
//	w = κ·w − η′·m / (√v·r + ε)
type adamFactors struct {
	scale, decay         float32 // s, λ of the coupled form
	beta1, gain1         float32 // β₁, 1 − β₁
	beta2, gain2         float32 // β₂, 1 − β₂
	keep, rate, root, ep float32 // κ = 1 − ηλ of the decoupled form, η′ = η/c₁, r = 1/√c₂, ε
}

func (p *Adam) factors() adamFactors {
	f := adamFactors{
		scale: p.GradScale, decay: p.WeightDecay,
		beta1: p.Beta1, gain1: 1 - p.Beta1,
		beta2: p.Beta2, gain2: 1 - p.Beta2,
		keep: 1, rate: p.Rate / p.Correction1,
		root: float32(1 / math.Sqrt(float64(p.Correction2))), ep: p.Epsilon,
	}
	if p.Decoupled {
		f.decay, f.keep = 0, 1-float32(p.Rate*p.WeightDecay)
	}
	return f
}

func adamGeneric(w, m, v, d []float32, p *Adam) {
	f := p.factors()
	for i, g := range d {
		g = float32(f.scale*g) + float32(f.decay*w[i])
		m[i] = float32(f.beta1*m[i]) + float32(f.gain1*g)
		v[i] = float32(f.beta2*v[i]) + float32(f.gain2*float32(g*g))
		den := float32(float32(math.Sqrt(float64(v[i])))*f.root) + f.ep
		w[i] = float32(f.keep*w[i]) - f.rate*m[i]/den
	}
}
