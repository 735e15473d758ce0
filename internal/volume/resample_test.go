package volume

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"credence/internal/rng"
)

// random returns a volume of random values and orientation.
func random(r *rand.Rand, dim [3]int) *Volume {
	v := &Volume{Dim: dim, Data: make([]float32, dim[0]*dim[1]*dim[2])}
	for i := range v.Data {
		v.Data[i] = float32(100 * r.NormFloat64())
	}
	for i := range 3 {
		v.Spacing[i] = 0.5 + r.Float64()
		v.Affine[i][i] = v.Spacing[i]
		v.Affine[i][3] = 10 * r.NormFloat64()
	}
	return v
}

// direct evaluates the definition: the product of three normalized tent functions.
func direct(v *Volume, grid [3]int, x, y, z int) float64 {
	weights := func(k, t int) map[int]float64 {
		scale := float64(v.Dim[k]) / float64(grid[k])
		s := (float64(t)+0.5)*scale - 0.5
		w, sum := map[int]float64{}, 0.0
		for j := range v.Dim[k] {
			w[j] = max(0, 1-math.Abs(s-float64(j))/max(1, scale))
			sum += w[j]
		}
		for j := range w {
			w[j] /= sum
		}
		return w
	}
	wx, wy, wz := weights(0, x), weights(1, y), weights(2, z)
	sum := 0.0
	for k := range v.Dim[2] {
		for j := range v.Dim[1] {
			for i := range v.Dim[0] {
				sum += wx[i] * wy[j] * wz[k] * float64(v.At(i, j, k))
			}
		}
	}
	return sum
}

func TestResample(t *testing.T) {
	r := rand.New(rng.New(3, "nifti resample"))
	for _, c := range []struct{ from, to [3]int }{
		{[3]int{7, 6, 5}, [3]int{7, 6, 5}},
		{[3]int{7, 6, 5}, [3]int{3, 4, 2}},
		{[3]int{4, 3, 5}, [3]int{9, 6, 5}},
		{[3]int{12, 1, 4}, [3]int{5, 3, 1}},
	} {
		v := random(r, c.from)
		got, err := Resample(v, c.to, Stretch)
		if err != nil {
			t.Fatal(err)
		}
		for z := range c.to[2] {
			for y := range c.to[1] {
				for x := range c.to[0] {
					if want := direct(v, c.to, x, y, z); !(math.Abs(float64(got.At(x, y, z))-want) < 1e-4) {
						t.Fatalf("%v to %v: voxel %d %d %d is %v, want %v", c.from, c.to, x, y, z, got.At(x, y, z), want)
					}
				}
			}
		}
		if c.from == c.to && !slices.Equal(got.Data, v.Data) {
			t.Error("the same grid gives other values")
		}
		// The corner of the volume does not move.
		for i := range 3 {
			corner := func(u *Volume) float64 {
				return u.Affine[i][3] - (u.Affine[i][0]+u.Affine[i][1]+u.Affine[i][2])/2
			}
			if math.Abs(corner(got)-corner(v)) > 1e-9 {
				t.Errorf("corner at %v, want %v", corner(got), corner(v))
			}
		}
	}
}

// A checkerboard is gray from afar. Interpolation without a filter would return
// black and white at random.
func TestResampleFilters(t *testing.T) {
	v := &Volume{Dim: [3]int{60, 60, 60}, Spacing: [3]float64{1, 1, 1}, Data: make([]float32, 60*60*60)}
	for i := range v.Data {
		v.Data[i] = float32((i + i/60 + i/3600) % 2)
	}
	got, err := Resample(v, [3]int{20, 17, 13}, Stretch)
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range got.Data {
		if !(math.Abs(float64(x)-0.5) < 0.02) {
			t.Fatalf("voxel %d is %v, want 0.5", i, x)
		}
	}
}

// A ball stays a ball if proportions are kept, and the outside is filled
// with the smallest value.
func TestResampleProportions(t *testing.T) {
	v := &Volume{Dim: [3]int{40, 20, 10}, Spacing: [3]float64{1, 2, 2}, Data: make([]float32, 40*20*10)}
	for i := range v.Data {
		v.Data[i] = float32(5 + i%40)
	}
	got, err := Resample(v, [3]int{20, 20, 20}, Proportions)
	if err != nil {
		t.Fatal(err)
	}
	if got.Spacing != [3]float64{2, 2, 2} {
		t.Errorf("spacing %v, want 2", got.Spacing)
	}
	if got.At(10, 10, 0) != 5 || got.At(10, 10, 4) != 5 || got.At(10, 10, 5) < 20 || got.At(10, 10, 14) < 20 || got.At(10, 10, 15) != 5 {
		t.Errorf("along z: %v %v %v", got.At(10, 10, 4), got.At(10, 10, 5), got.At(10, 10, 15))
	}
}

func TestResampleNotFinite(t *testing.T) {
	nan := float32(math.NaN())
	v := &Volume{Dim: [3]int{2, 2, 1}, Spacing: [3]float64{1, 1, 1}, Data: []float32{nan, 4, 4, float32(math.Inf(1))}}
	got, err := Resample(v, [3]int{1, 1, 1}, "")
	if err != nil || got.Data[0] != 2 {
		t.Errorf("got %v, %v, want 2", got.Data, err)
	}
	if !math.IsNaN(float64(v.Data[0])) {
		t.Error("the volume was changed")
	}
	if _, err := Resample(v, [3]int{1, 0, 1}, ""); err == nil {
		t.Error("an empty grid is accepted")
	}
	if _, err := Resample(v, [3]int{1, 1, 1}, "crop"); err == nil {
		t.Error("an unknown fit is accepted")
	}
}

func TestPercentiles(t *testing.T) {
	r := rand.New(rng.New(4, "nifti percentiles"))
	for _, n := range []int{1, 2, 3, 10, 1001} {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(r.NormFloat64())
			if i%3 == 0 {
				x[i] = 0
			}
		}
		sorted := slices.Sorted(slices.Values(x))
		at := []float64{0, 0.5, 25, 50, 99.5, 100}
		got := percentiles(x, at...)
		for i, p := range at {
			pos := p / 100 * float64(n-1)
			k := int(pos)
			want := float64(sorted[k])
			if k+1 < n {
				want += (pos - float64(k)) * float64(sorted[k+1]-sorted[k])
			}
			if math.Abs(got[i]-want) > 1e-6 {
				t.Errorf("n %d: percentile %v is %v, want %v", n, p, got[i], want)
			}
		}
	}
}

func TestNormalize(t *testing.T) {
	r := rand.New(rng.New(5, "nifti normalize"))
	// A head with intensity 700 ± 50 in black air, and one voxel that is far too bright.
	head := func() []float32 {
		x := make([]float32, 10000)
		for i := range x {
			if i%2 == 0 {
				x[i] = float32(700 + 50*r.NormFloat64())
			}
		}
		x[4] = 1e6
		return x
	}
	x := head()
	if err := Normalize(x, Normalization{}); err != nil {
		t.Fatal(err)
	}
	sum, squares := 0.0, 0.0
	for i := 0; i < len(x); i += 2 {
		sum += float64(x[i])
		squares += float64(x[i]) * float64(x[i])
	}
	mean := sum / 5000
	if sd := math.Sqrt(squares/5000 - mean*mean); math.Abs(mean) > 1e-4 || math.Abs(sd-1) > 1e-3 {
		t.Errorf("foreground has mean %v and standard deviation %v, want 0 and 1", mean, sd)
	}
	if x[4] > 4 || x[1] > -10 {
		t.Errorf("the bright voxel is %v, air %v", x[4], x[1])
	}
	x = head()
	if err := Normalize(x, Normalization{Scale: UnitRange, Low: 1, High: 99}); err != nil {
		t.Fatal(err)
	}
	if slices.Min(x) != 0 || slices.Max(x) != 1 {
		t.Errorf("range %v to %v, want 0 to 1", slices.Min(x), slices.Max(x))
	}
	x = head()
	if err := Normalize(x, Normalization{Scale: Raw}); err != nil || x[4] != 1e6 {
		t.Error("raw values changed", err)
	}
	for _, flat := range []Scale{ZScore, UnitRange} {
		x := []float32{3, 3, 3}
		if err := Normalize(x, Normalization{Scale: flat}); err != nil || !slices.Equal(x, []float32{0, 0, 0}) {
			t.Errorf("%s of a constant: %v, %v", flat, x, err)
		}
	}
	for _, bad := range []Normalization{{Scale: "median"}, {Low: 5, High: 5}, {Low: -1, High: 50}, {High: 101}} {
		if Normalize(head(), bad) == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}
