package plot

import (
	"cmp"
	"errors"
	"fmt"
	"io"
)

// Band is a figure of one quantity that depends on another: a line with dots,
// and a shaded band around it where its interval is known.
type Band struct {
	Title          string
	XLabel, YLabel string
	Label          string // of the line; none if empty
	Interval       string // what the band is; "95% interval" if empty
	Points         []IntervalPoint
}

const bandHeight = 240.0

// WriteSVG writes the figure to w as an SVG file, 760 pixels wide.
func (d Band) WriteSVG(w io.Writer) error {
	var line, upper, lower []point
	var known []IntervalPoint
	x, y := emptySpan(), emptySpan()
	for _, p := range d.Points {
		if !p.known() {
			continue
		}
		known = append(known, p)
		x.add(p.X)
		y.add(p.Y)
		if p.hasInterval() {
			y.add(p.Lo, p.Hi)
		}
	}
	if len(known) == 0 {
		return errors.New("band figure: no points")
	}
	f := newFrame(x.padded(), y.padded(), d.XLabel, d.YLabel, bandHeight)
	for _, p := range known {
		line = append(line, f.place(p.X, p.Y))
		if p.hasInterval() {
			upper = append(upper, f.place(p.X, p.Hi))
			lower = append(lower, f.place(p.X, p.Lo))
		} else { // the band closes to the line
			upper, lower = append(upper, f.place(p.X, p.Y)), append(lower, f.place(p.X, p.Y))
		}
	}
	var legend []key
	if d.Label != "" {
		legend = append(legend, lineKey(d.Label, series(0)))
	}
	legend = append(legend, areaKey(cmp.Or(d.Interval, "95% interval"), series(0)))
	var c canvas
	top := drawHeader(&c, d.Title, legend) + 14
	c.openAt(top)
	end := f.draw(&c)
	c.open(series(0))
	if len(line) > 1 {
		c.polygon("shade", area(upper, lower))
		c.curve("curve", line)
	}
	for _, p := range line {
		c.dot("dot", p, smallDot)
	}
	c.close()
	c.close()
	first, last := known[0], known[len(known)-1]
	about := fmt.Sprintf("%s goes from %s at %s to %s at %s.", d.YLabel, f.y.format(first.Y, 1), f.x.format(first.X, 1),
		f.y.format(last.Y, 1), f.x.format(last.X, 1))
	if err := c.write(w, figureWidth, top+end+margin,
		cmp.Or(d.Title, d.YLabel+" against "+d.XLabel), about); err != nil {
		return fmt.Errorf("band figure: %w", err)
	}
	return nil
}
