package tree

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"credence/dataset"
	"credence/internal/rng"
)

// TestGradient compares gradients with finite differences of the loss, for two classes and more.
func TestGradient(t *testing.T) {
	for _, c := range []struct{ out, votes []float32 }{
		{[]float32{0.3, 1.2}, []float32{2, 1}},
		{[]float32{-2, -3.5}, []float32{0, 4}},
		{[]float32{0.2, -0.7, 1.1, 3}, []float32{1, 0, 3}},
		{[]float32{1, 0.5, -0.5, -1, 6.5}, []float32{0, 20, 1, 3}},
	} {
		o := len(c.out)
		grad, alpha := make([]float32, 2*o), make([]float32, len(c.votes))
		gradient(grad, c.out, c.votes, alpha, 1)
		loss := func(k int, step float64) float64 {
			out := slices.Clone(c.out)
			out[k] += float32(step)
			logAlpha(alpha, out)
			return Loss(alpha, c.votes)
		}
		for k := range o {
			const h = 1.0 / 64
			want := (8*(loss(k, h)-loss(k, -h)) - (loss(k, 2*h) - loss(k, -2*h))) / (12 * h)
			if got := float64(grad[2*k]); math.Abs(got-want) > 3e-4*(1+math.Abs(want)) {
				t.Errorf("outputs %v, votes %v: derivative %d is %v, by differences %v", c.out, c.votes, k, got, want)
			}
			if !(grad[2*k+1] > 0) {
				t.Errorf("outputs %v: curvature %d is %v", c.out, k, grad[2*k+1])
			}
		}
	}
}

// TestCurvature compares curvatures with their formulas at one point: n = 4, S = 3, μ = ¼, d = 2.
func TestCurvature(t *testing.T) {
	grad, alpha := make([]float32, 4), make([]float32, 2)
	gradient(grad, []float32{float32(math.Log(1. / 3)), float32(math.Log(3))}, []float32{2, 2}, alpha, 1)
	r := 3.0 * 3 / (7 * 4)
	for k, want := range []float64{4*4./7*3/16 + 1e-3, r*r/2 + 0.02} {
		if got := float64(grad[2*k+1]); math.Abs(got-want) > 1e-6 {
			t.Errorf("curvature %d: expected %v, found %v", k, want, got)
		}
	}
}

// world is a table with its votes.
type world struct {
	columns []dataset.Column
	width   int
	x       []float32
	votes   []float32
	folds   []int
	d       int
}

func (w *world) read(i int, x []float32) error {
	copy(x, w.x[i*w.width:(i+1)*w.width])
	return nil
}

// fit returns a booster after some trees on all items.
func (w *world) fit(t *testing.T, trees int, o Options) *Booster {
	t.Helper()
	n := len(w.folds)
	table, err := NewTable(w.columns, n, w.width, w.read, o.Threads)
	if err != nil {
		t.Fatal(err)
	}
	s := Sample{Folds: w.folds, Votes: w.votes, Start: slices.Repeat([]float64{1}, w.d)}
	for i := range n {
		s.Items = append(s.Items, i)
	}
	b := NewBooster(table, w.d, s, o)
	for range trees {
		b.Grow()
	}
	return b
}

// newWorld draws n items with m votes each; fill sets the inputs of an item and returns its probabilities.
func newWorld(n, m, d, width int, columns []dataset.Column, fill func(r *rand.Rand, x []float32) []float64) *world {
	r := rand.New(rng.New(3, "trees test"))
	w := &world{columns: columns, width: width, d: d}
	for i := range n {
		x, votes := make([]float32, width), make([]float32, d)
		p := fill(r, x)
		for range m {
			u := r.Float64()
			c := 0
			for c < d-1 && u >= p[c] {
				u -= p[c]
				c++
			}
			votes[c]++
		}
		w.x, w.votes, w.folds = append(w.x, x...), append(w.votes, votes...), append(w.folds, i%5)
	}
	return w
}

func numbers(n int) []dataset.Column {
	var list []dataset.Column
	for k := range n {
		list = append(list, dataset.Column{Name: string(rune('a' + k)), At: k, Missing: -1})
	}
	return list
}

// means returns the means of the second of two classes.
func means(logAlpha []float32) []float64 {
	var list []float64
	for i := 0; i < len(logAlpha); i += 2 {
		list = append(list, 1/(1+math.Exp(float64(logAlpha[i]-logAlpha[i+1]))))
	}
	return list
}

// TestStep recovers a step in the mean along one column and one in the spread along another: with p of 2,000 items known
// to about .02, a step of .6 that is missed by .05 anywhere but at its place would be ten errors off.
func TestStep(t *testing.T) {
	w := newWorld(2000, 6, 2, 3, numbers(3), func(r *rand.Rand, x []float32) []float64 {
		for k := range x {
			x[k] = float32(r.NormFloat64())
		}
		p := 0.2
		if x[0] > 0.5 {
			p = 0.8
		}
		if x[1] > 0 && r.Float64() < 0.5 { // half of them the other way round: more spread
			p = 1 - p
		}
		return []float64{1 - p, p}
	})
	f := w.fit(t, 150, Options{}).Forest(150)
	at := []float32{-1, -1, 0, 2, -1, 0, 2, 1, 0, -1, 1, 0}
	out := f.LogAlpha(at, 3, 1)
	for k, want := range []float64{0.2, 0.8, 0.5, 0.5} {
		if got := means(out)[k]; math.Abs(got-want) > 0.06 {
			t.Errorf("mean at %v: expected %v, found %.3f", at[3*k:3*k+3], want, got)
		}
	}
	logS := func(k int) float64 {
		return math.Log(math.Exp(float64(out[2*k])) + math.Exp(float64(out[2*k+1])))
	}
	if !(logS(0) > logS(3)+1) || !(logS(1) > logS(2)+1) {
		t.Errorf("log S where votes agree %.2f and %.2f, where they differ %.2f and %.2f", logS(0), logS(1), logS(3), logS(2))
	}
	if !(f.Gain[0] > 2*f.Gain[2] && f.Gain[1] > 2*f.Gain[2]) {
		t.Errorf("gains %v of two columns that matter and one that does not", f.Gain)
	}
}

// TestMissing learns on which side missing values belong: they are like large ones.
func TestMissing(t *testing.T) {
	columns := []dataset.Column{{Name: "a", At: 0, Missing: 1}}
	w := newWorld(1500, 4, 2, 2, columns, func(r *rand.Rand, x []float32) []float64 {
		x[0] = float32(r.NormFloat64())
		high := x[0] > 0
		if r.IntN(4) == 0 {
			x[0], x[1], high = 0, 1, true
		}
		if high {
			return []float64{0.15, 0.85}
		}
		return []float64{0.85, 0.15}
	})
	f := w.fit(t, 60, Options{}).Forest(60)
	got := means(f.LogAlpha([]float32{-1, 0, 1, 0, 0, 1}, 2, 1))
	for k, want := range []float64{0.15, 0.85, 0.85} {
		if math.Abs(got[k]-want) > 0.05 {
			t.Errorf("means %.3f of a low, a high and a missing value: expected 0.15, 0.85, 0.85", got)
		}
	}
}

// TestCategory learns the shares of levels, three classes, with an unknown level near the mean. Levels of one item each
// carry no information, and must not be trusted.
func TestCategory(t *testing.T) {
	const levels = 700
	columns := []dataset.Column{{Name: "site", At: 0, Missing: -1, Levels: 12}, {Name: "id", At: 1, Missing: -1, Levels: levels}}
	next := 0
	w := newWorld(600, 5, 3, 2, columns, func(r *rand.Rand, x []float32) []float64 {
		next++
		x[0], x[1] = float32(1+r.IntN(11)), float32(next)
		p := []float64{0.1, 0.1, 0.1}
		p[int(x[0])%3] = 0.8
		return p
	})
	f := w.fit(t, 80, Options{}).Forest(80)
	for level := 1; level < 12; level++ {
		a := f.LogAlpha([]float32{float32(level), 5}, 2, 1)
		if top := slices.Index(a, slices.Max(a)); top != level%3 {
			t.Errorf("level %d: class %d has the largest mean", level, top)
		}
	}
	if f.Gain[1] > f.Gain[0]/10 {
		t.Errorf("gain %v of a level per item, %v of the levels that matter", f.Gain[1], f.Gain[0])
	}
	if out := f.LogAlpha([]float32{-3, 1e9}, 2, 1); math.IsNaN(float64(out[0])) {
		t.Errorf("unknown levels: %v", out)
	}
}

// messy is a world with numbers, missing values, ties and a category.
func messy(n int) *world {
	columns := append(numbers(4), dataset.Column{Name: "m", At: 4, Missing: 5}, dataset.Column{Name: "c", At: 6, Missing: -1, Levels: 9})
	return newWorld(n, 3, 3, 7, columns, func(r *rand.Rand, x []float32) []float64 {
		for k := range 4 {
			x[k] = float32(math.Round(4*r.NormFloat64())) / 4
		}
		x[5], x[6] = float32(r.IntN(2)), float32(r.IntN(9))
		if x[4] = 0; x[5] == 0 {
			x[4] = float32(r.NormFloat64())
		}
		p := 1 / (1 + math.Exp(-float64(x[0]+x[1]*x[4])))
		return []float64{p / 2, 1 - p, p / 2}
	})
}

// bits returns the bytes of all arrays of a forest.
func bits(t *testing.T, f *Forest) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, a := range f.Arrays() {
		b.WriteString(a.Name)
		if err := binary.Write(&b, binary.LittleEndian, a.Values); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// TestThreads grows the same bytes on any number of threads, and others with another seed.
func TestThreads(t *testing.T) {
	w := messy(3000)
	one := bits(t, w.fit(t, 12, Options{Threads: 1}).Forest(12))
	for _, threads := range []int{2, 3, 8} {
		if !bytes.Equal(one, bits(t, w.fit(t, 12, Options{Threads: threads}).Forest(12))) {
			t.Errorf("%d threads grow another forest than one", threads)
		}
	}
	if bytes.Equal(one, bits(t, w.fit(t, 12, Options{Seed: 1}).Forest(12))) {
		t.Error("another seed grows the same forest")
	}
}

// TestForestRepeatsBooster compares predictions from inputs with those that the booster made from bins: numbers and
// missing values take the same way. (Categories do not: the booster leaves out the fold of an item.)
func TestForestRepeatsBooster(t *testing.T) {
	w := messy(500)
	w.columns = w.columns[:5]
	b := w.fit(t, 40, Options{Depth: 5})
	items := make([]int, 500)
	for i := range items {
		items[i] = i
	}
	want := b.LogAlpha(nil, items)
	f := b.Forest(40)
	if got := f.LogAlpha(w.x, w.width, 2); !slices.Equal(got, want) {
		t.Error("the forest predicts its training items otherwise than the booster")
	}
	for k := range 5 {
		if got := f.LogAlpha(w.x[k*w.width:(k+1)*w.width], w.width, 1); !slices.Equal(got, want[k*3:k*3+3]) {
			t.Error("an item alone is predicted otherwise")
		}
	}
}

// TestWeights repeats an item instead of giving it a larger weight.
func TestWeights(t *testing.T) {
	w := messy(400)
	s := Sample{Folds: w.folds, Votes: w.votes, Start: []float64{1, 1, 1}, Weights: make([]float64, 400)}
	for i := range 400 {
		s.Weights[i] = float64(1 + i%2)
		s.Items = append(s.Items, i)
	}
	// Every second item twice, at the same bins.
	twice := &world{columns: w.columns[:5], width: w.width, d: 3}
	for i := range 400 {
		for range 1 + i%2 {
			twice.x, twice.votes = append(twice.x, w.x[i*7:(i+1)*7]...), append(twice.votes, w.votes[i*3:(i+1)*3]...)
			twice.folds = append(twice.folds, i%5)
		}
	}
	w.columns = w.columns[:5]
	table, err := NewTable(w.columns, 400, 7, w.read, 1)
	if err != nil {
		t.Fatal(err)
	}
	other := *table // the bins of the copies
	other.n, other.numbers = len(twice.folds), nil
	for _, v := range table.numbers {
		c := v
		c.bins = nil
		for i := range 400 {
			for range 1 + i%2 {
				c.bins = append(c.bins, v.bins[i])
			}
		}
		other.numbers = append(other.numbers, c)
	}
	o := Options{Rows: 1, Columns: 1}
	a := NewBooster(table, 3, s, o)
	q := Sample{Folds: twice.folds, Votes: twice.votes, Start: []float64{1, 1, 1}}
	for i := range twice.folds {
		q.Items = append(q.Items, i)
	}
	b := NewBooster(&other, 3, q, o)
	for range 10 {
		a.Grow()
		b.Grow()
	}
	x, y := a.Forest(10), b.Forest(10)
	if !slices.Equal(x.Splits, y.Splits) {
		t.Fatal("splits differ between weights and copies")
	}
	for k := range x.Leaves {
		if math.Abs(float64(x.Leaves[k]-y.Leaves[k])) > 1e-5 {
			t.Fatalf("leaf %d: %v with weights, %v with copies", k, x.Leaves[k], y.Leaves[k])
		}
	}
}

// TestArrays reads a forest back, and refuses arrays that do not fit.
func TestArrays(t *testing.T) {
	w := messy(300)
	f := w.fit(t, 5, Options{}).Forest(5)
	arrays := map[string]*dataset.Array{}
	for _, a := range f.Arrays() {
		arrays[a.Name] = &a
	}
	take := func(name string) *dataset.Array { return arrays[name] }
	g, err := FromArrays(w.columns, 3, take)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(bits(t, f), bits(t, g)) || !slices.Equal(f.LogAlpha(w.x, 7, 1), g.LogAlpha(w.x, 7, 1)) {
		t.Error("another forest was read")
	}
	for name, bad := range map[string]*dataset.Array{
		"start":   {Shape: []int{3}, Values: make([]float32, 3)},
		"splits":  {Shape: []int{5, 4}, Values: slices.Repeat([]float32{99}, 20)},
		"cuts":    {Shape: []int{5, 4}, Values: slices.Repeat([]float32{float32(math.NaN())}, 20)},
		"leaves":  {Shape: []int{1, 16, 4}, Values: make([]float32, 64)},
		"gain":    nil,
		"shares0": {Shape: []int{2, 3}, Values: make([]float32, 6)},
	} {
		was := arrays[name]
		arrays[name] = bad
		if _, err := FromArrays(w.columns, 3, take); err == nil {
			t.Errorf("a forest with another %s was read", name)
		}
		arrays[name] = was
	}
	if _, err := FromArrays(w.columns, 2, take); err == nil {
		t.Error("a forest for three classes was read for two")
	}
}

// TestCuts chooses cuts between few distinct values, and evenly among many, whatever the ties.
func TestCuts(t *testing.T) {
	if got := chooseCuts([]float32{1, 1, 2, 4, 4}, 8); !slices.Equal(got, []float32{1.5, 3}) {
		t.Errorf("cuts %v between 1, 2 and 4", got)
	}
	if got := chooseCuts([]float32{1, math.Nextafter32(1, 2)}, 8); !slices.Equal(got, []float32{1}) {
		t.Errorf("cuts %v between neighbors", got)
	}
	var many []float32
	for i := range 1000 {
		many = append(many, float32(max(0, i-600))) // three fifths are ties
	}
	cuts := chooseCuts(many, 9)
	if len(cuts) != 9 || cuts[0] != 0.5 {
		t.Fatalf("cuts %v", cuts)
	}
	for k := 2; k < 9; k++ {
		if step := cuts[k] - cuts[k-1]; step < 30 || step > 60 {
			t.Errorf("cuts %v are not even", cuts)
		}
	}
	if got := chooseCuts(nil, 9); got != nil {
		t.Errorf("cuts %v of no values", got)
	}
}

// BenchmarkGrow times a tree of two outputs on 100,000 rows of 50 columns.
func BenchmarkGrow(b *testing.B) {
	w := newWorld(100_000, 3, 2, 50, numbers(50), func(r *rand.Rand, x []float32) []float64 {
		for k := range x {
			x[k] = float32(r.NormFloat64())
		}
		p := 1 / (1 + math.Exp(-float64(x[0]+x[1]*x[2])))
		return []float64{1 - p, p}
	})
	table, err := NewTable(w.columns, 100_000, 50, w.read, 0)
	if err != nil {
		b.Fatal(err)
	}
	s := Sample{Folds: w.folds, Votes: w.votes, Start: []float64{1, 1}}
	for i := range w.folds {
		s.Items = append(s.Items, i)
	}
	g := NewBooster(table, 2, s, Options{Depth: 5, Rows: 1, Columns: 1})
	for b.Loop() {
		g.Grow()
	}
}
