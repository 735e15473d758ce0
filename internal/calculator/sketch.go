package calculator

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"credence/internal/printout"
	"credence/mixture"
)

const (
	sketchRows = 8
	// poleRoom is the maximum ratio of the height of a column with a pole to the
	// height of the frame, which cuts it off.
	poleRoom = 4
)

// axis is the horizontal axis of a sketch: n columns between lo and hi, with a
// tick at every multiple of step.
type axis struct {
	lo, hi, step float64
	n            int
}

// newAxis returns the axis from 0 to 1, or a narrower one if the mass of the
// densities would fill only a few columns of that.
func newAxis(n int, densities ...*mixture.Beta) axis {
	lo, hi := 1.0, 0.0
	for _, f := range densities {
		lo, hi = min(lo, f.Quantile(0.001)), max(hi, f.Quantile(0.999))
	}
	if r := hi - lo; r > 0.1 || r < 1e-9 {
		return axis{0, 1, 0.2, n}
	}
	step := niceStep((hi - lo) / 3)
	return axis{max(0, step*math.Floor(lo/step)), min(1, step*math.Ceil(hi/step)), step, n}
}

// niceStep returns the largest number ≤ x that is 1, 2 or 5 times a power of ten.
func niceStep(x float64) float64 {
	p := math.Pow(10, math.Floor(math.Log10(x)))
	for _, m := range []float64{5, 2} {
		if m*p <= x {
			return m * p
		}
	}
	return p
}

// at returns the left end of column i, 0 ≤ i ≤ n.
func (a axis) at(i int) float64 {
	if i == a.n {
		return a.hi
	}
	return a.lo + (a.hi-a.lo)*float64(i)/float64(a.n)
}

// column returns the column of x, the first or last if x is outside the axis.
func (a axis) column(x float64) int {
	return min(max(int(float64(a.n)*(x-a.lo)/(a.hi-a.lo)), 0), a.n-1)
}

// lines returns the ruler with its ticks, and the line of labels below it. Labels
// that do not fit are omitted; those of the ends have priority.
func (a axis) lines() (ruler, labels string) {
	marks := []rune(strings.Repeat("─", a.n))
	text := []rune(strings.Repeat(" ", a.n))
	decimals := max(0, int(math.Ceil(-math.Log10(a.step)-1e-9)))
	put := func(tick float64) {
		x := tick * a.step
		c := a.column(x)
		marks[c] = '┴'
		label := strconv.FormatFloat(x, 'f', decimals, 64)
		if decimals > 6 && a.hi < 1e-3 {
			label = strconv.FormatFloat(x, 'g', 6, 64)
		}
		from := min(max(c-len(label)/2, 0), a.n-len(label))
		around := text[max(from-1, 0):min(from+len(label)+1, a.n)]
		if strings.TrimSpace(string(around)) == "" {
			copy(text[from:], []rune(label))
		}
	}
	first, last := math.Round(a.lo/a.step), math.Round(a.hi/a.step)
	put(first)
	put(last)
	for tick := first + 1; tick < last; tick++ {
		put(tick)
	}
	return string(marks), strings.TrimRight(string(text), " ")
}

// heights returns the mean density in each column of an axis. It is finite even
// where the density has a pole.
func heights(f *mixture.Beta, a axis) []float64 {
	h := make([]float64, a.n)
	for i := range h {
		x0, x1 := a.at(i), a.at(i+1)
		h[i] = massBetween(f, x0, x1) / (x1 - x0)
	}
	return h
}

// massBetween returns the mass between lo and hi, from the CDF or the survival
// function, whichever loses fewer digits in the difference.
func massBetween(f *mixture.Beta, lo, hi float64) float64 {
	if c := f.CDF(hi); c < 0.5 {
		return c - f.CDF(lo)
	}
	return f.Survival(lo) - f.Survival(hi)
}

// frame returns the height that fills a sketch: that of the highest column without
// a pole, so that a pole does not flatten the rest, but at least 1/poleRoom of the highest.
func frame(f *mixture.Beta, a axis, h []float64) float64 {
	inner, top := 0.0, 0.0
	for i, v := range h {
		top = max(top, v)
		if !(i == 0 && a.lo == 0 && math.IsInf(f.PDF(0), 1) ||
			i == len(h)-1 && a.hi == 1 && math.IsInf(f.PDF(1), 1)) {
			inner = max(inner, v)
		}
	}
	return max(inner, top/poleRoom)
}

// eighths are the block characters, in steps of an eighth.
var eighths = []rune(" ▁▂▃▄▅▆▇█")

// bar returns the character at a row, counted from the bottom, of a column whose
// height is v times the frame's. A column higher than the frame ends in an arrow.
func bar(v float64, row, rows int) rune {
	full := int(math.Round(8 * float64(rows) * min(v, 2)))
	if row == rows-1 && full > 8*rows && rows > 1 {
		return '▲'
	}
	return eighths[min(max(full-8*row, 0), 8)]
}

// drawDensity draws the density of f over an axis, its mean, and its two-sided
// intervals and highest-density sets at the levels.
func drawDensity(w *bytes.Buffer, f *mixture.Beta, levels []float64, width int) {
	gutter := 4 // room for the numbers of the vertical axis
	for _, level := range levels {
		gutter = max(gutter, utf8.RuneCountInString("two-sided "+printout.Percent(level)))
	}
	a := newAxis(width-gutter-2, f)
	h := heights(f, a)
	top := frame(f, a, h)
	line := func(label, mark, text string) {
		w.WriteString(strings.TrimRight(printout.Pad(label, gutter, false)+" "+mark+text, " ") + "\n")
	}
	cut := false
	for row := sketchRows - 1; row >= 0; row-- {
		text := make([]rune, a.n)
		for i, v := range h {
			text[i] = bar(v/top, row, sketchRows)
			cut = cut || text[i] == '▲'
		}
		label := ""
		if row == sketchRows-1 {
			label = formatDensity(top)
		}
		line(label, "│", string(text))
	}
	ruler, labels := a.lines()
	line("0", "└", ruler)
	line("", " ", labels)
	mean := f.Mean()
	for _, level := range levels {
		pieces := []mixture.Interval{f.Interval(mixture.TwoSided, level)}
		text := span(a, pieces)
		text[a.column(mean)] = '●'
		line("two-sided "+printout.Percent(level), " ", string(text))
		line("highest "+printout.Percent(level), " ", string(span(a, f.HighestDensity(level))))
	}
	legend := "● mean"
	if cut {
		legend += "   ▲ beyond the frame: " + cutLegend(f, a)
	}
	line("", " ", legend)
}

// formatDensity formats a density with about three digits.
func formatDensity(x float64) string {
	switch {
	case x >= 1e6:
		return precision{digits: 3}.scientific(x)
	case x >= 100:
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}

// cutLegend describes the mass in the columns at a pole.
func cutLegend(f *mixture.Beta, a axis) string {
	var texts []string
	if x := a.at(1); a.lo == 0 && math.IsInf(f.PDF(0), 1) {
		texts = append(texts, fmt.Sprintf("%.0f%% below %.2g", 100*f.CDF(x), x))
	}
	if x := a.at(a.n - 1); a.hi == 1 && math.IsInf(f.PDF(1), 1) {
		texts = append(texts, fmt.Sprintf("%.0f%% above %.3g", 100*f.Survival(x), x))
	}
	return strings.Join(texts, ", ")
}

// span draws intervals as brackets under an axis.
func span(a axis, pieces []mixture.Interval) []rune {
	text := []rune(strings.Repeat(" ", a.n))
	for _, p := range pieces {
		from, to := a.column(p.Lo), a.column(p.Hi)
		for i := from; i <= to; i++ {
			text[i] = '─'
		}
		text[from], text[to] = '├', '┤'
		if from == to {
			text[from] = '│'
		}
	}
	return text
}

// Sparkline draws a density from 0 to 1 in n characters.
func Sparkline(f *mixture.Beta, n int) string { return sparkline(f, axis{0, 1, 0.2, n}) }

func sparkline(f *mixture.Beta, a axis) string {
	h := heights(f, a)
	top := frame(f, a, h)
	text := make([]rune, a.n)
	for i, v := range h {
		text[i] = bar(v/top, 0, 1)
	}
	return string(text)
}

// drawSparklines draws each density on its own line over a common axis.
func drawSparklines(w *bytes.Buffer, labels []string, densities []*mixture.Beta, width int) {
	gutter := 0
	for _, l := range labels {
		gutter = max(gutter, utf8.RuneCountInString(l))
	}
	a := newAxis(width-gutter-2, densities...)
	for i, f := range densities {
		line := printout.Pad(labels[i], gutter, true) + "  " + sparkline(f, a)
		w.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	ruler, numbers := a.lines()
	for _, line := range []string{ruler, numbers} {
		w.WriteString(strings.Repeat(" ", gutter+2) + line + "\n")
	}
}
