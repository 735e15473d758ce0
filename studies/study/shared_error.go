package study

import (
	"math"

	"credence/internal/rng"
)

// sharedErrorModel is the reference for judges that err together: items have logits z ~ N(μ, σ²), people vote for the second class
// with probability σ(z), and judge j with σ(a_j z + c_j + τ u), where u ~ N(0, 1) is the same for all judges of an item. It is
// fitted by maximum posterior likelihood with weak priors a ~ N(1, 1), c ~ N(0, 1) and log τ ~ N(0, 1).
type sharedErrorModel struct {
	mean, sd     float64
	slope, shift []float64 // [J]
	logTau       float64
}

// The nodes of z and u in the fit: equidistant, in units of standard deviations.
const (
	sharedZ, sharedU = 25, 15
	sharedReach      = 4.0
)

// sharedItem is an item of the simulation: the votes of judges, of people for the second class and in all, and its logit.
type sharedItem struct {
	judges   uint // bit j is the vote of judge j
	yes, all int
	z        float64
}

// drawSharedItems simulates items with votes of judges of slope 1.
func drawSharedItems(n, people, judges int, tau float64, r *rng.Stream) []sharedItem {
	normal := func() float64 { return math.Sqrt(-2*math.Log(1-r.Float64())) * math.Cos(2*math.Pi*r.Float64()) }
	vote := func(x float64) bool { return r.Float64() < sigmoid(x) }
	items := make([]sharedItem, n)
	for i := range items {
		x := &items[i]
		x.z, x.all = 1.5*normal(), people
		u := normal()
		for range people {
			if vote(x.z) {
				x.yes++
			}
		}
		for j := range judges {
			if vote(x.z + tau*u) {
				x.judges |= 1 << j
			}
		}
	}
	return items
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// fitSharedErrors fits the model by EM for μ and σ, and gradient steps (Adam) for the judges.
func fitSharedErrors(items []sharedItem, judges int) *sharedErrorModel {
	m := &sharedErrorModel{sd: 1, slope: make([]float64, judges), shift: make([]float64, judges)}
	for j := range m.slope {
		m.slope[j] = 1
	}
	counts := map[sharedItem]float64{} // equal votes are computed once
	var order []sharedItem
	people := 0
	for _, x := range items {
		x.z = 0
		people = max(people, x.all)
		if counts[x] == 0 {
			order = append(order, x)
		}
		counts[x]++
	}
	n := 2*judges + 1
	moment, square := make([]float64, n), make([]float64, n)
	for step := 1; step <= 400; step++ {
		grad := make([]float64, n) // slopes, shifts, log τ
		for j := range judges {
			grad[j], grad[judges+j] = 1-m.slope[j], -m.shift[j]
		}
		grad[2*judges] = -m.logTau
		sum, second := 0.0, 0.0
		nodes := m.nodes(people)
		for _, x := range order {
			m.visit(nodes, x, counts[x], grad, &sum, &second)
		}
		m.mean = sum / float64(len(items))
		m.sd = math.Sqrt(max(second/float64(len(items))-m.mean*m.mean, 0.01))
		for k, g := range grad {
			moment[k] = 0.9*moment[k] + 0.1*g
			square[k] = 0.99*square[k] + 0.01*g*g
			d := 0.03 * moment[k] / (1 - math.Pow(0.9, float64(step))) / (math.Sqrt(square[k]/(1-math.Pow(0.99, float64(step)))) + 1e-9)
			switch {
			case k < judges:
				m.slope[k] += d
			case k < 2*judges:
				m.shift[k-judges] += d
			default:
				m.logTau += d
			}
		}
	}
	return m
}

// sharedNode is a pair of z and u, with its density, the probabilities that judges vote for the second class, and the powers of
// the probabilities that people do and do not.
type sharedNode struct {
	z, u, weight float64
	votes        []float64 // [J]
	yes, no      []float64 // [people+1]
}

// nodes returns the nodes for items with up to a number of votes of people.
func (m *sharedErrorModel) nodes(people int) []sharedNode {
	var list []sharedNode
	tau := math.Exp(m.logTau)
	for a := range sharedZ {
		t := sharedReach * (2*float64(a)/(sharedZ-1) - 1)
		z := m.mean + m.sd*t
		yes, no := make([]float64, people+1), make([]float64, people+1)
		for k := range yes {
			p := sigmoid(z)
			yes[k], no[k] = math.Pow(p, float64(k)), math.Pow(1-p, float64(k))
		}
		for b := range sharedU {
			u := sharedReach * (2*float64(b)/(sharedU-1) - 1)
			x := sharedNode{z: z, u: u, weight: math.Exp(-(t*t + u*u) / 2), yes: yes, no: no}
			for j := range m.slope {
				x.votes = append(x.votes, sigmoid(m.slope[j]*x.z+m.shift[j]+tau*u))
			}
			list = append(list, x)
		}
	}
	return list
}

// visit adds the expectations of an item that occurs a number of times: the gradient, and the first moments of z.
func (m *sharedErrorModel) visit(nodes []sharedNode, x sharedItem, times float64, grad []float64, sum, second *float64) {
	judges, tau := len(m.slope), math.Exp(m.logTau)
	part, miss := make([]float64, len(grad)), make([]float64, judges)
	total, first, squares := 0.0, 0.0, 0.0
	for _, node := range nodes {
		w := node.weight * node.yes[x.yes] * node.no[x.all-x.yes]
		for j, p := range node.votes {
			if miss[j] = -p; x.judges>>j&1 == 1 {
				miss[j] = 1 - p
				w *= p
			} else {
				w *= 1 - p
			}
		}
		total += w
		first += w * node.z
		squares += w * node.z * node.z
		for j, e := range miss {
			part[j] += w * e * node.z
			part[judges+j] += w * e
			part[2*judges] += w * e * tau * node.u
		}
	}
	*sum += times * first / total
	*second += times * squares / total
	for k := range part {
		grad[k] += times * part[k] / total
	}
}

// interval returns the two-sided 95% interval of p = σ(z) of an item with votes of judges alone.
func (m *sharedErrorModel) interval(judges uint) (lo, hi float64) {
	const nodes = 400
	tau := math.Exp(m.logTau)
	weights, total := make([]float64, nodes+1), 0.0
	at := func(a int) float64 { return m.mean + m.sd*5*(2*float64(a)/nodes-1) }
	for a := range weights {
		t := 5 * (2*float64(a)/nodes - 1)
		for b := range sharedU {
			u := sharedReach * (2*float64(b)/(sharedU-1) - 1)
			w := math.Exp(-(t*t + u*u) / 2)
			for j := range m.slope {
				p := sigmoid(m.slope[j]*at(a) + m.shift[j] + tau*u)
				if judges>>j&1 == 0 {
					p = 1 - p
				}
				w *= p
			}
			weights[a] += w
		}
		total += weights[a]
	}
	below := 0.0
	lo, hi = 0, 1
	for a, w := range weights {
		if below < 0.025*total && below+w >= 0.025*total {
			lo = sigmoid(at(a))
		}
		if below < 0.975*total && below+w >= 0.975*total {
			hi = sigmoid(at(a))
		}
		below += w
	}
	return lo, hi
}
