package plot

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strconv"
)

// Figure is any figure of the package.
type Figure interface{ WriteSVG(io.Writer) error }

// point is a place on a canvas: x to the right, y downwards, in pixels.
type point struct{ x, y float64 }

// canvas collects the elements of an SVG file. What they look like is decided
// by their class, in the style sheet.
type canvas struct {
	width float64 // of the card; 0 means figureWidth
	body  bytes.Buffer
	rules string // of the style sheet, beyond those of every figure
	err   error  // the first coordinate that is not a number
}

// wide returns the width of the card.
func (c *canvas) wide() float64 { return cmp.Or(c.width, figureWidth) }

// number formats a coordinate: a hundredth of a pixel is below what a printer
// resolves, and above the rounding errors that differ between machines.
func (c *canvas) number(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		if c.err == nil {
			c.err = fmt.Errorf("a coordinate of the figure is %v", v)
		}
		v = 0
	}
	return string(appendNumber(nil, v))
}

func appendNumber(b []byte, v float64) []byte {
	b = strconv.AppendFloat(b, v, 'f', 2, 64)
	b = bytes.TrimRight(b, "0")
	b = bytes.TrimSuffix(b, []byte("."))
	if string(b) == "-0" {
		return []byte("0")
	}
	return b
}

// escape returns s as character data, without characters that XML forbids.
func escape(s string) string {
	var b bytes.Buffer
	xml.EscapeText(&b, []byte(s)) // writing to a Buffer does not fail
	return b.String()
}

// open starts a group of elements that share a class; close ends it.
func (c *canvas) open(class string) { fmt.Fprintf(&c.body, "<g class=%q>\n", class) }
func (c *canvas) close()            { c.body.WriteString("</g>\n") }

// openAt starts a group whose elements count y from the given height.
func (c *canvas) openAt(y float64) {
	fmt.Fprintf(&c.body, "<g transform=\"translate(0 %s)\">\n", c.number(y))
}

func (c *canvas) line(class string, from, to point) {
	fmt.Fprintf(&c.body, "<path class=%q d=\"M%s %sL%s %s\"/>\n", class,
		c.number(from.x), c.number(from.y), c.number(to.x), c.number(to.y))
}

func (c *canvas) rect(class string, x, y, width, height float64) {
	fmt.Fprintf(&c.body, "<rect class=%q x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"/>\n", class,
		c.number(x), c.number(y), c.number(width), c.number(height))
}

func (c *canvas) dot(class string, at point, radius float64) {
	fmt.Fprintf(&c.body, "<circle class=%q cx=\"%s\" cy=\"%s\" r=\"%s\"/>\n", class,
		c.number(at.x), c.number(at.y), c.number(radius))
}

// pngPrefix begins the address of a PNG file that is its own content.
const pngPrefix = "data:image/png;base64,"

// picture draws a PNG file stretched to a rectangle.
func (c *canvas) picture(file []byte, x, y, width, height float64) {
	fmt.Fprintf(&c.body, "<image x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\" preserveAspectRatio=\"none\" href=\"%s%s\"/>\n",
		c.number(x), c.number(y), c.number(width), c.number(height), pngPrefix, base64.StdEncoding.EncodeToString(file))
}

// polygon draws the inside of a closed line.
func (c *canvas) polygon(class string, line []point) { c.path(class, [][]point{line}, "Z") }

// curve draws lines through points, one for each slice.
func (c *canvas) curve(class string, lines ...[]point) { c.path(class, lines, "") }

func (c *canvas) path(class string, lines [][]point, end string) {
	fmt.Fprintf(&c.body, "<path class=%q d=\"", class)
	for _, line := range lines {
		for i, p := range line {
			separator := "L"
			if i == 0 {
				separator = "M"
			}
			c.body.WriteString(separator + c.number(p.x) + " " + c.number(p.y))
		}
		c.body.WriteString(end)
	}
	c.body.WriteString("\"/>\n")
}

// text writes one line with its baseline at y. It begins at x, or ends or is
// centered there if its class says so.
func (c *canvas) text(class string, at point, s string) {
	fmt.Fprintf(&c.body, "<text class=%q x=\"%s\" y=\"%s\">%s</text>\n", class,
		c.number(at.x), c.number(at.y), escape(s))
}

// textUp writes a line that reads from below to above, its baseline at x.
func (c *canvas) textUp(class string, at point, s string) {
	x, y := c.number(at.x), c.number(at.y)
	fmt.Fprintf(&c.body, "<text class=%q x=\"%s\" y=\"%s\" transform=\"rotate(-90 %s %s)\">%s</text>\n",
		class, x, y, x, y, escape(s))
}

// write completes the file. The name and the description are for readers who
// cannot see the figure.
func (c *canvas) write(w io.Writer, width, height float64, name, description string) error {
	wide, high := c.number(width), c.number(height)
	if c.err != nil {
		return c.err
	}
	var file bytes.Buffer
	fmt.Fprintf(&file, "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"credence\" role=\"img\""+
		" width=\"%[1]s\" height=\"%[2]s\" viewBox=\"0 0 %[1]s %[2]s\">\n", wide, high)
	fmt.Fprintf(&file, "<title>%s</title>\n<desc>%s</desc>\n", escape(name), escape(description))
	fmt.Fprintf(&file, "<style>\n%s%s</style>\n", styleSheet(), c.rules)
	fmt.Fprintf(&file, "<rect class=\"card\" width=\"%s\" height=\"%s\"/>\n", wide, high)
	file.Write(c.body.Bytes())
	file.WriteString("</svg>\n")
	_, err := w.Write(file.Bytes())
	return err
}

// figure completes the file of a figure, which ends at the
// given height; errors say which figure it is.
func (c *canvas) figure(w io.Writer, figure string, end float64, name, description string) error {
	if err := c.write(w, c.wide(), end+margin, name, description); err != nil {
		return fmt.Errorf("%s: %w", figure, err)
	}
	return nil
}

// labeled is a sentence about a series, which may have no label.
func labeled(label, text string) string {
	if label == "" {
		return text
	}
	return label + ": " + text
}
