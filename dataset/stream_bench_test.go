package dataset

import (
	"io"
	"strings"
	"testing"
)

// BenchmarkStream reads a CSV file of ten numeric columns and applies a
// transform to it.
func BenchmarkStream(b *testing.B) {
	const rows = 20_000
	text := many("item,a,b,c,d,e,f,g,h,i,j", "#,1.25,-2,3e2,4.125,#,6,7.5,8,9,10", rows)
	var parts []Feature
	for _, name := range strings.Split("abcdefghij", "") {
		parts = append(parts, Feature{Name: name})
	}
	ds := &Dataset{Items: []string{"x", "y"}, Features: parts, Rows: &Memory{2, 10, count(0, 20)}}
	tr, err := Fit(ds, []int{0, 1}, TransformOptions{})
	if err != nil {
		b.Fatal(err)
	}
	x := make([]float32, tr.Width())
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		s, err := NewStream(b.Context(), strings.NewReader(text), "x", parts, StreamOptions{})
		if err != nil {
			b.Fatal(err)
		}
		for {
			batch, err := s.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				b.Fatal(err)
			}
			in, err := tr.Over(batch.Dataset)
			if err != nil {
				b.Fatal(err)
			}
			for i := range batch.Len() {
				if err := in.ReadRow(i, x); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	b.ReportMetric(float64(rows*b.N)/b.Elapsed().Seconds(), "rows/s")
}
