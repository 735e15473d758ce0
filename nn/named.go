package nn

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Names are the networks that [ByName] knows.
var Names = slices.Sorted(maps.Keys(byName))

var byName = map[string]struct {
	dims   int   // spatial sizes of an item; 0 means any shape
	widths []int // the default; nil for a network with fixed widths
	layers func(in Shape, out int, widths []int) Layer
}{
	"mlp":    {0, []int{64, 64}, mlp},
	"lenet5": {2, nil, lenet5},
	"cnn2d":  {2, []int{16, 32, 64}, cnn2d},
	"cnn3d":  {3, nil, cnn3d},
	"resnet": {2, []int{16, 32, 64}, resnet},
}

// ByName returns a network for items of shape in with out outputs.
//
//	mlp     dense layers of the given widths (none means 64, 64), each with ReLU
//	lenet5  LeCun et al. 1998 with ReLU and max-pools, on 2-D images
//	cnn2d   on 2-D images: stages of the given widths (none means 16, 32, 64),
//	        each conv 3², ReLU, max-pool 2 where there are two pixels to pool,
//	        and batch norm; then the mean of each channel
//	cnn3d   Wu et al. 2019: conv 5³ 16, pool 5, conv 3³ 32, pool 2, on volumes
//	resnet  a small residual network (He et al. 2015), on 2-D images: stages of
//	        the given widths (none means 16, 32, 64), one block each
func ByName(name string, in Shape, out int, widths ...int) (Layer, error) {
	if out < 1 {
		return nil, fmt.Errorf("network %s: %d outputs: expected at least 1", name, out)
	}
	for _, w := range widths {
		if w < 1 {
			return nil, fmt.Errorf("network %s: width %d: expected at least 1", name, w)
		}
	}
	n, known := byName[name]
	switch {
	case !known:
		return nil, fmt.Errorf("network %q is not one of [%s]", name, strings.Join(Names, " "))
	case n.dims > 0 && len(in) != n.dims+1:
		return nil, fmt.Errorf("network %s: expected channels and %d spatial sizes, found %v", name, n.dims, in)
	case len(widths) > 0 && n.widths == nil:
		return nil, fmt.Errorf("network %s has no widths to choose", name)
	}
	if len(widths) == 0 {
		widths = n.widths
	}
	return n.layers(in, out, widths), nil
}

func lenet5(_ Shape, out int, _ []int) Layer {
	return Seq(
		&Conv{Out: 6, Kernel: Ints{5}, Pad: Ints{2}}, &ReLU{}, &MaxPool{Size: Ints{2}},
		&Conv{Out: 16, Kernel: Ints{5}}, &ReLU{}, &MaxPool{Size: Ints{2}}, &Flatten{},
		&Dense{Out: 120}, &ReLU{}, &Dense{Out: 84}, &ReLU{}, &Dense{Out: out})
}

func cnn3d(_ Shape, out int, _ []int) Layer {
	return Seq(
		&Conv{Out: 16, Kernel: Ints{5}}, &ReLU{}, &MaxPool{Size: Ints{5}},
		&Conv{Out: 32, Kernel: Ints{3}}, &ReLU{}, &MaxPool{Size: Ints{2}}, &Flatten{},
		&Dense{Out: out})
}

func mlp(in Shape, out int, widths []int) Layer {
	var l []Layer
	if len(in) > 1 {
		l = append(l, &Flatten{})
	}
	for _, w := range widths {
		l = append(l, &Dense{Out: w}, &ReLU{})
	}
	return Seq(append(l, &Dense{Out: out})...)
}

// cnn2d pools before it normalizes: a convolution, ReLU and pool in a row are
// fused, and the norm has only a quarter of the values to process. The mean over
// positions at the end, in place of a dense layer over all of them, keeps it from
// memorizing a few hundred images.
func cnn2d(in Shape, out int, widths []int) Layer {
	var l []Layer
	h, w := in[1], in[2]
	for _, width := range widths {
		l = append(l, &Conv{Out: width, Kernel: Ints{3}, Pad: Ints{1}}, &ReLU{})
		if h > 1 || w > 1 {
			window := Ints{min(h, 2), min(w, 2)}
			l = append(l, &MaxPool{Size: window})
			h, w = h/window[0], w/window[1]
		}
		l = append(l, &BatchNorm{})
	}
	return Seq(append(l, &GlobalPool{}, &Dense{Out: out})...)
}

func resnet(_ Shape, out int, widths []int) Layer {
	l := []Layer{convNorm(widths[0], 3, 1), &ReLU{}}
	for i, w := range widths {
		stride := 2
		if i == 0 {
			stride = 1
		}
		block := &Residual{Body: Seq(convNorm(w, 3, stride), &ReLU{}, convNorm(w, 3, 1))}
		if stride > 1 || i > 0 && w != widths[i-1] {
			block.Shortcut = convNorm(w, 1, stride)
		}
		l = append(l, block, &ReLU{})
	}
	return Seq(append(l, &GlobalPool{}, &Dense{Out: out})...)
}

// convNorm is a convolution that keeps the size up to its stride, and a batch
// norm, which makes a bias redundant.
func convNorm(out, kernel, stride int) Layer {
	return Seq(&Conv{Out: out, Kernel: Ints{kernel}, Stride: Ints{stride}, Pad: Ints{kernel / 2}, NoBias: true}, &BatchNorm{})
}
