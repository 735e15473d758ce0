package plot

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"credence/internal/words"
)

// Forest is a figure of several quantities of many, a row each: an estimate of each
// quantity with its interval, in panels side by side or, on a narrow card, one below the other. Of more than forestAll rows the
// first are drawn, and of the others how their estimates lie.
type Forest struct {
	Title  string
	Groups []string // of rows, in the legend; each has a color
	Panels []ForestPanel
	// Rows are in order of how much they are worth showing. Those drawn are put in order
	// of their estimates in the first panel, unless InOrder keeps theirs.
	Rows    []ForestRow
	InOrder bool
	// Noun names the rows, in the plural; Notes is the heading of the notes next to their names.
	Noun, Notes string
}

// ForestPanel is a quantity. Share means that it lies between 0 and 1.
type ForestPanel struct {
	Label     string
	Reference float64 // where a dashed line is drawn
	Share     bool
}

// ForestRow is one row: Note is written next to its name.
type ForestRow struct {
	Name, Note string
	Group      int
	Estimates  []ForestEstimate // one per panel
}

// ForestEstimate is an estimate and its interval; one with a value of NaN is not drawn.
type ForestEstimate struct{ Value, Lo, Hi float64 }

// Of more rows than forestAll, forestShown are drawn.
const forestAll, forestShown = 60, 40

const (
	forestNames = 130.0
	forestGap   = 28.0 // between panels
	forestStrip = 46.0 // height of the rows that are not drawn
)

// Draw implements [Figure]. Ends of intervals that lie far beyond all estimates are cut off.
func (d Forest) Draw(c *Canvas) error {
	if err := d.check(); err != nil {
		return err
	}
	shown, rest := d.Rows, []ForestRow(nil)
	if len(d.Rows) > forestAll {
		shown, rest = d.Rows[:forestShown], d.Rows[forestShown:]
	}
	shown = slices.Clone(shown)
	if !d.InOrder {
		slices.SortStableFunc(shown, func(a, b ForestRow) int { return cmp.Compare(b.Estimates[0].Value, a.Estimates[0].Value) })
	}

	side := len(d.Panels) // panels side by side
	if c.width < FigureWidth {
		side = 1
	}
	above := 0.0 // the panels
	if d.Notes != "" {
		above = TickSize
	}
	c.Begin(d.Title, d.legend(), HeaderGap+above)
	end := 0.0
	for first := 0; first < len(d.Panels); first += side {
		if first > 0 {
			c.next(end + intervalRow + above)
		}
		end = d.panels(c, first, side, shown, rest)
	}
	return c.Finish(end, cmp.Or(d.Title, d.Panels[0].Label), d.about(shown, rest))
}

// panels draws the rows in n panels side by side, from the first, and returns the height at which they end.
func (d Forest) panels(c *Canvas, first, n int, shown, rest []ForestRow) float64 {
	names, notes := 0.0, TextWidth(d.Notes, TickSize)
	for _, r := range shown {
		names = max(names, TextWidth(r.Name, TickSize))
		notes = max(notes, TextWidth(r.Note, TickSize))
	}
	names = min(names, forestNames, 0.25*c.width)
	left := Margin + max(names+notes+16, TextWidth(d.others(rest), TickSize)) + 10
	wide := (c.width - Margin - 10 - left - forestGap*float64(n-1)) / float64(n)
	height := float64(len(shown))*intervalRow + 8
	if rest != nil {
		height += forestStrip + 8
	}
	end := 0.0
	for p := first; p < first+n; p++ {
		panel, x := d.Panels[p], d.span(p, shown)
		from := left + float64(p-first)*(wide+forestGap)
		a := Horizontal(x.lo, x.hi, from, from+wide)
		end = max(end, a.drawX(c, panel.Label, 0, height))
		c.dashed(Point{a.Pixel(panel.Reference), 0}, Point{a.Pixel(panel.Reference), height})
		for i, r := range shown {
			e, mid := r.Estimates[p], 4+(float64(i)+0.5)*intervalRow
			if math.IsNaN(e.Value) {
				continue
			}
			c.Open(Series(r.Group))
			a.drawInterval(c, e.Lo, e.Hi, mid)
			c.Dot("dot", Point{a.Pixel(e.Value), mid}, smallDot)
			c.Close()
		}
		if rest != nil {
			d.strip(c, a, rest, p, height-4)
		}
	}
	c.Open("muted")
	c.Text("tick end", Point{left - 10, -2}, d.Notes)
	c.Close()
	for i, r := range shown {
		y := 4 + (float64(i)+0.5)*intervalRow + 0.36*TickSize
		c.Text("tick", Point{Margin, y}, Fit(r.Name, TickSize, names))
		c.Open("muted")
		c.Text("tick end", Point{left - 10, y}, r.Note)
		c.Close()
	}
	if rest != nil {
		c.Text("tick", Point{Margin, height - 4 - forestStrip/2 + 0.36*TickSize}, d.others(rest))
	}
	return end
}

func (d Forest) check() error {
	switch {
	case len(d.Panels) == 0:
		return errors.New("no panels")
	case len(d.Rows) == 0:
		return errors.New("no rows")
	}
	for _, r := range d.Rows {
		if len(r.Estimates) != len(d.Panels) {
			return fmt.Errorf("row %q has %d estimates for %d panels", r.Name, len(r.Estimates), len(d.Panels))
		}
		for _, e := range r.Estimates {
			if !math.IsNaN(e.Value) && !(e.Lo <= e.Value && e.Value <= e.Hi && finite(e.Value)) {
				return fmt.Errorf("row %q has the interval [%v, %v] around %v", r.Name, e.Lo, e.Hi, e.Value)
			}
		}
	}
	return nil
}

// others describes the rows that are not drawn individually.
func (d Forest) others(rest []ForestRow) string {
	if rest == nil {
		return ""
	}
	return "the other " + words.Thousands(len(rest))
}

// legend has an entry for every group that has rows.
func (d Forest) legend() (list []key) {
	for i, g := range d.Groups {
		if slices.ContainsFunc(d.Rows, func(r ForestRow) bool { return r.Group == i }) {
			list = append(list, rowKey(g, Series(i)))
		}
	}
	return list
}

// span returns the range of a panel: that of all estimates, and of the intervals drawn.
func (d Forest) span(p int, shown []ForestRow) span {
	values, ends := emptySpan(), emptySpan()
	values.add(d.Panels[p].Reference)
	for _, r := range d.Rows {
		values.add(r.Estimates[p].Value)
	}
	for _, r := range shown {
		ends.add(r.Estimates[p].Lo, r.Estimates[p].Hi)
	}
	x := values.cut(ends, max(values.hi-values.lo, 0.1))
	if d.Panels[p].Share {
		x = span{max(x.lo, -0.015), min(x.hi, 1.015)}
	}
	return x
}

// strip draws how the estimates of rows that are not drawn lie: a histogram that ends at a
// height.
func (d Forest) strip(c *Canvas, a Axis, rest []ForestRow, p int, bottom float64) {
	const bins = 50
	counts := make([]float64, bins)
	for _, r := range rest {
		if math.IsNaN(r.Estimates[p].Value) {
			continue
		}
		k := int(bins * (r.Estimates[p].Value - a.Lo) / (a.Hi - a.Lo))
		counts[min(max(k, 0), bins-1)]++
	}
	tallest, width := max(1, slices.Max(counts)), (a.End-a.Start)/bins
	c.Line("rule", Point{a.Start, bottom}, Point{a.End, bottom})
	c.Open(Series(0))
	for k, n := range counts {
		if n > 0 {
			high := forestStrip * n / tallest
			c.Rect("shade", a.Start+float64(k)*width, bottom-high, width, high)
		}
	}
	c.Close()
}

// about describes the figure in words.
func (d Forest) about(shown, rest []ForestRow) string {
	noun := cmp.Or(d.Noun, "rows")
	text := fmt.Sprintf("%s of %s", words.Thousands(len(shown)), words.Thousands(len(d.Rows))) + " " + noun
	var list []string
	for _, r := range shown[:min(len(shown), 10)] {
		var of []string
		for p, e := range r.Estimates {
			if math.IsNaN(e.Value) {
				continue
			}
			of = append(of, fmt.Sprintf("%s %.2f, %.2f to %.2f", d.Panels[p].Label, e.Value, e.Lo, e.Hi))
		}
		list = append(list, r.Name+": "+strings.Join(of, "; "))
	}
	if rest != nil {
		list = append(list, "of "+d.others(rest)+" a histogram of the estimates is drawn")
	}
	return text + ". " + strings.Join(list, ". ") + "."
}
