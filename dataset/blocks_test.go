package dataset

import (
	"fmt"
	"testing"
)

// Blocks splits the numbers at vectors; codes and images follow, as in Inputs.
func TestBlocks(t *testing.T) {
	number := func(name string) Feature { return Feature{Name: name, Kind: Numeric} }
	vector := func(name string, n int) Feature { return Feature{Name: name, Kind: Tensor, Shape: []int{n}} }
	site := Feature{Name: "site", Kind: Categorical, Levels: []string{"a", "b", "c", "d", "e"}}
	image := Feature{Name: "image", Kind: Tensor, Shape: []int{1, 2, 2}}
	for _, c := range []struct {
		parts []Feature
		want  string
	}{
		{[]Feature{number("a"), number("b")}, "table@0+2[a b] "},
		{[]Feature{vector("v", 2)}, "v@0+2[v[0] v[1]] "},
		{[]Feature{number("a"), site, vector("v", 2), image, number("b"), number("c"), vector("w", 1)},
			"table@0+1[a] v@1+2[v[0] v[1]] table@3+2[b c] w@5+1[w[0]] site@6+1[] image@7+4[] "},
		{[]Feature{image}, "image@0+4[] "},
	} {
		ds := &Dataset{Features: c.parts}
		m := &Memory{W: totalWidth(c.parts)}
		for i := range 20 {
			ds.Items = append(ds.Items, fmt.Sprint(i))
			for k := range m.W {
				m.Values = append(m.Values, float32((i+k)%5))
			}
			m.N++
		}
		ds.Rows = m
		fit, err := Fit(ds, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}, TransformOptions{Scores: "off"})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, b := range fit.Blocks() {
			got += fmt.Sprintf("%s@%d+%d%v ", b.Name, b.Offset, b.Width, b.Features)
		}
		if got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}
