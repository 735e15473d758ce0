package plot

import (
	"math"
	"strings"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// face draws text with the Go fonts, whose files are part of the program.
type face struct{ buffer sfnt.Buffer }

var (
	regular = sync.OnceValues(func() (*sfnt.Font, error) { return sfnt.Parse(goregular.TTF) })
	bold    = sync.OnceValues(func() (*sfnt.Font, error) { return sfnt.Parse(gobold.TTF) })
)

// Digits above and below the line, which the Go fonts lack for the most part,
// are drawn as small ones.
const (
	raisedRunes  = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺"
	loweredRunes = "₀₁₂₃₄₅₆₇₈₉₋₊"
	plainRunes   = "0123456789−+"
	smallShare   = 0.68 // of the size of the text
)

// glyphs returns the outlines of s, which begins at the origin, and how far it
// reaches, for a size in pixels.
func (f *face) glyphs(s string, size float64, heavy bool) (lines [][]point, advance float64, err error) {
	font0, err := regular()
	if heavy {
		font0, err = bold()
	}
	if err != nil {
		return nil, 0, err
	}
	for _, r := range s {
		share, rise := 1.0, 0.0
		for _, small := range []struct {
			runes string
			rise  float64
		}{{raisedRunes, 0.36}, {loweredRunes, -0.18}} {
			if i := strings.IndexRune(small.runes, r); i >= 0 {
				at := len([]rune(small.runes[:i]))
				r, share, rise = []rune(plainRunes)[at], smallShare, small.rise
			}
		}
		index, err := font0.GlyphIndex(&f.buffer, r)
		if err != nil {
			return nil, 0, err
		}
		// Outlines are taken at a size of many pixels, so that rounding to 1/64
		// pixel does not show.
		const ppem = 1024
		unit := size * share / ppem
		segments, err := font0.LoadGlyph(&f.buffer, index, fixed.I(ppem), nil)
		if err != nil {
			return nil, 0, err
		}
		place := func(p fixed.Point26_6) point {
			return point{advance + float64(p.X)/64*unit, float64(p.Y)/64*unit - rise*size}
		}
		for _, seg := range segments {
			switch seg.Op {
			case sfnt.SegmentOpMoveTo:
				lines = append(lines, []point{place(seg.Args[0])})
			case sfnt.SegmentOpLineTo:
				lines[len(lines)-1] = append(lines[len(lines)-1], place(seg.Args[0]))
			case sfnt.SegmentOpQuadTo:
				line := lines[len(lines)-1]
				from, by, to := line[len(line)-1], place(seg.Args[0]), place(seg.Args[1])
				const steps = 5
				for i := 1; i <= steps; i++ {
					t := float64(i) / steps
					line = append(line, point{
						(1-t)*(1-t)*from.x + 2*t*(1-t)*by.x + t*t*to.x,
						(1-t)*(1-t)*from.y + 2*t*(1-t)*by.y + t*t*to.y,
					})
				}
				lines[len(lines)-1] = line
			}
		}
		wide, err := font0.GlyphAdvance(&f.buffer, index, fixed.I(ppem), font.HintingNone)
		if err != nil {
			return nil, 0, err
		}
		advance += float64(wide) / 64 * unit
	}
	return lines, advance, nil
}

// write draws a text as its classes say.
func (r *raster) write(m mark, s string) error {
	size := textSize
	switch {
	case m.is("title"):
		size = titleSize
	case m.is("tick"):
		size = tickSize
	}
	lines, advance, err := r.face.glyphs(s, size, m.is("title"))
	if err != nil {
		return err
	}
	before := 0.0
	switch {
	case m.is("middle"):
		before = advance / 2
	case m.is("end"):
		before = advance
	}
	for _, line := range lines {
		for i, p := range line {
			p.x -= before
			if m.upright {
				p = point{p.y, -p.x}
			}
			line[i] = point{m.at.x + p.x, m.at.y + p.y}
		}
	}
	if m.is("halo") {
		const around, reach = 12, 2.0
		for i := range around {
			sin, cos := math.Sincos(2 * math.Pi * float64(i) / around)
			moved := make([][]point, len(lines))
			for k, line := range lines {
				for _, p := range line {
					moved[k] = append(moved[k], point{p.x + reach*cos, p.y + reach*sin})
				}
			}
			r.fill(moved, light.card, 1)
		}
	}
	r.fill(lines, m.colour, 1)
	return nil
}
