package cohort

import (
	"image"
	"image/color"
)

// Montage draws heads of the given severities, one per row: an axial, a coronal
// and a sagittal slice each, scaled up by a whole factor, as a radiologist sees
// them (the subject's right on the left).
func Montage(p Picture, size Size, severities []float64, scale int) *image.Gray {
	spacing := size.Spacing()
	// Template coordinates of the slices: through the ventricles, through the
	// hippocampi, and beside the midline.
	axial := sliceAt(2, 12, size, spacing)
	coronal := sliceAt(1, -16, size, spacing)
	sagittal := size[0] - 1 - sliceAt(0, -5, size, spacing)
	nx, ny, nz := size[0]*scale, size[1]*scale, size[2]*scale
	height := max(ny, nz)
	img := image.NewGray(image.Rect(0, 0, nx+nx+ny, height*len(severities)))
	for row, s := range severities {
		p.Severity = s
		v := p.Render(size)
		put := func(left, w, h int, at func(x, y int) int) {
			top := row*height + (height-h*scale)/2
			for y := range h * scale {
				for x := range w * scale {
					b := v[at(x/scale, h-1-y/scale)]
					img.SetGray(left+x, top+y, color.Gray{uint8(min(255, b*1.9))})
				}
			}
		}
		put(0, size[0], size[1], func(x, y int) int { return (axial*size[1]+y)*size[0] + x })
		put(nx, size[0], size[2], func(x, y int) int { return (y*size[1]+coronal)*size[0] + x })
		put(2*nx, size[1], size[2], func(x, y int) int { return (y*size[1]+x)*size[0] + sagittal })
	}
	return img
}

func sliceAt(axis int, mm float32, size Size, spacing [3]float32) int {
	k := int((mm*meanSize - viewCenter[axis] + fieldOfView[axis]/2) / spacing[axis])
	return min(max(k, 0), size[axis]-1)
}
