package backbone

import (
	"fmt"
	"unsafe"

	"credence/internal/onnxruntime"
)

// Picture is an image of 8 bits per color.
type Picture struct {
	W, H   int
	Pixels []uint8 // [H×W×3] red, green, blue
}

// pixels returns the input of the graph for an image.
func (s *Settings) pixels(p Picture) (onnxruntime.Tensor, error) {
	switch len(s.Resize) {
	case 1:
		// The longer side is rounded down, as by most libraries.
		n := s.Resize[0]
		if p.W <= p.H {
			p = resize(p, n, int(int64(n)*int64(p.H)/int64(p.W)), s.Filter)
		} else {
			p = resize(p, int(int64(n)*int64(p.W)/int64(p.H)), n, s.Filter)
		}
	case 2:
		p = resize(p, s.Resize[1], s.Resize[0], s.Filter)
	}
	h, w := s.size()
	if p.H < h || p.W < w {
		return onnxruntime.Tensor{}, fmt.Errorf("expected an image of at least %d×%d pixels, found %d×%d", w, h, p.W, p.H)
	}
	top, left := (p.H-h)/2, (p.W-w)/2
	var values [3][256]float32 // of each color
	for c := range values {
		for v := range values[c] {
			values[c][v] = float32((float64(v)*s.Scale - s.Mean[c]) / s.SD[c])
		}
	}
	out := make([]float32, 3*h*w)
	for y := range h {
		row := p.Pixels[((top+y)*p.W+left)*3:][:3*w]
		if s.Layout == Layouts[1] {
			for i, v := range row {
				out[y*3*w+i] = values[i%3][v]
			}
			continue
		}
		for c := range 3 {
			to := out[(c*h+y)*w:][:w]
			for x := range to {
				to[x] = values[c][row[3*x+c]]
			}
		}
	}
	shape := []int64{1, 3, int64(h), int64(w)}
	if s.Layout == Layouts[1] {
		shape = []int64{1, int64(h), int64(w), 3}
	}
	return onnxruntime.Tensor{Shape: shape, Data: bytesOf(out)}, nil
}

// MemoryOf returns an upper limit of the bytes for resizing an image of w×h pixels and normalizing it.
func (s *Settings) MemoryOf(w, h int) int64 {
	longest := int64(1)
	for _, n := range s.Resize {
		longest = max(longest, int64(n)*(1+int64(max(w, h))/int64(min(w, h))))
	}
	ch, cw := s.size()
	return 3*int64(w)*int64(h) + 3*longest*int64(max(w, h)) + 3*longest*longest + 12*int64(ch)*int64(cw) + 100*int64(w+h)
}

// bytesOf returns the memory of numbers.
func bytesOf[T float32 | int32 | int64](list []T) []byte {
	var one T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(list))), len(list)*int(unsafe.Sizeof(one)))
}

// floats returns the numbers in bytes, which are a multiple of four.
func floats(b []byte) []float32 {
	out := make([]float32, len(b)/4)
	copy(bytesOf(out), b)
	return out
}
