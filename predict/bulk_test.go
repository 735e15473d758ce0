package predict

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"credence/internal/array"
	"credence/mixture"
)

// bulkRecords writes mixtures of two components and three classes, with votes on them, and reads them.
func bulkRecords(t *testing.T, fields []array.Field, values ...float64) *array.Records {
	t.Helper()
	size := 0
	for i := range fields {
		size += fields[i].Len()
	}
	b, err := array.HeaderRecords(fields, len(values)/size)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "in.npy")
	if err := os.WriteFile(path, array.AppendNumbers(b, values), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := array.ReadRecords(path)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// votedFields are those of records of two components and three classes.
var votedFields = []array.Field{{Name: "weights", Shape: []int{2}}, {Name: "alpha", Shape: []int{2, 3}}, {Name: "votes", Shape: []int{3}}}

// askBulk returns the results for records.
func askBulk(t *testing.T, b *Bulk, in *array.Records) (*array.Records, error) {
	t.Helper()
	var out bytes.Buffer
	if err := b.run(in, &out); err != nil {
		return nil, err
	}
	path := filepath.Join(t.TempDir(), "out.npy")
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := array.ReadRecords(path)
	if err != nil {
		t.Fatal(err)
	}
	return r, nil
}

// TestBulk compares every field with the result of package mixture for the mixture alone. The second
// record has a component of weight 0.
func TestBulk(t *testing.T) {
	in := bulkRecords(t, votedFields,
		0.25, 0.75, 8, 3, 1, 2, 2, 9, 1, 0, 2,
		1, 0, 5, 1, 1, 1, 1, 1, 0, 0, 0)
	b := &Bulk{Levels: []float64{0.5, 0.95}, Quantiles: []float64{0.1, 0.9}, CDF: []float64{0.3}, Resolution: 0.01}
	out, err := askBulk(t, b, in)
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Fields) != len(recordFields(ofMixtures)) || out.N != 2 {
		t.Fatalf("%d records of %d fields", out.N, len(out.Fields))
	}
	first, err := mixture.NewDirichlet([]float64{0.25, 0.75}, [][]float64{{8, 3, 1}, {2, 2, 9}})
	if err != nil {
		t.Fatal(err)
	}
	if first, err = first.Update([]float64{1, 0, 2}); err != nil {
		t.Fatal(err)
	}
	second, err := mixture.NewDirichlet([]float64{1}, [][]float64{{5, 1, 1}})
	if err != nil {
		t.Fatal(err)
	}
	for i, dist := range []*mixture.Dirichlet{first, second} {
		reported, err := mixture.NewReported(dist, 0.01)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string][]float64{"mean": dist.Mean(nil), "variance": dist.Variance(nil), "p_top": dist.TopClass(nil),
			"sd": reported.SD(nil), "entropy": {dist.Entropy().Expected}, "information": {dist.Entropy().Information}}
		gain, _ := dist.Gain(1)
		want["next_gain"] = []float64{gain}
		for class := range 3 {
			c := reported.Class(class)
			x, _ := c.QuantileBoth(0.5)
			want["median"] = append(want["median"], x)
			for _, q := range b.Quantiles {
				x, _ := c.QuantileBoth(q)
				want["quantile"] = append(want["quantile"], x)
			}
			want["cdf"] = append(want["cdf"], c.CDF(0.3))
			for _, l := range b.Levels {
				in := c.Interval(mixture.TwoSided, l)
				want["interval"] = append(want["interval"], in.Lo, in.Hi)
				want["upper_bound"] = append(want["upper_bound"], c.Interval(mixture.Upper, l).Hi)
				want["lower_bound"] = append(want["lower_bound"], c.Interval(mixture.Lower, l).Lo)
			}
		}
		for k := range 2 {
			w, a := 0.0, []float64{1, 1, 1}
			if k < dist.K() {
				w, a = dist.Component(k)
			}
			want["weights"], want["alpha"] = append(want["weights"], w), append(want["alpha"], a...)
		}
		for name, values := range want {
			got := out.Append(nil, i, out.Field(name))
			if !slices.EqualFunc(got, values, func(x, y float64) bool { return math.Abs(x-y) <= 1e-12*math.Abs(y) }) {
				t.Errorf("record %d: %s is %v, want %v", i, name, got, values)
			}
		}
	}
	alone, err := askBulk(t, &Bulk{Levels: b.Levels, Resolution: 0.01, Fields: []string{"interval"}}, in)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := alone.Append(nil, 0, 0), out.Append(nil, 0, out.Field("interval")); !slices.Equal(got, want) {
		t.Errorf("intervals alone are %v, with others %v", got, want)
	}
}

func TestBulkRefused(t *testing.T) {
	plain := []array.Field{{Name: "weights", Shape: []int{1}}, {Name: "alpha", Shape: []int{1, 2}}}
	good := bulkRecords(t, plain, 1, 2, 5)
	for _, c := range []struct {
		b    Bulk
		in   *array.Records
		want string
	}{
		{Bulk{}, bulkRecords(t, plain, 1, 2, 5, 1, -2, 5), "record 1 (from 0): "},
		{Bulk{}, bulkRecords(t, plain, 1, math.NaN(), 5), "record 0 (from 0): "},
		{Bulk{}, bulkRecords(t, votedFields, 0.5, 0.5, 1, 1, 1, 1, 1, 1, 0, -1, 0), "record 0 (from 0): votes: "},
		{Bulk{}, bulkRecords(t, plain[:1], 1), `the records have the fields ["weights"]`},
		{Bulk{}, bulkRecords(t, []array.Field{plain[0], {Name: "alpha", Shape: []int{3}}}, 1, 2, 3, 4), "expected (K,) and (K, d)"},
		{Bulk{Fields: []string{"means"}}, good, `found "means"`},
		{Bulk{Levels: []float64{95}}, good, "level 95: expected a level between 0 and 1"},
		{Bulk{Resolution: 2}, good, "resolution: expected a number from 0 to 0.1, found 2"},
	} {
		if _, err := askBulk(t, &c.b, c.in); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// A record of ordered classes has the score and its intervals at all levels.
func TestScaleRecords(t *testing.T) {
	rows := []Row{{score: meanInterval{2, []mixture.Interval{{Lo: 1.5, Hi: 2.5}, {Lo: 1.25, Hi: 2.75}}}}}
	for name, want := range map[string][]float64{"score": {2}, "score_lower": {1.5, 1.25}, "score_upper": {2.5, 2.75}} {
		f := &fields[slices.IndexFunc(fields, func(f Field) bool { return f.Name == name })]
		values, shape := f.Numbers(rows, RecordShape{D: 3, Levels: []float64{0.5, 0.9}})
		if !slices.Equal(values, want) || f.Per == PerLevel && !slices.Equal(shape, []int{2}) {
			t.Errorf("%s is %v of shape %v, want %v", name, values, shape, want)
		}
	}
}
