package train

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"credence/dataset"
	"credence/internal/rng"
)

// flat is a small network for images.
const flat = `
- type: flatten
- {type: dense, out: 6}
- type: relu
- type: dense
`

// pictures are items with images of 1×4×5 pixels whose brightness decides the
// votes, three each.
func pictures(n int) *dataset.Dataset {
	r := rand.New(rng.New(5, "train.test.pictures"))
	ds := &dataset.Dataset{
		Classes:  []string{"dark", "bright"},
		Counts:   make([]float32, 2*n),
		Features: []dataset.Feature{{Name: "image", Kind: dataset.Tensor, Shape: []int{1, 4, 5}}},
	}
	rows := &dataset.Memory{N: n, W: 20}
	for j := range n {
		ds.Items = append(ds.Items, fmt.Sprintf("image %d", j))
		z := r.NormFloat64()
		for range 20 {
			rows.Values = append(rows.Values, float32(100+20*(z+r.NormFloat64())))
		}
		for range 3 {
			if r.Float64() < 1/(1+math.Exp(-2*z)) {
				ds.Counts[2*j+1]++
			} else {
				ds.Counts[2*j]++
			}
		}
	}
	ds.Rows = rows
	return ds
}

// grids returns an augmenter for one block of the given shape.
func grids(a Augment, shape ...int) *augmenter {
	w := 1
	for _, s := range shape {
		w *= s
	}
	g := &augmenter{Augment: a, seed: 3, grids: []dataset.Input{{Kind: dataset.Grid, Width: w, Shape: shape}}}
	g.spare.New = func() any { b := make([]float32, w); return &b }
	return g
}

func counting(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i)
	}
	return x
}

// Every other image is mirrored, along the last axis of an image and the first
// of a volume. Of 200, fewer than 70 or more than 130 happen once in 10⁵.
func TestFlip(t *testing.T) {
	for _, c := range []struct {
		shape   []int
		flipped []float32
	}{
		{[]int{2, 1, 3}, []float32{2, 1, 0, 5, 4, 3}},
		{[]int{1, 2, 1, 3}, []float32{3, 4, 5, 0, 1, 2}},
	} {
		g := grids(Augment{Flip: true}, c.shape...)
		n := 0
		for item := range 200 {
			x := counting(6)
			g.epoch(0)(x, item)
			switch {
			case slices.Equal(x, c.flipped):
				n++
			case !slices.Equal(x, counting(6)):
				t.Fatalf("%v becomes %v", c.shape, x)
			}
		}
		if n < 70 || n > 130 {
			t.Errorf("%d of 200 flipped", n)
		}
	}
}

// Every shift of up to two pixels along each axis comes up, and repeats the
// edge.
func TestShift(t *testing.T) {
	g := grids(Augment{Shift: 2}, 1, 4, 5)
	seen := map[[2]int]bool{}
	for item := range 1000 {
		x := counting(20)
		g.epoch(0)(x, item)
		found := false
		for dy := -2; dy <= 2; dy++ {
			for dx := -2; dx <= 2; dx++ {
				same := true
				for i := range 20 {
					y, c := min(max(i/5-dy, 0), 3), min(max(i%5-dx, 0), 4)
					same = same && x[i] == float32(5*y+c)
				}
				if same {
					found = true
					seen[[2]int{dy, dx}] = true
				}
			}
		}
		if !found {
			t.Fatalf("no shift gives %v", x)
		}
	}
	if len(seen) != 25 {
		t.Errorf("%d shifts of 25", len(seen))
	}
}

func TestIntensitiesAndNoise(t *testing.T) {
	g := grids(Augment{Intensity: 0.3}, 1, 1, 2)
	least, most := 2.0, 0.0
	for item := range 500 {
		x := []float32{0, 1}
		g.epoch(0)(x, item)
		offset, scale := float64(x[0]), float64(x[1]-x[0])
		if math.Abs(offset) > 0.3 || math.Abs(scale-1) > 0.3001 {
			t.Fatalf("scale %v, offset %v", scale, offset)
		}
		least, most = min(least, scale), max(most, scale)
	}
	if least > 0.72 || most < 1.28 {
		t.Errorf("scales from %v to %v", least, most)
	}
	// 30,000 values: mean and standard deviation are off by 0.025 once in 10⁴.
	g = grids(Augment{Noise: 1}, 1, 100, 300)
	x := make([]float32, 30000)
	g.epoch(0)(x, 0)
	sum, squares := 0.0, 0.0
	for _, v := range x {
		sum += float64(v)
		squares += float64(v) * float64(v)
	}
	mean, sd := sum/30000, math.Sqrt(squares/30000)
	if math.Abs(mean) > 0.025 || math.Abs(sd-1) > 0.025 {
		t.Errorf("noise has mean %v and standard deviation %v", mean, sd)
	}
}

// The same place gives the same change; another item, epoch, member or seed
// another one.
func TestAugmentPlace(t *testing.T) {
	a := Augment{Shift: 1, Flip: true, Intensity: 0.1, Noise: 0.1}
	at := func(seed, member, epoch uint64, item int) []float32 {
		g := grids(a, 1, 4, 5)
		g.seed, g.member = seed, member
		x := counting(20)
		g.epoch(epoch)(x, item)
		return x
	}
	want := at(1, 2, 3, 4)
	if !slices.Equal(at(1, 2, 3, 4), want) {
		t.Error("the same place gives another change")
	}
	for i, x := range [][]float32{at(2, 2, 3, 4), at(1, 3, 3, 4), at(1, 2, 4, 4), at(1, 2, 3, 5)} {
		if slices.Equal(x, want) {
			t.Errorf("place %d does not matter", i)
		}
	}
}

// With a learning rate of nothing the network stays as it is: what training
// sees is augmented, and what is held out is not.
func TestAugmentTrainingOnly(t *testing.T) {
	ds := pictures(60)
	o := Options{Network: flat, Epochs: 3, Ensemble: 2, Seed: 1, Rate: 1e-30, WeightDecay: -1}
	plain := fitted(t, ds, o)
	o.Augment = Augment{Shift: 1, Flip: true, Intensity: 0.2, Noise: 0.2}
	changed := fitted(t, ds, o)
	for i, r := range plain.Model.Provenance.Runs {
		for k, e := range r.History {
			f := changed.Model.Provenance.Runs[i].History[k]
			if *e.HeldOut != *f.HeldOut {
				t.Errorf("held-out loss %v, without augmentation %v", *f.HeldOut, *e.HeldOut)
			}
			if e.Loss == f.Loss {
				t.Errorf("training loss %v is the same without augmentation", e.Loss)
			}
		}
	}
	for j, p := range plain.OutOfFold {
		if p == nil { // no network held the item out
			continue
		}
		if got, want := changed.OutOfFold[j].Mean, p.Mean; !slices.Equal(got, want) {
			t.Fatalf("item %d is predicted as %v, without augmentation as %v", j, got, want)
		}
	}
}

// Neither reading ahead nor the number of threads decides anything.
func TestReadAhead(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for name, augment := range map[string]Augment{"plain": {}, "augmented": {Shift: 1, Flip: true, Noise: 0.1}} {
		ds := pictures(60)
		o := Options{Network: flat, Epochs: 4, Ensemble: 2, Seed: 1, Augment: augment}
		want := encoded(t, fitted(t, ds, o).Model)
		for _, threads := range []int{1, 2, 5} {
			runtime.GOMAXPROCS(threads)
			o.Memory = 1
			if !bytes.Equal(encoded(t, fitted(t, ds, o).Model), want) {
				t.Errorf("%s, %d threads: another model", name, threads)
			}
		}
	}
}

func TestParseAugment(t *testing.T) {
	a, err := ParseAugment("shift=2, flip,intensity=0.1,noise=0.02")
	if err != nil || a != (Augment{2, true, 0.1, 0.02}) || a.String() != "shift=2,flip,intensity=0.1,noise=0.02" {
		t.Errorf("%+v, %q, %v", a, a, err)
	}
	for text, want := range map[string]Augment{"": {}, "none": {Shift: -1}} {
		if a, err = ParseAugment(text); err != nil || a != want || a.String() != text || !a.none() {
			t.Errorf("%q: %+v, %v", text, a, err)
		}
	}
	for text, want := range map[string]string{
		"rotate=3":    `expected shift=N, flip, intensity=X or noise=X, found "rotate=3"`,
		"flip=1":      `expected shift=N, flip, intensity=X or noise=X, found "flip=1"`,
		"shift":       `expected shift=N, flip, intensity=X or noise=X, found "shift"`,
		"shift=2,":    `expected shift=N, flip, intensity=X or noise=X, found ""`,
		"shift=1.5":   `"shift=1.5": expected a number, found "1.5"`,
		"shift=-1":    "shift -1: expected between 0 and 1000",
		"intensity=1": "intensity 1: expected at least 0 and less than 1",
		"noise=NaN":   "noise NaN: expected between 0 and 10",
	} {
		if _, err := ParseAugment(text); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if _, err := Fit(t.Context(), simulated(30, 3, 1), Options{Augment: Augment{Flip: true}}); err == nil || err.Error() != "training options: augmentation: expected images or volumes among the features, found none" {
		t.Error(err)
	}
}
