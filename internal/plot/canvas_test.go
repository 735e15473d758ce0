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
	var (
		width, height float64
		shifts        = []float64{0} // of y, by the groups that are open
		boxes         []box
		last          *box // the text that is being read
	)
	onCard := func(what string, x, y float64) {
		if !(x >= 0 && x <= width && y >= 0 && y <= height) {
			t.Errorf("%s at (%v, %v) lies outside the card of %v×%v", what, x, y, width, height)
		}
	}
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
			attr := map[string]string{}
			for _, a := range e.Attr {
				attr[a.Name.Local] = a.Value
				outside := a.Name.Local == "href" && !strings.HasPrefix(a.Value, pngPrefix)
				if a.Name.Local == "id" || outside || strings.Contains(a.Value, "url(") {
					t.Errorf("<%s> has %s=%q", e.Name.Local, a.Name.Local, a.Value)
				}
			}
			number := func(name string) float64 {
				v, err := strconv.ParseFloat(attr[name], 64)
				if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
					t.Errorf("<%s> has %s=%q", e.Name.Local, name, attr[name])
				}
				return v
			}
			shift := shifts[len(shifts)-1]
			switch e.Name.Local {
			case "svg":
				width, height = number("width"), number("height")
			case "g":
				if to := attr["transform"]; to != "" {
					n := numbers.FindAllString(to, -1)
					v, err := strconv.ParseFloat(n[1], 64)
					if err != nil || !strings.HasPrefix(to, "translate(0 ") {
						t.Errorf("a group has transform=%q", to)
					}
					shift += v
				}
				shifts = append(shifts, shift)
			case "rect":
				if attr["class"] != "card" {
					x, y := number("x"), number("y")+shift
					onCard("rectangle", x, y)
					onCard("rectangle", x+number("width"), y+number("height"))
					if number("width") < 0 || number("height") < 0 {
						t.Errorf("a rectangle is %s wide, %s high", attr["width"], attr["height"])
					}
				}
			case "image":
				x, y := number("x"), number("y")+shift
				onCard("picture", x, y)
				onCard("picture", x+number("width"), y+number("height"))
			case "circle":
				onCard("circle", number("cx"), number("cy")+shift)
			case "path":
				if rest := strings.Trim(numbers.ReplaceAllString(attr["d"], ""), "MLZ "); rest != "" {
					t.Errorf("a path has %q in it", rest)
				}
				n := numbers.FindAllString(attr["d"], -1)
				if len(n) < 4 || len(n)%2 != 0 {
					t.Errorf("a path has %d numbers", len(n))
					continue
				}
				for i := 0; i < len(n); i += 2 {
					x, errX := strconv.ParseFloat(n[i], 64)
					y, errY := strconv.ParseFloat(n[i+1], 64)
					if errX != nil || errY != nil {
						t.Errorf("a path goes to (%s, %s)", n[i], n[i+1])
					}
					onCard("path", x, y+shift)
				}
			case "text":
				boxes = append(boxes, box{left: number("x"), top: number("y") + shift, text: attr["class"] + "\n" + attr["transform"]})
				last = &boxes[len(boxes)-1]
			case "title", "desc", "style":
			default:
				t.Errorf("unexpected element <%s>", e.Name.Local)
			}
		case xml.EndElement:
			switch e.Name.Local {
			case "g":
				shifts = shifts[:len(shifts)-1]
			case "text":
				last = nil
			}
		case xml.CharData:
			if last != nil {
				class, transform, _ := strings.Cut(last.text, "\n")
				*last = textBox(string(e), class, transform, last.left, last.top)
				onCard(fmt.Sprintf("text %q", e), last.left, last.top)
				onCard(fmt.Sprintf("text %q", e), last.right, last.bottom)
			}
		}
	}
	if len(boxes) == 0 {
		t.Error("no text")
	}
	for i, a := range boxes {
		for _, b := range boxes[:i] {
			if a.meets(b) {
				t.Errorf("texts %q and %q overlap", b.text, a.text)
			}
		}
	}
}

// textBox returns the place of a text whose anchor is at (x, y).
func textBox(s, class, transform string, x, y float64) box {
	size := textSize
	switch {
	case strings.Contains(class, "title"):
		size = titleSize
	case strings.Contains(class, "tick"):
		size = tickSize
	}
	before, wide := 0.0, textWidth(s, size)
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
		if got := new(canvas).number(c.v); got != c.want {
			t.Errorf("%v is written %s, want %s", c.v, got, c.want)
		}
	}
}

func TestNoNumber(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		var c canvas
		var b bytes.Buffer
		c.line("rule", point{0, v}, point{1, 1})
		if err := c.write(&b, 10, 10, "", ""); err == nil || b.Len() > 0 {
			t.Errorf("a line to %v: error %v, %d bytes", v, err, b.Len())
		}
	}
}

// TestContrast checks the colours against their cards by the contrast ratio of
// the Web Content Accessibility Guidelines: 3 for graphics, 4.5 for text.
func TestContrast(t *testing.T) {
	luminance := func(colour string) float64 {
		rgb, err := strconv.ParseUint(strings.TrimPrefix(colour, "#"), 16, 32)
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
		check := func(colour string, least float64) {
			a, b := luminance(colour), luminance(th.card)
			if ratio := (max(a, b) + 0.05) / (min(a, b) + 0.05); ratio < least {
				t.Errorf("%s on %s has a contrast of %.2f, want %v", colour, th.card, ratio, least)
			}
		}
		check(th.text, 4.5)
		check(th.muted, 4.5)
		check(th.rule, 3)
		for _, colour := range th.series {
			check(colour, 3)
		}
	}
}
