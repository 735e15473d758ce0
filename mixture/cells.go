package mixture

import (
	"context"
	"math"
)

// cellSet computes highest-density sets of a distribution that is constant on the cells [0, ε]
// and [1−ε, 1]: as the threshold falls, the set between them grows continuously, and
// each cell is added as a whole at its own density.
type cellSet struct {
	c      ReportedClass
	middle *levelSet
	mass   float64 // of the part between the cells
	cells  []cell  // in order of falling density
}

// cell is an end of [0, 1] with its mass.
type cell struct {
	high bool // whether it is [1−ε, 1]
	mass float64
}

func newCellSet(ctx context.Context, c ReportedClass, sh shape) *cellSet {
	e := c.resolution
	z := math.Log(e) - math.Log1p(-e)
	lo, hi := c.Dist.endAt(-math.Abs(z)), c.Dist.endAt(math.Abs(z))
	lo.lower, hi.upper = c.below, c.above
	s := &cellSet{c: c, middle: newLevelSet(ctx, c.Dist, sh, lo, hi), mass: between(&lo, &hi)}
	s.cells = []cell{{false, c.below}, {true, c.above}}
	if c.above > c.below {
		s.cells[0], s.cells[1] = s.cells[1], s.cells[0]
	}
	return s
}

// find returns the set of the given level.
func (s *cellSet) find(level float64) (set []Interval, atLeast bool) {
	in := 0.0 // mass of the cells in the set
	for n, cell := range s.cells {
		// The mass of the middle where its density is above the cell's.
		_, above, _ := s.middle.masses(math.Log(cell.mass / s.c.resolution))
		if in+above >= level {
			return s.with(n, level-in)
		}
		if in += cell.mass; in+above >= level {
			return s.join(n+1, s.middle.intervals(1e-12*level))
		}
	}
	return s.with(len(s.cells), level-in)
}

// with returns the first n cells and the part of the middle that has the given mass.
func (s *cellSet) with(n int, mass float64) ([]Interval, bool) {
	if rest := s.mass - mass; rest > 0 {
		s.middle.solve(mass, rest)
		return s.join(n, s.middle.intervals(1e-12*mass))
	}
	e := s.c.resolution
	return s.join(n, []Interval{{e, 1 - e}}) // only rounding leaves a rest
}

// join returns the union of the first n cells and pieces of the middle.
func (s *cellSet) join(n int, pieces []Interval) ([]Interval, bool) {
	e := s.c.resolution
	// The ends of the middle are logits, which may round to a neighbour of ε or 1−ε.
	const digits = 1e-12
	set := pieces
	for _, c := range s.cells[:n] {
		switch last := len(set) - 1; {
		case c.high && last >= 0 && set[last].Hi >= (1-e)*(1-digits):
			set[last].Hi = 1
		case c.high:
			set = append(set, Interval{1 - e, 1})
		case last >= 0 && set[0].Lo <= e*(1+digits):
			set[0].Lo = 0
		default:
			set = append([]Interval{{0, e}}, set...)
		}
	}
	return set, len(pieces) == 0
}
