// Package plot draws the figures of the project as SVG.
//
// A figure is a struct: set the fields to show, leave the rest at their zero values, and
// call [WriteSVG]. [Density] shows distributions of a probability, [Training] losses by
// epoch, [Comparison] predictions against observations, [Coverage] curves that should follow the diagonal,
// [Lines] curves of any kind, [Histogram] numbers that should be uniform,
// [Scatter] items in groups, [Intervals] single items, [Bars] one quantity by group,
// and [Forest] several quantities per row with their intervals. Figures that only
// studies need are in studies/figures, drawn with the same [Canvas] and [Axis].
//
// All figures have one look. It lives in style.go, as a style sheet that every
// file carries: a light card with dark text, or the reverse where the reader
// prefers dark pages, and colors that remain distinct to the color-blind. A
// file refers to nothing outside itself, neither fonts nor scripts, and has no
// ids, so several figures can be in one HTML page.
//
// Figures are deterministic: the same figure gives the same bytes on the same
// architecture, on any machine. They contain no dates or times.
//
// # Drawing a further figure
//
// A figure lays itself out from top to bottom on a [Canvas], whose height is known
// only at the end: a header (title and legend), then one or more panels between
// two axes, most simply a [Frame]. An SVG cannot ask how wide its text will be, so margins and line
// breaks come from TextWidth, an estimate on the safe side.
package plot
