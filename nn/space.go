package nn

import "fmt"

// Ints is a list of spatial sizes: one number for all dimensions, or one for
// each. In a file a single number may stand without brackets.
type Ints []int

// largest is the largest kernel, stride, padding or window.
const largest = 1 << 16

// each returns three values, for D, H and W: the list's, right-aligned, or its
// single value for each of dims dimensions; missing leading dimensions get 1
// (or 0 for padding), and an empty list means def.
func (v Ints) each(what string, dims, def, missing, least int) (out [3]int, err error) {
	if len(v) > 1 && len(v) != dims {
		return out, fmt.Errorf("%s %v has %d numbers, want 1 or %d", what, []int(v), len(v), dims)
	}
	for i := range out {
		j := i - (3 - dims)
		switch {
		case j < 0:
			out[i] = missing
			continue
		case len(v) == 0:
			out[i] = def
		case len(v) == 1:
			out[i] = v[0]
		default:
			out[i] = v[j]
		}
		if out[i] < least || out[i] > largest {
			return out, fmt.Errorf("%s %v, want between %d and %d", what, []int(v), least, largest)
		}
	}
	return out, nil
}

// space splits a shape into channels and D, H, W, with 1 for those it lacks.
func space(in Shape) (channels, dims int, size [3]int, err error) {
	dims = len(in) - 1
	if dims < 1 || dims > 3 {
		return 0, 0, size, fmt.Errorf("expected channels and 1 to 3 spatial sizes, got %v", in)
	}
	size = [3]int{1, 1, 1}
	copy(size[3-dims:], in[1:])
	return in[0], dims, size, nil
}

// unspace is the inverse of space.
func unspace(channels, dims int, size [3]int) Shape {
	return append(Shape{channels}, size[3-dims:]...)
}
