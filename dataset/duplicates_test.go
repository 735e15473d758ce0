package dataset

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// copied returns n items with one numeric feature; item i has the value of item of(i).
func copied(n int, of func(i int) int) *Dataset {
	ds := &Dataset{Classes: []string{"a", "b"}, Features: []Feature{{Name: "x", Kind: Numeric}}}
	rows := &Memory{N: n, W: 1}
	for i := range n {
		ds.Items = append(ds.Items, fmt.Sprint(i))
		ds.Counts = append(ds.Counts, 1, 1)
		rows.Values = append(rows.Values, float32(of(i)))
	}
	ds.Rows = rows
	return ds
}

// TestGroupDuplicates: copies are in one group, with the groups of the data kept together; tables of a few values are left alone.
func TestGroupDuplicates(t *testing.T) {
	third := func(i int) int { return i / 3 }
	for _, c := range []struct {
		name   string
		ds     *Dataset
		copies int
	}{
		{"all different", copied(90, func(i int) int { return i }), 0},
		{"three times each", copied(120, third), 80},
		{"one pair", copied(60, func(i int) int { return max(i, 1) }), 1},
		{"too few different rows", copied(60, third), 0},
		{"a few levels", copied(400, func(i int) int { return i % 40 }), 0},
		{"one value for many", copied(200, func(i int) int { return max(i, 30) }), 0},
	} {
		got, n, err := GroupDuplicates(c.ds)
		if err != nil || n != c.copies || (got == c.ds) != (c.copies == 0) {
			t.Errorf("%s: %d copies, the same data %v, %v; want %d", c.name, n, got == c.ds, err, c.copies)
		}
	}
	ds := copied(120, third)
	for i := range 120 {
		ds.Groups = append(ds.Groups, fmt.Sprint("ward ", i%60))
	}
	got, _, err := GroupDuplicates(ds)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 120 {
		if first := i - i%3; got.Groups[i] != got.Groups[first] || got.Groups[i] != got.Groups[(i+60)%120] {
			t.Errorf("item %d is in group %s, its copy %d in %s, its ward in %s", i, got.Groups[i], first, got.Groups[first], got.Groups[(i+60)%120])
		}
	}
	if ds.Groups[0] != "ward 0" {
		t.Error("the data were changed")
	}
	linked := copied(120, third)
	for i := range 120 {
		linked.Groups = append(linked.Groups, fmt.Sprint("ward ", (i+1)/3%20))
	}
	if got, n, err := GroupDuplicates(linked); err != nil || n != 0 || got != linked {
		t.Errorf("copies that link all groups: expected groups as they were, found %d copies, %v", n, err)
	}
	texts := copied(60, func(i int) int { return i })
	texts.Features[0] = Feature{Name: "t", Kind: Text}
	for i := range 60 {
		texts.Features[0].Texts = append(texts.Features[0].Texts, fmt.Sprint("text ", max(i, 1)))
	}
	if _, n, err := GroupDuplicates(texts); err != nil || n != 1 {
		t.Errorf("texts: %d copies, %v", n, err)
	}
}

// photographs returns n images of C×H×W with smooth random content.
func photographs(n, c, h, w int) *Dataset {
	r := rand.New(rand.NewPCG(1, 2))
	ds := &Dataset{Classes: []string{"a", "b"}, Features: []Feature{{Name: "image", Kind: Tensor, Shape: []int{c, h, w}}}}
	rows := &Memory{N: n, W: c * h * w}
	for i := range n {
		ds.Items = append(ds.Items, fmt.Sprint(i))
		ds.Counts = append(ds.Counts, 1, 1)
		for range c {
			a, b, p, q := r.NormFloat64(), r.NormFloat64(), 6*r.Float64(), 6*r.Float64()
			for y := range h {
				for z := range w {
					v := a*math.Sin(p+4*float64(y)/float64(h)) + b*math.Cos(q+6*float64(z)/float64(w)) + 0.1*r.NormFloat64()
					rows.Values = append(rows.Values, float32(100+40*v))
				}
			}
		}
	}
	ds.Rows = rows
	return ds
}

// TestTwins: an image that was moved by a pixel, brightened or saved again is with the first one, others are not; where images
// are alike as such, they are not copies.
func TestTwins(t *testing.T) {
	ds := photographs(400, 3, 32, 30)
	rows := ds.Rows.(*Memory)
	image := func(i int) []float32 { return rows.Values[i*rows.W:][:rows.W] }
	copy(image(390), image(10)[1:]) // moved
	for k, v := range image(20) {   // brightened, with the noise of a format
		image(391)[k] = 1.2*v + 15 + float32(k%3-1)
	}
	copy(image(392), image(391))
	clear(image(393)) // constant images are equal, and like no other
	clear(image(394))
	image(395)[7] = float32(math.NaN())
	all := make([]int, ds.Len())
	for i := range all {
		all[i] = i
	}
	ds.Rows = picked(rows, all) // as items with votes are, from a folder
	got, n, err := GroupDuplicates(ds)
	if err != nil || n != 4 {
		t.Fatalf("%d copies, %v; want 4", n, err)
	}
	want := map[int]int{390: 10, 391: 20, 392: 20, 394: 393}
	for i := range 400 {
		for j := range i {
			first, isTwin := want[i]
			other, both := want[j]
			if together := isTwin && (first == j || both && first == other); (got.Groups[i] == got.Groups[j]) != together {
				t.Errorf("images %d and %d: groups %s and %s", i, j, got.Groups[i], got.Groups[j])
			}
		}
	}
	alike := photographs(200, 1, 28, 28)
	values := alike.Rows.(*Memory).Values
	for i := range 30 {
		for k := range 28 * 28 {
			values[i*28*28+k] = values[k] + 0.2*float32(i*k%31)
		}
	}
	if got, n, err := GroupDuplicates(alike); err != nil || n != 0 || got != alike {
		t.Errorf("thirty images that are alike: %d copies, %v", n, err)
	}
}

func BenchmarkTwins(b *testing.B) {
	ds := photographs(10_000, 3, 32, 32)
	for b.Loop() {
		if _, err := joinTwins(newSets(ds.Len()), ds.Features[0].Shape, ds.Rows); err != nil {
			b.Fatal(err)
		}
	}
}
