package model

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"credence/dataset"
	"credence/head"
	"credence/nn"
)

// TestConcurrent: concurrent callers get the same results as a single one, and share
// the cores.
func TestConcurrent(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	runtime.GOMAXPROCS(4)
	m, ds := small(t), items(64)
	want := predict(t, m, ds, PredictOptions{})
	var wg sync.WaitGroup
	for k := range 8 {
		wg.Go(func() {
			for j := k; j < ds.Len(); j += 8 {
				got, err := m.Predict(context.Background(), ds.Select([]int{j}), PredictOptions{})
				if err != nil || !reflect.DeepEqual(got[0], want[j]) {
					t.Errorf("item %d: %+v, %v, want %+v", j, got, err, want[j])
				}
			}
		})
	}
	wg.Wait()
	if p := &m.runners; p.busy != 0 || len(p.idle) == 0 || len(p.idle) > 8 {
		t.Errorf("afterwards %d callers and %d idle runners", p.busy, len(p.idle))
	}
	var held []*runner
	for _, cores := range []int{4, 2, 1, 1, 1} {
		e, got, err := m.acquire(0)
		if err != nil || got != cores {
			t.Errorf("caller %d has %d cores, want %d; %v", len(held), got, cores, err)
		}
		for _, other := range held {
			if other == e {
				t.Error("two callers have one runner")
			}
		}
		held = append(held, e)
	}
	for _, e := range held {
		m.release(e)
	}
	m.Method = head.Softmax{}
	if a := predict(t, m, ds, PredictOptions{}); a[0].Dist != nil {
		t.Error("the head of the method before is used")
	}
	m.Method = head.Mixture{Components: 2, Limit: 20}
	m.Members = m.Members[:1]
	if a := predict(t, m, ds, PredictOptions{}); a[0].Dist.K() != 2 {
		t.Errorf("with one network, %d components, want 2", a[0].Dist.K())
	}
}

// BenchmarkRows predicts single rows from a number of goroutines at once.
func BenchmarkRows(b *testing.B) {
	m, ds := small(b), items(64)
	rows := make([]*dataset.Dataset, ds.Len())
	for j := range rows {
		rows[j] = ds.Select([]int{j})
	}
	for _, callers := range []int{1, 8} {
		b.Run(fmt.Sprintf("goroutines=%d", callers), func(b *testing.B) {
			var next atomic.Int64
			var wg sync.WaitGroup
			for range callers {
				wg.Go(func() {
					for {
						i := next.Add(1)
						if i > int64(b.N) {
							return
						}
						if _, err := m.Predict(context.Background(), rows[i%int64(len(rows))], PredictOptions{}); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// BenchmarkVolume predicts one volume alone.
func BenchmarkVolume(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	shape := []int{1, 96, 96, 80}
	ds := &dataset.Dataset{
		Items: []string{"a"}, Classes: []string{"no", "yes"}, Counts: []float32{1, 1},
		Features: []dataset.Feature{{Name: "scan", Kind: dataset.Tensor, Shape: shape}},
		Rows:     &dataset.Memory{N: 1, W: 96 * 96 * 80, Values: make([]float32, 96*96*80)},
	}
	for i := range ds.Rows.(*dataset.Memory).Values {
		ds.Rows.(*dataset.Memory).Values[i] = float32(i*7919%257) / 64
	}
	tr, err := dataset.Fit(ds, []int{0}, dataset.TransformOptions{})
	if err != nil {
		b.Fatal(err)
	}
	root, err := nn.ByName("cnn3d", shape, 9)
	if err != nil {
		b.Fatal(err)
	}
	net, err := nn.New(root, shape, nn.Options{Seed: 1})
	if err != nil {
		b.Fatal(err)
	}
	m := &Model{Classes: ds.Classes, Method: head.Mixture{Components: 3}, Transform: tr, Members: []*nn.Network{net}}
	for _, cores := range []int{1, 2} {
		b.Run(fmt.Sprintf("cores=%d", cores), func(b *testing.B) {
			runtime.GOMAXPROCS(cores)
			for b.Loop() {
				if _, err := m.Predict(context.Background(), ds, PredictOptions{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
