package study

import (
	"context"
	"fmt"

	"credence/internal/mnist"
	"credence/internal/par"
	"credence/train"
)

// Coverage is the paper's study of how often intervals contain the truth, on
// MNIST. A teacher's probabilities are the truth, votes are drawn from them, and
// a student learns from the votes alone.
type Coverage struct {
	Quick bool   `json:"quick"`
	Seed  uint64 `json:"seed"` // the first one
	// Train and Test are the numbers of images used of each set.
	Train int `json:"train"`
	Test  int `json:"test"`
	// Student are the training options of students, except the seed: the zero value is the defaults.
	Student train.Options `json:"student"`
	Cells   []cell        `json:"cells"`

	// Source is where MNIST is found.
	Source mnist.Source `json:"-"`

	set, test *mnist.Set
}

// cell is one repetition: a teacher, votes and a student.
type cell struct {
	Classes int    `json:"classes"`
	Votes   int    `json:"votes"`   // per image
	Teacher int    `json:"teacher"` // epochs
	Seed    uint64 `json:"seed"`
}

// setting is what repetitions share.
type setting struct{ classes, votes, teacher int }

func (c cell) setting() setting { return setting{c.Classes, c.Votes, c.Teacher} }

func (s setting) grouping() grouping { return groupings[s.classes] }

// String reads like "two classes, two votes, teacher of one epoch".
func (s setting) String() string {
	return fmt.Sprintf("%s, %s votes, teacher of %s", s.grouping().Name, word(s.votes), epochs(s.teacher))
}

// headline is the setting that carries the bars.
var headline = setting{2, 2, 1}

// NewCoverage returns the study whose first seed is the given one. The quick one
// has fewer images, epochs and seeds.
func NewCoverage(quick bool, seed uint64) *Coverage {
	c := &Coverage{Quick: quick, Seed: seed, Train: 60000, Test: 10000}
	seeds := map[setting]int{headline: 5}
	if quick {
		c.Train, c.Test = 12000, 2000
		c.Student.Epochs, c.Student.Patience = 10, 4
		seeds = map[setting]int{headline: 2, {2, 2, 3}: 1, {2, 3, 1}: 1, {3, 2, 1}: 1, {3, 3, 1}: 1}
	}
	for _, teacher := range []int{1, 3} {
		for _, classes := range []int{2, 3} {
			for _, votes := range []int{2, 3} {
				n, some := seeds[setting{classes, votes, teacher}]
				if !some && !quick {
					n = 2
				}
				for i := range n {
					c.Cells = append(c.Cells, cell{classes, votes, teacher, seed + uint64(i)})
				}
			}
		}
	}
	return c
}

// Name implements [Study].
func (c *Coverage) Name() string { return "coverage" }

// Prepare implements [Study].
func (c *Coverage) Prepare(ctx context.Context, _ *Folder) (int, error) {
	images, err := c.Source.Find(ctx)
	if err != nil {
		return 0, err
	}
	set, test, err := mnist.Load(images)
	if err != nil {
		return 0, err
	}
	c.set, c.test = set.Head(c.Train), test.Head(c.Test)
	return len(c.Cells), nil
}

// Measure implements [Study].
func (c *Coverage) Measure(ctx context.Context, f *Folder) (Results, error) {
	r := &coverageResults{Coverage: c, cells: make([]cellResult, len(c.Cells))}
	err := each(len(c.Cells), par.Threads()/train.Defaults().Ensemble, func(i int) (err error) {
		at := c.Cells[i]
		r.cells[i], err = piece(ctx, f, fmt.Sprintf("%s, seed %d", at.setting(), at.Seed),
			func(ctx context.Context) (cellResult, error) { return c.cell(ctx, c.set, c.test, at) })
		return err
	})
	return r, err
}

// cell does one repetition.
func (c *Coverage) cell(ctx context.Context, set, test *mnist.Set, at cell) (cellResult, error) {
	r := cellResult{Cell: at, Images: test.Len()}
	g := at.setting().grouping()
	t, err := newTeacher(ctx, set, g, at.Teacher, at.Seed)
	if err != nil {
		return r, err
	}
	taught, err := t.truth(set)
	if err != nil {
		return r, err
	}
	truth, err := t.truth(test)
	if err != nil {
		return r, err
	}
	r.TeacherAccuracy = accuracy(truth, test, g)
	r.Uncertain = uncertain(truth, at.Classes)
	o := c.Student
	o.Seed = at.Seed
	s, err := newStudent(ctx, set, test, g, drawVotes(taught, at.Classes, at.Votes, at.Seed), o)
	if err != nil {
		return r, err
	}
	r.Options, r.Best = s.options, s.best
	r.HeldOut, r.Constant = s.heldOut(), s.model.Provenance.Scores.ConstantPerVote
	compared := s.compared()
	for _, v := range compared {
		var list []network
		for _, members := range v.groups {
			if err := ctx.Err(); err != nil {
				return r, err
			}
			n, err := s.score(members, test, truth, g)
			if err != nil {
				return r, err
			}
			list = append(list, n)
		}
		if v.name == single {
			r.Members = list
		}
		n := average(list)
		n.Name = v.name
		r.Networks = append(r.Networks, n)
	}
	if at.setting() == headline {
		if err := r.byEpoch(ctx, s, compared, truth); err != nil {
			return r, err
		}
	}
	for i := range r.Members {
		r.Members[i].dropStrata()
	}
	return r, nil
}

// compared are networks whose mean is reported: of one group of members or several.
type compared struct {
	name   string
	groups [][]int
}

// compared are all members together, and each by itself.
func (s *student) compared() []compared {
	all := indices(0, len(s.best))
	var alone [][]int
	for _, m := range all {
		alone = append(alone, []int{m})
	}
	return []compared{{defaults, [][]int{all}}, {single, alone}}
}

// score evaluates the predictions of members for the test images, each after its best epoch.
func (s *student) score(members []int, test *mnist.Set, truth []float64, g grouping) (network, error) {
	var best []int
	for _, m := range members {
		best = append(best, s.best[m])
	}
	p, how, err := s.predict(members, best)
	if err != nil {
		return network{}, err
	}
	n := network{Accuracy: accuracy(meansOf(p), test, g)}
	for _, class := range g.Panels {
		n.Classes = append(n.Classes, score(p, truth, class, how))
	}
	return n, nil
}

// mostEpochs bounds the epochs that are evaluated one by one.
const mostEpochs = 14

// byEpoch returns the coverage that would have resulted after each number of epochs that all members
// reached: the mean over groups of members.
func (r *cellResult) byEpoch(ctx context.Context, s *student, list []compared, truth []float64) error {
	last := mostEpochs
	for _, w := range s.weights {
		last = min(last, len(w))
	}
	for e := 1; e <= last; e++ {
		for _, v := range list {
			if err := ctx.Err(); err != nil {
				return err
			}
			x, err := s.afterEpoch(e, v, truth)
			if err != nil {
				return err
			}
			r.Epochs = append(r.Epochs, x)
		}
	}
	return nil
}

// afterEpoch returns the coverage that would have resulted after an epoch.
func (s *student) afterEpoch(epoch int, v compared, truth []float64) (epochResult, error) {
	x := epochResult{Network: v.name, Epoch: epoch, Raw: make([]float64, len(paperLevels)),
		Reported: make([]float64, len(paperLevels))}
	for _, members := range v.groups {
		each := make([]int, len(members))
		share := 1 / float64(len(v.groups))
		for k, m := range members {
			each[k] = epoch
			x.HeldOut += *s.model.Provenance.Runs[m].History[epoch-1].HeldOut * share / float64(len(members))
		}
		p, how, err := s.predict(members, each)
		if err != nil {
			return x, err
		}
		raw, reported := shares(cover(p, truth, 0, paperLevels, nil)), shares(cover(p, truth, 0, paperLevels, how))
		for l := range paperLevels {
			x.Raw[l] += raw[l] * share
			x.Reported[l] += reported[l] * share
		}
	}
	return x, nil
}
