package plot

import (
	"image/color"
	"math"
)

// colorAnchors are every 32nd color of viridis (Smith and van der Walt 2015),
// from dark blue to yellow. Its lightness rises evenly, so equal steps of a
// number look like equal steps, also to the color-blind and in gray print.
var colorAnchors = [9][3]float64{
	{68, 1, 84}, {71, 44, 122}, {59, 81, 139}, {44, 113, 142}, {33, 144, 141},
	{39, 173, 129}, {92, 200, 99}, {170, 220, 50}, {253, 231, 37},
}

// colorSteps is how many colors a field is drawn with.
const colorSteps = 64

// colorOf returns the color of a share of the scale; shares outside of 0 to 1
// have those of its ends.
func colorOf(share float64) color.RGBA {
	at := min(max(share, 0), 1) * float64(len(colorAnchors)-1)
	i := min(int(at), len(colorAnchors)-2)
	t := at - float64(i)
	part := func(k int) uint8 {
		return uint8(math.Round((1-t)*colorAnchors[i][k] + t*colorAnchors[i+1][k]))
	}
	return color.RGBA{part(0), part(1), part(2), 255}
}

// palette returns the colors of a field, from low to high.
func palette() color.Palette {
	p := make(color.Palette, colorSteps)
	for i := range p {
		p[i] = colorOf(float64(i) / (colorSteps - 1))
	}
	return p
}

// colorStep returns the place of v in the palette of a scale from lo to hi.
func colorStep(v, lo, hi float64) uint8 {
	if !(v > lo) { // also for what is not a number
		return 0
	}
	return uint8(min((v-lo)/(hi-lo)*colorSteps, colorSteps-1))
}
