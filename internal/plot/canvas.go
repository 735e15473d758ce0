package plot

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// Figure is any figure, of this package or drawn with its [Canvas].
type Figure interface {
	// Draw draws the figure from top to bottom, and ends with [Canvas.Finish].
	Draw(c *Canvas) error
}

// narrowWidth is the width of a card on a phone, where a card of the usual width would be
// scaled down until it is unreadable.
const narrowWidth = 350

// WriteSVG writes a figure to w as an SVG file, 760 pixels wide and as high as it needs.
func WriteSVG(w io.Writer, f Figure) error { return write(w, f, FigureWidth) }

// WriteNarrow is [WriteSVG] with a card for a phone. The figures of studies/figures have no room on it.
func WriteNarrow(w io.Writer, f Figure) error { return write(w, f, narrowWidth) }

// write writes a figure on a card of some width; errors name the kind of the figure.
func write(w io.Writer, f Figure, width float64) error {
	c := &Canvas{width: width}
	err := f.Draw(c)
	if err == nil {
		_, err = w.Write(c.file())
	}
	if err != nil {
		_, kind, _ := strings.Cut(fmt.Sprintf("%T", f), ".")
		return fmt.Errorf("%s figure: %w", strings.ToLower(kind), err)
	}
	return nil
}

// Point is a place on a canvas: x to the right, y downwards, in pixels.
type Point struct{ X, Y float64 }

// Canvas collects the elements of an SVG file. What they look like is decided
// by their class, in the style sheet.
type Canvas struct {
	width  float64 // of the card
	height float64 // of the card, known at the end
	top    float64 // of the current group, from which its elements count y
	body   bytes.Buffer
	Rules  string // of the style sheet, beyond those of every figure
	err    error  // the first coordinate that is not a number

	// For readers who cannot see the figure.
	name, description string
}

// HeaderGap is the usual space below the header.
const HeaderGap = 14

// Begin draws the title and the legend, and starts the group of all that is below
// them and some room.
func (c *Canvas) Begin(title string, legend []key, room float64) {
	c.openAt(drawHeader(c, title, legend) + room)
}

// next ends the current group and starts one that is lower by the given height.
func (c *Canvas) next(by float64) {
	c.Close()
	c.openAt(c.top + by)
}

// Finish ends the current group, and the figure at the given height of it. It returns
// an error if some coordinate is not a number.
func (c *Canvas) Finish(end float64, name, description string) error {
	c.Close()
	c.height, c.name, c.description = c.top+end+Margin, name, description
	c.number(c.height)
	return c.err
}

// number formats a coordinate: a hundredth of a pixel is below what a printer
// resolves, and above the rounding errors that differ between machines.
func (c *Canvas) number(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		if c.err == nil {
			c.err = fmt.Errorf("a coordinate of the figure is %v", v)
		}
		v = 0
	}
	s := strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(v, 'f', 2, 64), "0"), ".")
	if s == "-0" {
		return "0"
	}
	return s
}

// escape returns s as character data, without characters that XML forbids.
func escape(s string) string {
	var b bytes.Buffer
	xml.EscapeText(&b, []byte(s)) // writing to a Buffer does not fail
	return b.String()
}

// Open starts a group of elements that share a class; Close ends it.
func (c *Canvas) Open(class string) { fmt.Fprintf(&c.body, "<g class=%q>\n", class) }
func (c *Canvas) Close()            { c.body.WriteString("</g>\n") }

// openAt starts a group whose elements count y from the given height.
func (c *Canvas) openAt(y float64) {
	c.top = y
	fmt.Fprintf(&c.body, "<g transform=\"translate(0 %s)\">\n", c.number(y))
}

// Line draws a straight line.
func (c *Canvas) Line(class string, from, to Point) { c.Curve(class, []Point{from, to}) }

// Rect draws a rectangle, given its upper left corner.
func (c *Canvas) Rect(class string, x, y, width, height float64) {
	fmt.Fprintf(&c.body, "<rect class=%q x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"/>\n", class,
		c.number(x), c.number(y), c.number(width), c.number(height))
}

// Dot draws a filled circle.
func (c *Canvas) Dot(class string, at Point, radius float64) {
	fmt.Fprintf(&c.body, "<circle class=%q cx=\"%s\" cy=\"%s\" r=\"%s\"/>\n", class,
		c.number(at.X), c.number(at.Y), c.number(radius))
}

// pngPrefix begins the address of a PNG file that is its own content.
const pngPrefix = "data:image/png;base64,"

// Picture draws a PNG file stretched to a rectangle.
func (c *Canvas) Picture(file []byte, x, y, width, height float64) {
	fmt.Fprintf(&c.body, "<image x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\" preserveAspectRatio=\"none\" href=\"%s%s\"/>\n",
		c.number(x), c.number(y), c.number(width), c.number(height), pngPrefix, base64.StdEncoding.EncodeToString(file))
}

// Polygon draws the inside of a closed line.
func (c *Canvas) Polygon(class string, line []Point) { c.path(class, [][]Point{line}, "Z") }

// Curve draws lines through points, one for each slice.
func (c *Canvas) Curve(class string, lines ...[]Point) { c.path(class, lines, "") }

func (c *Canvas) path(class string, lines [][]Point, end string) {
	fmt.Fprintf(&c.body, "<path class=%q d=\"", class)
	for _, line := range lines {
		for i, p := range line {
			separator := "L"
			if i == 0 {
				separator = "M"
			}
			c.body.WriteString(separator + c.number(p.X) + " " + c.number(p.Y))
		}
		c.body.WriteString(end)
	}
	c.body.WriteString("\"/>\n")
}

// Text writes one line with its baseline at y. It begins at x, or ends or is
// centered there if its class is "end" or "middle".
func (c *Canvas) Text(class string, at Point, s string) {
	fmt.Fprintf(&c.body, "<text class=%q x=\"%s\" y=\"%s\">%s</text>\n", class,
		c.number(at.X), c.number(at.Y), escape(s))
}

// TextUp writes a line that reads from below to above, its baseline at x.
func (c *Canvas) TextUp(class string, at Point, s string) {
	x, y := c.number(at.X), c.number(at.Y)
	fmt.Fprintf(&c.body, "<text class=%q x=\"%s\" y=\"%s\" transform=\"rotate(-90 %s %s)\">%s</text>\n",
		class, x, y, x, y, escape(s))
}

// file returns the SVG file of a figure that is finished.
func (c *Canvas) file() []byte {
	wide, high := c.number(c.width), c.number(c.height)
	var file bytes.Buffer
	fmt.Fprintf(&file, "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"credence\" role=\"img\""+
		" width=\"%[1]s\" height=\"%[2]s\" viewBox=\"0 0 %[1]s %[2]s\">\n", wide, high)
	fmt.Fprintf(&file, "<title>%s</title>\n<desc>%s</desc>\n", escape(c.name), escape(c.description))
	fmt.Fprintf(&file, "<style>\n%s%s</style>\n", styleSheet(), c.Rules)
	fmt.Fprintf(&file, "<rect class=\"card\" width=\"%s\" height=\"%s\"/>\n", wide, high)
	file.Write(c.body.Bytes())
	file.WriteString("</svg>\n")
	return file.Bytes()
}

// dashed draws a line to compare with.
func (c *Canvas) dashed(from, to Point) {
	c.Open("muted dashed")
	c.Curve("curve", []Point{from, to})
	c.Close()
}

// labeled is a sentence about a series, which may have no label.
func labeled(label, text string) string {
	if label == "" {
		return text
	}
	return label + ": " + text
}
