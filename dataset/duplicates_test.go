package dataset

import (
	"fmt"
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
