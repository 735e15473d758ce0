// Package mnist finds, fetches, verifies and reads the MNIST handwritten
// digits (LeCun, Bottou, Bengio and Haffner 1998): 60,000 images to train on
// and 10,000 to test on.
//
// [Source.Find] looks in a given folder or in the cache and fetches missing files;
// [Load] reads them. Whatever the source, a file is accepted only if its SHA-256 is
// that of the original.
package mnist

import (
	"context"
	"fmt"
	"math"
	"path/filepath"

	"credence/internal/array"
)

// The size of an image.
const (
	Height = 28
	Width  = 28
	Pixels = Height * Width
)

// Set is a set of images and their digits. It is a [dataset.Rows] of the pixels,
// from 0 to 255.
type Set struct {
	Images []uint8 // [N × Pixels], row by row
	Labels []uint8 // [N] digits, 0 to 9
}

// Len returns the number of images N.
func (s *Set) Len() int { return len(s.Labels) }

// Width returns the number of pixels of an image.
func (s *Set) Width() int { return Pixels }

// ReadRow fills dst with the pixels of image i.
func (s *Set) ReadRow(i int, dst []float32) error {
	if i < 0 || i >= s.Len() || len(dst) != Pixels {
		return fmt.Errorf("image %d of %d, %d numbers for %d pixels", i, s.Len(), len(dst), Pixels)
	}
	for k, v := range s.Image(i) {
		dst[k] = float32(v)
	}
	return nil
}

// Image returns the pixels of image i.
func (s *Set) Image(i int) []uint8 { return s.Images[i*Pixels : (i+1)*Pixels] }

// Head returns the first n images, or all if there are fewer, sharing memory.
func (s *Set) Head(n int) *Set {
	n = min(n, s.Len())
	return &Set{Images: s.Images[:n*Pixels], Labels: s.Labels[:n]}
}

// Mean and deviation of the pixels of the training images, divided by 255.
const (
	mean      = 0.1307
	deviation = 0.3081
)

// Standard fills dst [len(items) × Pixels] with images whose pixels have mean 0
// and variance 1 over the training set.
func (s *Set) Standard(dst []float32, items []int) {
	for j, i := range items {
		row := dst[j*Pixels : (j+1)*Pixels]
		for k, v := range s.Image(i) {
			row[k] = (float32(v)/255 - mean) / deviation
		}
	}
}

// Load reads both sets from a folder with the four files, plain or compressed
// with gzip, after verifying them.
func Load(folder string) (train, test *Set, err error) { return load(folder, originals) }

func load(folder string, files []File) (train, test *Set, err error) {
	paths := make([]string, len(files))
	for i, f := range files {
		if paths[i], err = f.in(folder); err != nil {
			return nil, nil, err
		}
	}
	if train, err = read(paths[0], paths[1]); err != nil {
		return nil, nil, err
	}
	if test, err = read(paths[2], paths[3]); err != nil {
		return nil, nil, err
	}
	return train, test, nil
}

// read reads a file of images and one of labels.
func read(images, labels string) (*Set, error) {
	s := &Set{}
	pixels, shape, err := readBytes(images)
	if err != nil {
		return nil, err
	}
	if len(shape) != 3 || shape[1] != Height || shape[2] != Width {
		return nil, fmt.Errorf("reading %s: an array of shape %v, expected N images of %d by %d", images, shape, Height, Width)
	}
	s.Images = pixels
	if s.Labels, shape, err = readBytes(labels); err != nil {
		return nil, err
	}
	if len(shape) != 1 || len(s.Images) != len(s.Labels)*Pixels {
		return nil, fmt.Errorf("reading %s: an array of shape %v for the %d images of %s", labels, shape, len(s.Images)/Pixels, filepath.Base(images))
	}
	for i, v := range s.Labels {
		if v > 9 {
			return nil, fmt.Errorf("reading %s: label %d is %d, expected 0 to 9", labels, i, v)
		}
	}
	return s, nil
}

// readBytes reads an IDX file of bytes.
func readBytes(path string) ([]uint8, []int, error) {
	a, err := array.OpenIDX(context.Background(), path, array.Options{Memory: math.MaxInt64})
	if err != nil {
		return nil, nil, err
	}
	defer a.Close()
	n, w := a.Len(), a.Width()
	values, row := make([]uint8, n*w), make([]float32, w)
	for i := range n {
		if err := a.ReadRow(i, row); err != nil {
			return nil, nil, err
		}
		for k, v := range row {
			values[i*w+k] = uint8(v)
		}
	}
	return values, a.Shape, nil
}
