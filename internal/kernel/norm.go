package kernel

// Normalize computes y[i] = (x[i] − mean)·a + b. y may be x.
func Normalize(y, x []float32, mean, a, b float32) {
	sameLen(len(y), len(x), len(x))
	active.norm(y, x, mean, a, b)
}

// NormGrad are the numbers of the gradient of a normalization.
type NormGrad struct {
	Mean, Inv float32 // as subtracted from x and multiplied by
	Scale     float32 // of the whole
	A, B      float32 // means of dy and of dy·x̂ over the batch
}

// Apply computes the input gradient, with x̂ = (x − Mean)·Inv:
//
//	dx[i] = Scale·(dy[i] − A − x̂[i]·B)
//
// dx may be dy.
func (p NormGrad) Apply(dx, dy, x []float32) {
	sameLen(len(dx), len(dy), len(x))
	active.normGrad(dx, dy, x, &p)
}

// CentredDot returns Σ g[i]·(x[i] − mean): the difference in float32, products
// and sums in float64, in the order of Sum.
func CentredDot(g, x []float32, mean float32) float64 {
	sameLen(len(g), len(x), len(x))
	return active.centredDot(g, x, mean)
}

func normGeneric(y, x []float32, mean, a, b float32) {
	for i, v := range x {
		y[i] = float32((v-mean)*a) + b
	}
}

func normGradGeneric(dx, dy, x []float32, p *NormGrad) {
	for i, g := range dy {
		dx[i] = p.Scale * (g - p.A - float32((x[i]-p.Mean)*p.Inv*p.B))
	}
}

func centredDotGeneric(g, x []float32, mean float32) float64 {
	var p [sumLanes]float64
	for i, v := range g {
		p[i%sumLanes] += float64(v) * float64(x[i]-mean)
	}
	return foldLanes(&p)
}
