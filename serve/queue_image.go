package serve

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
	"slices"

	"credence/dataset"
)

// picture draws feature part of item i as PNG: an image, or the slice of a volume at a place along an
// axis. Volumes lie as they are kept, with the last axis upwards, as radiologists hold them.
func (p *pool) picture(i, part, axis, slice int) ([]byte, error) {
	ds, err := p.rows.dataset(i, p.ids[i])
	if err != nil {
		return nil, err
	}
	if part < 0 || part >= len(ds.Parts) || ds.Parts[part].Kind != dataset.Tensor || pictureKind(ds.Parts[part].Shape) == "vector" {
		return nil, failf(404, "item %q has no image %d", p.ids[i], part)
	}
	at := 0
	for _, q := range ds.Parts[:part] {
		at += q.Width()
	}
	shape := ds.Parts[part].Shape
	values := ds.Rows.(*dataset.Memory).Values[at : at+ds.Parts[part].Width()]
	tone := tones(values)
	var m image.Image
	if len(shape) == 3 {
		m = flat(values, shape, tone)
	} else if axis < 0 || axis > 2 || slice < 0 || slice >= shape[1+axis] {
		return nil, badRequest("axis %d, slice %d: the volume has %v", axis, slice, shape[1:])
	} else {
		m = cut(values, shape, axis, slice, tone)
	}
	var b bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&b, m)
	return b.Bytes(), err
}

// tones returns the gray of a value. Images of 0 to 255 and of 0 to 1 are shown as they are, all
// other values between the first and the last percent of the item's.
func tones(values []float32) func(x float32) uint8 {
	lo, hi := float32(math.Inf(1)), float32(math.Inf(-1))
	for _, x := range values {
		if x == x {
			lo, hi = min(lo, x), max(hi, x)
		}
	}
	switch {
	case lo >= 0 && hi <= 1:
		lo, hi = 0, 1
	case lo >= 0 && hi <= 255 && hi > 1:
		lo, hi = 0, 255
	default:
		lo, hi = percentiles(values)
	}
	return func(x float32) uint8 {
		if !(x > lo) || hi <= lo {
			return 0
		}
		return uint8(min(255, 255*(x-lo)/(hi-lo)+0.5))
	}
}

// percentiles returns the ends of the middle 98 of a hundred values.
func percentiles(values []float32) (lo, hi float32) {
	var sample []float32
	for i, step := 0, max(1, len(values)/20000); i < len(values); i += step {
		if x := values[i]; x == x {
			sample = append(sample, x)
		}
	}
	if len(sample) == 0 {
		return 0, 0
	}
	slices.Sort(sample)
	return sample[len(sample)/100], sample[len(sample)-1-len(sample)/100]
}

// flat draws an image [C,H,W]: three channels are colors, of others the first is shown.
func flat(values []float32, shape []int, tone func(float32) uint8) image.Image {
	h, w := shape[1], shape[2]
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	at := func(c, y, x int) uint8 {
		if shape[0] != 3 {
			c = 0
		}
		return tone(values[(c*h+y)*w+x])
	}
	for y := range h {
		for x := range w {
			m.SetNRGBA(x, y, color.NRGBA{at(0, y, x), at(1, y, x), at(2, y, x), 255})
		}
	}
	return m
}

// cut draws a slice of the first channel of a volume [C,X,Y,Z]. Of the two axes that are left the
// first goes to the right and the second upwards.
func cut(values []float32, shape []int, axis, slice int, tone func(float32) uint8) image.Image {
	n := shape[1:]
	across, up := [3]int{1, 0, 0}[axis], [3]int{2, 2, 1}[axis]
	m := image.NewGray(image.Rect(0, 0, n[across], n[up]))
	var p [3]int
	p[axis] = slice
	for y := range n[up] {
		for x := range n[across] {
			p[across], p[up] = x, y
			m.SetGray(x, n[up]-1-y, color.Gray{Y: tone(values[(p[0]*n[1]+p[1])*n[2]+p[2]])})
		}
	}
	return m
}
