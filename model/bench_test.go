package model

import (
	"context"
	"testing"

	"credence/head"
)

// BenchmarkEach predicts items of a small table, mixtures only.
func BenchmarkEach(b *testing.B) {
	m, ds := small(b), items(20000)
	for b.Loop() {
		if err := m.Each(context.Background(), ds, PredictOptions{}, func(int, head.Answer) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*ds.Len())/b.Elapsed().Seconds(), "items/s")
}
