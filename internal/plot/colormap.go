package plot

import (
	"image/color"
	"math"
)

// colourAnchors are every 32nd colour of viridis (Smith and van der Walt 2015),
// from dark blue to yellow. Its lightness rises evenly, so equal steps of a
// number look like equal steps, also to the colour-blind and in grey print.
var colourAnchors = [9][3]float64{
	{68, 1, 84}, {71, 44, 122}, {59, 81, 139}, {44, 113, 142}, {33, 144, 141},
	{39, 173, 129}, {92, 200, 99}, {170, 220, 50}, {253, 231, 37},
}

// colourSteps is how many colours a field is drawn with.
const colourSteps = 64

// colourOf returns the colour of a share of the scale; shares outside of 0 to 1
// have those of its ends.
func colourOf(share float64) color.RGBA {
	at := min(max(share, 0), 1) * float64(len(colourAnchors)-1)
	i := min(int(at), len(colourAnchors)-2)
	t := at - float64(i)
	part := func(k int) uint8 {
		return uint8(math.Round((1-t)*colourAnchors[i][k] + t*colourAnchors[i+1][k]))
	}
	return color.RGBA{part(0), part(1), part(2), 255}
}

// palette returns the colours of a field, from low to high.
func palette() color.Palette {
	p := make(color.Palette, colourSteps)
	for i := range p {
		p[i] = colourOf(float64(i) / (colourSteps - 1))
	}
	return p
}

// colourStep returns the place of v in the palette of a scale from lo to hi.
func colourStep(v, lo, hi float64) uint8 {
	if !(v > lo) { // also for what is not a number
		return 0
	}
	return uint8(min((v-lo)/(hi-lo)*colourSteps, colourSteps-1))
}
