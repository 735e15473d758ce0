package plot

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	scaling "golang.org/x/image/draw"
)

// Figure is any figure of the package.
type Figure interface{ WriteSVG(io.Writer) error }

// WritePNG writes a figure to w as a PNG file with so many pixels for each unit
// of its SVG: 1 gives an image 760 pixels wide, 2 twice as many for print. The
// colours are those for light pages. Equal figures give equal bytes.
//
// It reads the few elements that figures are made of, not SVG at large.
func WritePNG(w io.Writer, f Figure, scale float64) error {
	if !(scale > 0 && scale <= 8) {
		return fmt.Errorf("figure as PNG: scale %v, want more than 0 and at most 8", scale)
	}
	var svg bytes.Buffer
	if err := f.WriteSVG(&svg); err != nil {
		return err
	}
	r := &raster{scale: scale, marks: []mark{{colour: light.text}}}
	if err := r.read(&svg); err != nil {
		return fmt.Errorf("figure as PNG: %w", err)
	}
	e := png.Encoder{CompressionLevel: png.BestCompression}
	return e.Encode(w, r.img)
}

// raster draws the elements of a figure onto an image, in the light theme.
type raster struct {
	scale float64
	img   *image.RGBA
	marks []mark // those of the groups that are open, innermost last
	text  *mark  // of the text being read
	face  face
}

// mark is how an element is to be drawn: what its classes say, and what it
// inherits from the groups around it.
type mark struct {
	classes []string
	colour  string
	dashed  bool
	shift   float64 // of y, in units of the figure
	at      point   // of a text
	upright bool
}

func (m mark) is(class string) bool { return slices.Contains(m.classes, class) }

// read draws everything in an SVG file.
func (r *raster) read(svg io.Reader) error {
	dec := xml.NewDecoder(svg)
	for {
		token, err := dec.Token()
		switch {
		case errors.Is(err, io.EOF):
			if r.img == nil {
				return errors.New("no svg element")
			}
			return nil
		case err != nil:
			return err
		}
		switch e := token.(type) {
		case xml.StartElement:
			if err := r.element(e); err != nil {
				return fmt.Errorf("<%s>: %w", e.Name.Local, err)
			}
		case xml.EndElement:
			switch e.Name.Local {
			case "g":
				r.marks = r.marks[:len(r.marks)-1]
			case "text":
				r.text = nil
			}
		case xml.CharData:
			if r.text != nil {
				if err := r.write(*r.text, string(e)); err != nil {
					return err
				}
			}
		}
	}
}

func (r *raster) element(e xml.StartElement) error {
	a := attributes{}
	for _, attr := range e.Attr {
		a[attr.Name.Local] = attr.Value
	}
	m := r.marks[len(r.marks)-1].inside(a)
	var err error
	switch e.Name.Local {
	case "svg":
		size := a.numbers(&err, "width", "height")
		if err == nil {
			r.img = image.NewRGBA(image.Rect(0, 0, int(math.Ceil(size[0]*r.scale)), int(math.Ceil(size[1]*r.scale))))
			draw.Draw(r.img, r.img.Bounds(), image.NewUniform(rgba(light.card, 1)), image.Point{}, draw.Src)
		}
	case "g":
		r.marks = append(r.marks, m)
	case "rect":
		b := a.numbers(&err, "x", "y", "width", "height")
		if err == nil {
			r.draw(m, [][]point{{{b[0], b[1]}, {b[0] + b[2], b[1]}, {b[0] + b[2], b[1] + b[3]}, {b[0], b[1] + b[3]}}}, true)
		}
	case "circle":
		b := a.numbers(&err, "cx", "cy", "r")
		if err == nil {
			r.draw(m, [][]point{circle(point{b[0], b[1]}, b[2], r.scale)}, true)
		}
	case "path":
		lines, closed, bad := parsePath(a["d"])
		if err = bad; err == nil {
			r.draw(m, lines, closed)
		}
	case "text":
		b := a.numbers(&err, "x", "y")
		m.at, m.upright = point{b[0], b[1] + m.shift}, a["transform"] != ""
		r.text = &m
	case "image":
		err = r.picture(m, a)
	}
	return err
}

// inside returns how an element with the given attributes is drawn in a group
// drawn like m.
func (m mark) inside(a attributes) mark {
	m.classes = strings.Fields(a["class"])
	for _, class := range m.classes {
		switch {
		case class == "muted":
			m.colour = light.muted
		case class == "dashed":
			m.dashed = true
		case len(class) == 2 && class[0] == 's' && class[1] >= '0' && int(class[1]-'0') < len(light.series):
			m.colour = light.series[class[1]-'0']
		}
	}
	if to, ok := strings.CutPrefix(a["transform"], "translate(0 "); ok {
		y, _ := strconv.ParseFloat(strings.TrimSuffix(to, ")"), 64)
		m.shift += y
	}
	return m
}

// draw fills and strokes lines as the style sheet says.
func (r *raster) draw(m mark, lines [][]point, closed bool) {
	for i := range lines {
		for k := range lines[i] {
			lines[i][k].y += m.shift
		}
	}
	fill := func(colour string, opacity float64) { r.fill(lines, colour, opacity) }
	line := func(colour string, width, opacity float64, dash []float64) {
		var parts [][]point
		for _, l := range lines {
			if closed {
				l = append(slices.Clone(l), l[0])
			}
			parts = append(parts, dashes(l, dash)...)
		}
		r.stroke(parts, width, colour, opacity)
	}
	switch {
	case m.is("card"):
		fill(light.card, 1)
	case m.is("rule"):
		line(light.rule, 1, 1, nil)
	case m.is("grid"):
		line(light.grid, 1, 1, nil)
	case m.is("curve") && m.dashed:
		line(m.colour, 2, 1, []float64{6, 4})
	case m.is("curve"):
		line(m.colour, 2, 1, nil)
	case m.is("pale"):
		line("#ffffff", 0.7, 0.5, nil)
	case m.is("contour"):
		line("#000000", 0.7, 0.5, nil)
	case m.is("bar"):
		line(m.colour, 1, 1, nil)
	case m.is("shade"):
		opacity, _ := strconv.ParseFloat(light.shade, 64)
		fill(m.colour, opacity)
	case m.is("dot"):
		fill(m.colour, 1)
		line(light.card, 1.5, 1, nil)
	default: // solid
		fill(m.colour, 1)
	}
}

// picture draws an embedded image into its place.
func (r *raster) picture(m mark, a attributes) error {
	var err error
	b := a.numbers(&err, "x", "y", "width", "height")
	if err != nil {
		return err
	}
	text, ok := strings.CutPrefix(a["href"], pngPrefix)
	if !ok {
		return errors.New("the picture is no PNG in the file")
	}
	file, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return err
	}
	img, err := png.Decode(bytes.NewReader(file))
	if err != nil {
		return err
	}
	at := func(v float64) int { return int(math.Round(v * r.scale)) }
	place := image.Rect(at(b[0]), at(b[1]+m.shift), at(b[0]+b[2]), at(b[1]+m.shift+b[3]))
	scaling.BiLinear.Scale(r.img, place, img, img.Bounds(), draw.Over, nil)
	return nil
}

// attributes are those of an element.
type attributes map[string]string

// numbers returns some attributes as numbers, 0 for those that are not there.
func (a attributes) numbers(err *error, names ...string) []float64 {
	out := make([]float64, len(names))
	for i, name := range names {
		if a[name] == "" {
			continue
		}
		v, bad := strconv.ParseFloat(a[name], 64)
		if bad != nil && *err == nil {
			*err = fmt.Errorf("%s=%q is no number", name, a[name])
		}
		out[i] = v
	}
	return out
}

// parsePath returns the lines of a path made of M, L and Z.
func parsePath(d string) (lines [][]point, closed bool, err error) {
	for _, part := range strings.Split(d, "M")[1:] {
		part, z := strings.CutSuffix(part, "Z")
		closed = closed || z
		var line []point
		for _, pair := range strings.Split(part, "L") {
			xs, ys, _ := strings.Cut(pair, " ")
			x, errX := strconv.ParseFloat(xs, 64)
			y, errY := strconv.ParseFloat(ys, 64)
			if err := errors.Join(errX, errY); err != nil {
				return nil, false, fmt.Errorf("path with %q: %w", pair, err)
			}
			line = append(line, point{x, y})
		}
		lines = append(lines, line)
	}
	return lines, closed, nil
}

// rgba returns a colour of the themes with an opacity.
func rgba(colour string, opacity float64) color.RGBA {
	v, _ := strconv.ParseUint(strings.TrimPrefix(colour, "#"), 16, 32)
	part := func(shift uint) uint8 { return uint8(float64(v>>shift&0xff)*opacity + 0.5) }
	return color.RGBA{part(16), part(8), part(0), uint8(255*opacity + 0.5)}
}
