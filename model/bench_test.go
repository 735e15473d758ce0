package model

import (
	"context"
	"testing"
)

// BenchmarkPredict predicts items of a small table, mixtures only.
func BenchmarkPredict(b *testing.B) {
	m, ds := small(b), items(20000)
	for b.Loop() {
		if _, err := m.Predict(context.Background(), ds, PredictOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*ds.Len())/b.Elapsed().Seconds(), "items/s")
}
