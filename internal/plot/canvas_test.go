package plot

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// box is the place that a text takes.
type box struct {
	text                     string
	left, top, right, bottom float64
}

func (b box) meets(o box) bool {
	return b.left < o.right && o.left < b.right && b.top < o.bottom && o.top < b.bottom
}

var numbers = regexp.MustCompile(`-?[0-9.]+`)

// checkFile checks that a figure is well-formed XML, that everything lies on the
// card, that texts do not overlap, and that nothing outside is referred to.
func checkFile(t *testing.T, file []byte) {
	t.Helper()
	c := checker{T: t, shifts: []float64{0}}
	dec := xml.NewDecoder(bytes.NewReader(file))
	for {
		token, err := dec.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("not well-formed: %v\n%s", err, file)
		}
		switch e := token.(type) {
		case xml.StartElement:
			c.start(e)
		case xml.EndElement:
			switch e.Name.Local {
			case "g":
				c.shifts = c.shifts[:len(c.shifts)-1]
			case "text":
				c.text = nil
			}
		case xml.CharData:
			c.characters(string(e))
		}
	}
	c.checkTexts()
}

// checker goes through the elements of a figure.
type checker struct {
	*testing.T
	width, height float64       // of the card
	shifts        []float64     // of y, by the groups that are open
	text          *attributeSet // of the text that is being read
	boxes         []box         // the places of the texts
}

// attributeSet are the attributes of an element.
type attributeSet struct {
	*testing.T
	element string
	value   map[string]string
}

// number returns an attribute that has to be one.
func (a *attributeSet) number(name string) float64 {
	v, err := strconv.ParseFloat(a.value[name], 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		a.Errorf("<%s> has %s=%q", a.element, name, a.value[name])
	}
	return v
}

// onCard checks a place, whose y counts from the groups that are open.
func (c *checker) onCard(what string, x, y float64) {
	y += c.shifts[len(c.shifts)-1]
	if !(x >= 0 && x <= c.width && y >= 0 && y <= c.height) {
		c.Errorf("%s at (%v, %v) lies outside the card of %v×%v", what, x, y, c.width, c.height)
	}
}

func (c *checker) start(e xml.StartElement) {
	a := &attributeSet{c.T, e.Name.Local, map[string]string{}}
	for _, attr := range e.Attr {
		name := attr.Name.Local
		a.value[name] = attr.Value
		outside := name == "href" && !strings.HasPrefix(attr.Value, pngPrefix)
		if name == "id" || outside || strings.Contains(attr.Value, "url(") {
			c.Errorf("<%s> has %s=%q", a.element, name, attr.Value)
		}
	}
	switch a.element {
	case "svg":
		c.width, c.height = a.number("width"), a.number("height")
	case "g":
		c.open(a.value["transform"])
	case "rect", "image":
		if a.value["class"] == "card" {
			return
		}
		x, y, wide, high := a.number("x"), a.number("y"), a.number("width"), a.number("height")
		c.onCard(a.element, x, y)
		c.onCard(a.element, x+wide, y+high)
		if wide < 0 || high < 0 {
			c.Errorf("<%s> is %v wide, %v high", a.element, wide, high)
		}
	case "circle":
		c.onCard("circle", a.number("cx"), a.number("cy"))
	case "path":
		c.path(a.value["d"])
	case "text":
		c.text = a
	case "title", "desc", "style":
	default:
		c.Errorf("unexpected element <%s>", a.element)
	}
}

// Open starts a group, which may be moved down.
func (c *checker) open(transform string) {
	shift := c.shifts[len(c.shifts)-1]
	if transform != "" {
		n := numbers.FindAllString(transform, -1)
		v, err := strconv.ParseFloat(n[1], 64)
		if err != nil || !strings.HasPrefix(transform, "translate(0 ") {
			c.Errorf("a group has transform=%q", transform)
		}
		shift += v
	}
	c.shifts = append(c.shifts, shift)
}

// path checks the lines of a path.
func (c *checker) path(d string) {
	if rest := strings.Trim(numbers.ReplaceAllString(d, ""), "MLZ "); rest != "" {
		c.Errorf("a path has %q in it", rest)
	}
	n := numbers.FindAllString(d, -1)
	if len(n) < 4 || len(n)%2 != 0 {
		c.Errorf("a path has %d numbers", len(n))
		return
	}
	for i := 0; i < len(n); i += 2 {
		x, errX := strconv.ParseFloat(n[i], 64)
		y, errY := strconv.ParseFloat(n[i+1], 64)
		if errX != nil || errY != nil {
			c.Errorf("a path goes to (%s, %s)", n[i], n[i+1])
		}
		c.onCard("path", x, y)
	}
}

// characters takes the content of an element, of which that of a text counts.
func (c *checker) characters(s string) {
	if c.text == nil {
		return
	}
	b := textBox(s, c.text.value["class"], c.text.value["transform"], c.text.number("x"), c.text.number("y"))
	c.onCard(fmt.Sprintf("text %q", s), b.left, b.top)
	c.onCard(fmt.Sprintf("text %q", s), b.right, b.bottom)
	shift := c.shifts[len(c.shifts)-1]
	b.top, b.bottom = b.top+shift, b.bottom+shift
	c.boxes = append(c.boxes, b)
}

// checkTexts compares all texts with each other.
func (c *checker) checkTexts() {
	if len(c.boxes) == 0 {
		c.Error("no text")
	}
	for i, a := range c.boxes {
		for _, b := range c.boxes[:i] {
			if a.meets(b) {
				c.Errorf("texts %q and %q overlap", b.text, a.text)
			}
		}
	}
}

// textBox returns the place of a text whose anchor is at (x, y).
func textBox(s, class, transform string, x, y float64) box {
	size := TextSize
	switch {
	case strings.Contains(class, "title"):
		size = titleSize
	case strings.Contains(class, "tick"):
		size = TickSize
	}
	before, wide := 0.0, TextWidth(s, size)
	switch {
	case strings.Contains(class, "middle"):
		before = wide / 2
	case strings.Contains(class, "end"):
		before = wide
	}
	up, down := 0.75*size, 0.22*size
	if transform != "" { // upright
		return box{s, x - up, y - (wide - before), x + down, y + before}
	}
	return box{s, x - before, y - up, x + wide - before, y + down}
}

func TestNumber(t *testing.T) {
	for _, c := range []struct {
		v    float64
		want string
	}{{0, "0"}, {-0.001, "0"}, {1, "1"}, {100, "100"}, {1.5, "1.5"}, {-2.346, "-2.35"}, {1e6, "1000000"}} {
		if got := new(Canvas).number(c.v); got != c.want {
			t.Errorf("%v is written %s, want %s", c.v, got, c.want)
		}
	}
}

func TestNoNumber(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		var c Canvas
		c.Line("rule", Point{0, v}, Point{1, 1})
		if err := c.Finish(10, "", ""); err == nil {
			t.Errorf("a line to %v: no error", v)
		}
	}
}

// TestContrast checks the colors against their cards by the contrast ratio of
// the Web Content Accessibility Guidelines: 3 for graphics, 4.5 for text.
func TestContrast(t *testing.T) {
	luminance := func(color string) float64 {
		rgb, err := strconv.ParseUint(strings.TrimPrefix(color, "#"), 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		linear := func(shift uint) float64 {
			v := float64(rgb>>shift&0xff) / 255
			if v <= 0.04045 {
				return v / 12.92
			}
			return math.Pow((v+0.055)/1.055, 2.4)
		}
		return 0.2126*linear(16) + 0.7152*linear(8) + 0.0722*linear(0)
	}
	for _, th := range []theme{light, dark} {
		check := func(color string, least float64) {
			a, b := luminance(color), luminance(th.card)
			if ratio := (max(a, b) + 0.05) / (min(a, b) + 0.05); ratio < least {
				t.Errorf("%s on %s has a contrast of %.2f, want %v", color, th.card, ratio, least)
			}
		}
		check(th.text, 4.5)
		check(th.muted, 4.5)
		check(th.rule, 3)
		for _, color := range th.series {
			check(color, 3)
		}
	}
}
