package backbone

import (
	"fmt"
	"slices"

	"credence/internal/onnxruntime"
)

// pool makes one vector of an output. positions is the number of positions that count, 0 for all.
func (s *Settings) pool(t onnxruntime.Tensor, positions int) ([]float32, error) {
	x := floats(t.Data)
	shape := t.Shape
	bad := func() error {
		return fmt.Errorf("output %q, pooling %s: expected shape [1, n], [1, positions, n] or [1, n, height, width], found %v", s.Output, s.Pool, shape)
	}
	if len(shape) < 2 || shape[0] != 1 {
		return nil, bad()
	}
	if s.Pool == None {
		return x, nil
	}
	// Position p of channel c is at p·step + c·stride.
	var n, channels, step, stride int
	switch {
	case len(shape) == 3:
		n, channels = int(shape[1]), int(shape[2])
		step, stride = channels, 1
	case len(shape) == 4 && s.Layout == Layouts[1]:
		n, channels = int(shape[1]*shape[2]), int(shape[3])
		step, stride = channels, 1
	case len(shape) == 4:
		n, channels = int(shape[2]*shape[3]), int(shape[1])
		step, stride = 1, n
	default:
		return nil, bad()
	}
	if positions > 0 {
		n = min(n, positions)
	}
	out := make([]float32, channels)
	for c := range out {
		switch s.Pool {
		case First:
			out[c] = x[c*stride]
		case Max:
			out[c] = x[c*stride]
			for p := range n {
				out[c] = max(out[c], x[c*stride+p*step])
			}
		case Mean:
			sum := 0.0
			for p := range n {
				sum += float64(x[c*stride+p*step])
			}
			out[c] = float32(sum / float64(n))
		}
	}
	return out, nil
}

// finite reports whether all numbers are finite.
func finite(x []float32) bool {
	return !slices.ContainsFunc(x, func(v float32) bool { return v-v != 0 })
}
