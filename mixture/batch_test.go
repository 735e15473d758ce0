package mixture

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"credence/internal/rng"
)

// benchmarkRows draws the mixtures of the interval benchmark: w ~ Dirichlet(1),
// a and b ~ exp(N(1, 1.5²)).
func benchmarkRows(n, k int) BetaBatch {
	r := rand.New(rng.New(1, "rows"))
	rows := BetaBatch{K: k}
	for range n {
		total, from := 0.0, len(rows.Weights)
		for range k {
			w := r.ExpFloat64()
			total += w
			rows.Weights = append(rows.Weights, w)
			rows.A = append(rows.A, math.Exp(1+1.5*r.NormFloat64()))
			rows.B = append(rows.B, math.Exp(1+1.5*r.NormFloat64()))
		}
		for i := range rows.Weights[from:] {
			rows.Weights[from+i] /= total
		}
	}
	return rows
}

func TestIntervalsInto(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	rows := benchmarkRows(1000, 3)
	var want []Interval
	for _, threads := range []int{1, 2, 5} {
		runtime.GOMAXPROCS(threads)
		got := make([]Interval, rows.Len())
		if err := IntervalsInto(got, rows, TwoSided, 0.95); err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got
			for i := range got {
				m, err := NewBeta(rows.Weights[3*i:3*i+3], rows.A[3*i:3*i+3], rows.B[3*i:3*i+3])
				if err != nil {
					t.Fatal(err)
				}
				if one := m.Interval(TwoSided, 0.95); one != got[i] {
					t.Fatalf("row %d: %v in the batch, %v alone", i, got[i], one)
				}
			}
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("row %d: %v on one core, %v on %d", i, want[i], got[i], threads)
			}
		}
	}
}

func TestIntervalsIntoReportsBadRows(t *testing.T) {
	rows := benchmarkRows(300, 2)
	rows.A[2*170] = math.NaN()
	rows.A[2*290] = -1
	dst := make([]Interval, 300)
	err := IntervalsInto(dst, rows, Upper, 0.9)
	if err == nil || !strings.Contains(err.Error(), "row 170: ") || !strings.Contains(err.Error(), "a of component 0: expected a number from 1e-100 to 1e+15, found NaN") {
		t.Errorf("error %v, want one about row 170", err)
	}
	if dst[169].Hi == 0 || dst[299].Hi == 0 || dst[170].Hi != 0 {
		t.Error("good rows have no interval, or a bad one has")
	}
	for _, c := range []struct {
		rows  BetaBatch
		dst   int
		level float64
	}{
		{BetaBatch{K: 0}, 1, 0.9},
		{BetaBatch{K: 2, Weights: make([]float64, 3)}, 2, 0.9},
		{BetaBatch{K: 1, Weights: []float64{1}, A: []float64{1}}, 1, 0.9},
		{BetaBatch{K: 1, Weights: []float64{1}, A: []float64{1}, B: []float64{1}}, 0, 0.9},
		{BetaBatch{K: 1, Weights: []float64{1}, A: []float64{1}, B: []float64{1}}, 1, 1},
	} {
		if err := IntervalsInto(make([]Interval, c.dst), c.rows, TwoSided, c.level); err == nil {
			t.Errorf("%+v, room for %d, level %v: no error", c.rows, c.dst, c.level)
		}
	}
}

func TestIntervalsIntoAllocatesNothingARow(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	runtime.GOMAXPROCS(1)
	few, many := benchmarkRows(100, 3), benchmarkRows(3000, 3)
	dst := make([]Interval, 3000)
	count := func(rows BetaBatch) float64 {
		return testing.AllocsPerRun(5, func() {
			if err := IntervalsInto(dst, rows, TwoSided, 0.95); err != nil {
				t.Fatal(err)
			}
		})
	}
	if a, b := count(few), count(many); b > a+1 {
		t.Errorf("%v allocations for 100 rows, %v for 3000", a, b)
	}
}

func BenchmarkInterval(b *testing.B) {
	rows := benchmarkRows(2000, 3)
	for i := 0; b.Loop(); i++ {
		k := i % rows.Len() * rows.K
		m, err := NewBeta(rows.Weights[k:k+rows.K], rows.A[k:k+rows.K], rows.B[k:k+rows.K])
		if err != nil {
			b.Fatal(err)
		}
		m.Interval(TwoSided, 0.95)
	}
}

func BenchmarkHighestDensity(b *testing.B) {
	for _, k := range []int{1, 3, 15} {
		b.Run(fmt.Sprintf("K=%d", k), func(b *testing.B) {
			rows := benchmarkRows(2000, k)
			for i := 0; b.Loop(); i++ {
				k := i % rows.Len() * rows.K
				m, err := NewBeta(rows.Weights[k:k+rows.K], rows.A[k:k+rows.K], rows.B[k:k+rows.K])
				if err != nil {
					b.Fatal(err)
				}
				m.HighestDensity(0.95)
			}
		})
	}
}
