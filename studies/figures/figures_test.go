package figures

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"credence/internal/golden"
	"credence/internal/plot"
)

// bumps are fields that are like hills, each higher than the one before.
func bumps(n int) Field {
	d := Field{Title: "Variance of the probability", XLabel: "x₁", YLabel: "x₂", Scale: "variance", X: [2]float64{-4, 4}, Y: [2]float64{-4, 4}, Hi: 0.25}
	for k := range n {
		p := FieldPanel{Title: fmt.Sprintf("method %d", k), Note: "r = .97"}
		for i := range 41 {
			var row []float64
			for j := range 41 {
				x, y := float64(j)/5-4, float64(i)/5-4
				row = append(row, 0.07*float64(k+1)*math.Exp(-math.Abs(x*y)))
			}
			p.Values = append(p.Values, row)
		}
		d.Panels = append(d.Panels, p)
	}
	return d
}

// corners are items in two groups and between.
func corners() Samples {
	r := rand.New(rand.NewPCG(7, 8))
	d := Samples{Title: "A hundred items and their two votes", XLabel: "x₁", YLabel: "x₂", X: [2]float64{-4, 4}, Y: [2]float64{-4, 4},
		Groups: []plot.ScatterGroup{{Label: "both for class 0"}, {Label: "both for class 1"}, {Label: "one each"}}}
	for i := range 100 {
		g := &d.Groups[i%3]
		g.Points = append(g.Points, [2]float64{2*float64(i%3) - 2 + r.NormFloat64(), r.NormFloat64()})
	}
	return d
}

// scans is the network of a study.
func scans() Layers {
	return Layers{Title: "The network", Stages: []Stage{
		{Shape: []int{1, 96, 96, 80}, Name: "scan"},
		{Done: []string{"conv 5³", "ReLU", "max-pool 5"}, Shape: []int{16, 18, 18, 15}, Name: "features"},
		{Done: []string{"conv 3³", "ReLU", "max-pool 2"}, Shape: []int{32, 8, 8, 6}, Name: "features"},
		{Done: []string{"dense"}, Shape: []int{9}, Name: "3 weights, 3 × 2 log α"},
	}}
}

// goldenFigures are one of every kind.
func goldenFigures() map[string]plot.Figure {
	return map[string]plot.Figure{"field": bumps(5), "samples": corners(), "layers": scans()}
}

// awkwardFigures are those with next to nothing in them, or too much.
func awkwardFigures() map[string]plot.Figure {
	long := strings.Repeat("a long name & <more> ", 20)
	return map[string]plot.Figure{
		"flat field": Field{X: [2]float64{0, 1}, Y: [2]float64{0, 1}, Panels: []FieldPanel{{Values: [][]float64{{1, 1}, {1, 1}}}}},
		"wide field": Field{Title: long, XLabel: long, YLabel: long, Scale: long, X: [2]float64{-1e6, 9e6}, Y: [2]float64{0, 1e6}, Lo: -1, Hi: 1,
			Panels: []FieldPanel{{long, long, [][]float64{{-1e6, 1}, {1e9, 1}}}, {Values: [][]float64{{0, 1, 2}, {1, 0, 1}, {0, 1, 0}}}}},
		"many fields": bumps(13),
		"one sample":  Samples{X: [2]float64{-1e3, 1e3}, Y: [2]float64{0, 1}, Groups: []plot.ScatterGroup{{Points: [][2]float64{{0, 0}, {math.NaN(), 0}}}}},
		"two stages":  Layers{Title: long, Stages: []Stage{{Shape: []int{1}, Name: long}, {Done: []string{"x"}, Shape: []int{1, 1000000, 1}}}},
	}
}

// svg returns the file of a figure.
func svg(t *testing.T, f plot.Figure) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := plot.WriteSVG(&b, f); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestGoldenFigures compares figures with their files in testdata, which were looked at in a browser, light and dark.
// UPDATE_GOLDEN=1 rewrites them.
func TestGoldenFigures(t *testing.T) {
	for name, f := range goldenFigures() {
		golden.Compare(t, filepath.Join("testdata", name+".svg"), svg(t, f))
	}
}

// TestFiguresAreSound checks that figures are well-formed XML, that everything lies on the card, and that texts do not
// overlap.
func TestFiguresAreSound(t *testing.T) {
	for _, figures := range []map[string]plot.Figure{goldenFigures(), awkwardFigures()} {
		for name, f := range figures {
			t.Run(name, func(t *testing.T) { checkSVG(t, svg(t, f)) })
		}
	}
}

// element is any element of an SVG file.
type element struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Text     string     `xml:",chardata"`
	Children []element  `xml:",any"`
}

// attr returns an attribute, empty if there is none.
func (e element) attr(name string) string {
	for _, a := range e.Attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// number returns an attribute as a number, 0 if there is none.
func (e element) number(name string) float64 {
	v, _ := strconv.ParseFloat(e.attr(name), 64)
	return v
}

// box is the rectangle that an element covers.
type box struct{ left, top, right, bottom float64 }

var numbers = regexp.MustCompile(`-?[0-9.]+`)

// boxes calls visit with the rectangle of every element that is drawn, y from the top of the card.
func (e element) boxes(shift float64, visit func(e element, b box)) {
	b := box{left: math.Inf(1), top: math.Inf(1), right: math.Inf(-1), bottom: math.Inf(-1)}
	add := func(x, y float64) {
		b = box{min(b.left, x), min(b.top, y+shift), max(b.right, x), max(b.bottom, y+shift)}
	}
	x, y := e.number("x"), e.number("y")
	switch e.XMLName.Local {
	case "g":
		if at := numbers.FindAllString(e.attr("transform"), -1); len(at) == 2 {
			by, _ := strconv.ParseFloat(at[1], 64)
			shift += by
		}
	case "rect", "image":
		add(x, y)
		add(x+e.number("width"), y+e.number("height"))
	case "circle":
		add(e.number("cx"), e.number("cy"))
	case "path":
		at := numbers.FindAllString(e.attr("d"), -1)
		for i := 0; i+1 < len(at); i += 2 {
			px, _ := strconv.ParseFloat(at[i], 64)
			py, _ := strconv.ParseFloat(at[i+1], 64)
			add(px, py)
		}
	case "text":
		left, top, right, bottom := e.textBox(x, y)
		add(left, top)
		add(right, bottom)
	}
	if !math.IsInf(b.left, 1) {
		visit(e, b)
	}
	for _, child := range e.Children {
		child.boxes(shift, visit)
	}
}

// textBox returns the rectangle of a text whose anchor is at (x, y).
func (e element) textBox(x, y float64) (left, top, right, bottom float64) {
	size, class := plot.TextSize, e.attr("class")
	switch {
	case strings.Contains(class, "title"):
		size = 15
	case strings.Contains(class, "tick"):
		size = plot.TickSize
	}
	before, wide := 0.0, plot.TextWidth(e.Text, size)
	switch {
	case strings.Contains(class, "middle"):
		before = wide / 2
	case strings.Contains(class, "end"):
		before = wide
	}
	up, down := 0.75*size, 0.22*size
	if e.attr("transform") != "" { // upright
		return x - up, y - (wide - before), x + down, y + before
	}
	return x - before, y - up, x + wide - before, y + down
}

// checkSVG checks the file of a figure.
func checkSVG(t *testing.T, file []byte) {
	t.Helper()
	var root element
	if err := xml.Unmarshal(file, &root); err != nil {
		t.Fatalf("not well-formed: %v", err)
	}
	width, height := root.number("width"), root.number("height")
	type text struct {
		box
		s string
	}
	var texts []text
	root.boxes(0, func(e element, b box) {
		if !(b.left >= 0 && b.right <= width && b.top >= 0 && b.bottom <= height) {
			t.Errorf("<%s> %q at %v lies outside the card of %v×%v", e.XMLName.Local, e.Text, b, width, height)
		}
		if e.XMLName.Local != "text" {
			return
		}
		for _, o := range texts {
			if b.left < o.right && o.left < b.right && b.top < o.bottom && o.top < b.bottom {
				t.Errorf("texts %q and %q overlap", o.s, e.Text)
			}
		}
		texts = append(texts, text{b, e.Text})
	})
	if len(texts) == 0 {
		t.Error("no text")
	}
}

func TestFigureErrors(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		f    plot.Figure
		want string
	}{
		{Layers{}, "layers figure: fewer than two stages"},
		{Layers{Stages: make([]Stage, 2)}, `layers figure: stage "" has no shape`},
		{Layers{Stages: []Stage{{Shape: []int{0}}, {}}}, `layers figure: stage "" has the shape [0]`},
		{Field{}, "field figure: no panels"},
		{Field{Panels: make([]FieldPanel, 1)}, "field figure: the plane from 0 to 0, 0 to 0 is empty"},
		{Field{X: [2]float64{0, 1}, Y: [2]float64{0, 1}, Panels: []FieldPanel{{Title: "a", Values: [][]float64{{1, nan}, {1, 2}}}}}, `field figure: panel "a": expected finite values, found NaN`},
		{Field{X: [2]float64{0, 1}, Y: [2]float64{0, 1}, Panels: []FieldPanel{{Title: "a", Values: [][]float64{{1, 2}, {1}}}}}, `field figure: panel "a" has rows of 2 and of 1 values`},
		{Field{X: [2]float64{0, 1}, Y: [2]float64{0, 1}, Panels: make([]FieldPanel, 1)}, `field figure: panel "" has no grid of at least 2 × 2 values`},
		{Samples{}, "samples figure: the plane from 0 to 0, 0 to 0 is empty"},
		{Samples{X: [2]float64{0, 1}, Y: [2]float64{0, 1}}, "samples figure: no points"},
	} {
		var b bytes.Buffer
		if err := plot.WriteSVG(&b, c.f); err == nil || err.Error() != c.want {
			t.Errorf("error %v, want %s", err, c.want)
		} else if b.Len() > 0 {
			t.Errorf("wrote %d bytes together with the error %v", b.Len(), err)
		}
	}
}
