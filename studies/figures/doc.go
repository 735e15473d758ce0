// Package figures draws the figures that only studies need, on the canvas and with the axes of [plot]: [Field] shows
// quantities over the plane, [Samples] items in the plane in groups, and [Layers] a network. They are written with
// [plot.WriteSVG], and have no room on the card of [plot.WriteNarrow].
package figures

import "credence/internal/plot"

// xy returns the point with the given coordinates.
func xy(x, y float64) plot.Point { return plot.Point{X: x, Y: y} }
