package mixture

import (
	"math"
	"sync"

	"credence/internal/kernel"
	"credence/internal/special"
)

// laneSolver computes quantiles of many mixtures, one in each lane of a vector (kernel.BetaTails): a lane that is done
// continues with the next mixture. The result of a lane does not depend on the other lanes, so that a mixture has the
// same quantiles alone as among others.
type laneSolver struct {
	k       int       // components per mixture, those without weight included
	w, a, b []float64 // [n, k]
	logs    kernel.BetaLogs
	ends    []laneEnd

	power, x []float64 // [ends, k]: ln x and x of the point according to the leading power of a component alone
	nought   []float64

	// The state of the lanes: components, points, masses, and the results at these points.
	terms []kernel.BetaTailTerm // [k]
	z, q  kernel.BetaPoints
	out   [4]kernel.BetaPoints
}

// laneEnd is the point beyond which a mixture has the mass q.
type laneEnd struct {
	row   int
	q     float64
	upper bool
	logQ  float64
	root  float64 // logit of the point x, or of 1 − x for an upper end; NaN if it was not found
}

// laneEndAt returns the end of a mixture with the mass q below and qc above it.
func laneEndAt(row int, q, qc float64) laneEnd {
	return laneEnd{row: row, q: min(q, qc), upper: q > qc}
}

// logit returns the logit of the point.
func (e *laneEnd) logit() float64 {
	if e.upper {
		return -e.root
	}
	return e.root
}

// The limits of lanes: smaller parameters require more accurate differences of log-gamma functions, larger ones a
// density that is computed relative to its peak.
const (
	laneLeast = 1. / 32
	laneSum   = 128
	laneMass  = 1e-12
	laneReach = 600 // largest logit
	laneSteps = 200
)

// laneComponent reports whether lanes support the component.
func laneComponent(a, b float64) bool {
	return a >= laneLeast && b >= laneLeast && a+b <= laneSum
}

var laneSolvers = sync.Pool{New: func() any { return new(laneSolver) }}

// solveEnds finds the roots of ends of the mixture, by lanes where they support it.
func (m *Beta) solveEnds(ends []laneEnd) {
	lanes := m.solveLanes(ends)
	for i := range ends {
		if e := &ends[i]; !lanes || math.IsNaN(e.root) {
			e.root = m.solveTail(e.q, e.upper)
		}
	}
}

// solveLanes finds roots by lanes, and reports whether they support the mixture. Roots that were not found are NaN.
func (m *Beta) solveLanes(ends []laneEnd) bool {
	for i := range m.components {
		if c := &m.components[i]; !laneComponent(c.A, c.B) {
			return false
		}
	}
	s := laneSolvers.Get().(*laneSolver)
	defer laneSolvers.Put(s)
	s.begin(1, len(m.components), len(ends))
	for i := range m.components {
		c := &m.components[i]
		s.w, s.a, s.b = append(s.w, c.weight), append(s.a, c.A), append(s.b, c.B)
	}
	for _, e := range ends {
		if e.q >= laneMass {
			s.ends = append(s.ends, e)
		}
	}
	s.solve()
	solved := s.ends
	for i := range ends {
		if ends[i].root = math.NaN(); ends[i].q >= laneMass {
			ends[i], solved = solved[0], solved[1:]
		}
	}
	return true
}

// begin makes room for n mixtures of k components, with the given number of ends each.
func (s *laneSolver) begin(n, k, ends int) {
	s.k = k
	for _, x := range []*[]float64{&s.w, &s.a, &s.b, &s.logs.W, &s.logs.A, &s.logs.B, &s.logs.Beta} {
		*x = room(*x, (n*k+kernel.BetaLanes-1)/kernel.BetaLanes*kernel.BetaLanes)
	}
	for _, x := range []*[]float64{&s.power, &s.x, &s.nought} {
		*x = room(*x, n*ends*k)
	}
	s.ends, s.terms = room(s.ends, n*ends), room(s.terms, k)
}

// room returns an empty slice with room for n values, the memory of x if that is enough.
func room[T any](x []T, n int) []T {
	if cap(x) < n {
		return make([]T, 0, n)
	}
	return x[:0]
}

// add adds a mixture, with weights divided by sum, and reports whether lanes support it.
func (s *laneSolver) add(w, a, b []float64, sum float64) bool {
	for i := range w {
		if w[i] > 0 && !laneComponent(a[i], b[i]) {
			return false
		}
	}
	for i := range w {
		if w[i] > 0 {
			s.w, s.a, s.b = append(s.w, w[i]/sum), append(s.a, a[i]), append(s.b, b[i])
		} else {
			s.w, s.a, s.b = append(s.w, 0), append(s.a, 1), append(s.b, 1)
		}
	}
	return true
}

// solve finds the roots of all ends.
func (s *laneSolver) solve() {
	if len(s.ends) == 0 {
		return
	}
	for len(s.w)%kernel.BetaLanes != 0 {
		s.w, s.a, s.b = append(s.w, 1), append(s.a, 1), append(s.b, 1)
	}
	for _, x := range []*[]float64{&s.logs.W, &s.logs.A, &s.logs.B, &s.logs.Beta} {
		*x = (*x)[:len(s.w)]
	}
	kernel.LogBetas(&s.logs, s.w, s.a, s.b)
	s.start()
	s.run()
}

// start sets roots to first guesses, as Beta.start does.
func (s *laneSolver) start() {
	n := len(s.ends) * s.k
	s.power, s.x, s.nought = s.power[:n], s.x[:n], s.nought[:n]
	logQ, lastQ := 0.0, 0.0
	for e := range s.ends {
		end := &s.ends[e]
		if end.q != lastQ {
			lastQ, logQ = end.q, math.Log(end.q)
		}
		end.logQ = logQ
		for k, j := 0, end.row*s.k; k < s.k; k, j = k+1, j+1 {
			a, logA := s.a[j], s.logs.A[j]
			if end.upper {
				a, logA = s.b[j], s.logs.B[j]
			}
			_, logT := s.share(end, j)
			s.power[e*s.k+k] = (logT + logA + s.logs.Beta[j]) / a
		}
	}
	kernel.ExpLinear(s.x, s.power, s.nought, 1, 0)
	for e := range s.ends {
		s.guess(e)
	}
}

// share returns the mass of component j beyond the end if the component had all of the mass q there, or q itself if the
// component has too little weight for that.
func (s *laneSolver) share(end *laneEnd, j int) (t, logT float64) {
	if end.q < 0.95*s.w[j] {
		return end.q / s.w[j], end.logQ - s.logs.W[j]
	}
	return end.q, end.logQ
}

// guess sets the root of an end to the smallest of its components' guesses or, if none has enough weight, to their mean.
func (s *laneSolver) guess(e int) {
	end := &s.ends[e]
	best, mean := math.Inf(1), 0.0
	for k, j := 0, end.row*s.k; k < s.k; k, j = k+1, j+1 {
		w := s.w[j]
		enough := end.q < 0.95*w
		if w == 0 || !enough && !math.IsInf(best, 1) {
			continue
		}
		a, b, logA, logB := s.a[j], s.b[j], s.logs.A[j], s.logs.B[j]
		if end.upper {
			a, b, logA, logB = b, a, logB, logA
		}
		t, logT := s.share(end, j)
		i := e*s.k + k
		z := special.Guess(a, b, logA, logB, s.logs.Beta[j], t, logT, s.power[i], s.x[i])
		if enough {
			best = min(best, z)
		} else {
			mean += w * z
		}
	}
	if end.root = best; math.IsInf(best, 1) {
		end.root = mean
	}
}

// run moves the ends from their first guesses to the roots.
func (s *laneSolver) run() {
	s.terms = s.terms[:s.k]
	var lane [kernel.BetaLanes]laneState
	out := &s.out
	lanes := min(kernel.BetaLanes, len(s.ends))
	next, busy := lanes, lanes
	for l := range lane {
		s.load(&lane[l], l, min(l, lanes-1)) // unused lanes repeat the last end
	}
	for busy > 0 {
		kernel.BetaTails(out, &s.z, &s.q, s.terms, lanes)
		for l := range lanes {
			st := &lane[l]
			if st.end < 0 {
				continue
			}
			found := math.IsNaN(out[1][l])
			if found {
				st.root.u = math.NaN()
			} else {
				found = st.root.step(out[0][l], out[1][l], out[2][l], out[3][l])
				st.left--
				if !found && (st.left == 0 || math.Abs(st.root.u) > laneReach) {
					found, st.root.u = true, math.NaN()
				}
			}
			if !found {
				s.z[l] = st.root.u
				continue
			}
			s.ends[st.end].root = st.root.u
			if next < len(s.ends) {
				s.load(st, l, next)
				next++
			} else {
				st.end = -1
				busy--
			}
		}
	}
}

// laneState is the state of a lane.
type laneState struct {
	end  int // index of the end that it solves, −1 for none
	left int // remaining steps
	root tailRoot
}

// load starts lane l on end e.
func (s *laneSolver) load(st *laneState, l, e int) {
	end := &s.ends[e]
	*st = laneState{e, laneSteps, newTailRoot(min(max(end.root, -laneReach), laneReach))}
	s.z[l], s.q[l] = st.root.u, end.q
	for k := range s.terms {
		t, j := &s.terms[k], end.row*s.k+k
		t.A[l], t.B[l], t.W[l] = s.a[j], s.b[j], s.w[j]
		if end.upper {
			t.A[l], t.B[l] = s.b[j], s.a[j]
		}
		if t.C[l] = s.logs.W[j] - s.logs.Beta[j]; s.w[j] == 0 {
			t.C[l] = -700
		}
	}
}
