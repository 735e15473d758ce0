package dataset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"credence/internal/budget"
	"credence/internal/fault"
	"credence/internal/volume"
	"credence/internal/words"
)

// VolumeOptions says how volumes in NIfTI files become features of one shape.
type VolumeOptions struct {
	// Size is the grid that volumes are resampled to: voxels from left to right,
	// from back to front and from foot to head. Zero means 96×96×80.
	Size [3]int
	// Preparation says how; fields left zero have their defaults.
	Preparation Preparation
	// CacheDir, if set, is a folder in which prepared volumes are kept, so that
	// another run need not prepare them again.
	CacheDir string
}

// Preparation is how the volumes of a part were made from files. It is kept
// with a trained model, so that other volumes are prepared alike.
//
// A volume is turned to the canonical orientation (RAS), resampled to the grid
// by trilinear interpolation, averaged where the grid is coarser, and its
// intensities are normalized: cut off at two percentiles, then scaled.
type Preparation struct {
	// Fit is "stretch", the default, which brings each axis to the length of the
	// grid's, or "proportions", which scales all alike and fills the rest.
	Fit string `json:"fit"`
	// Scale is "zscore", the default, for mean 0 and standard deviation 1 of the
	// foreground, what is brighter than the mean; "range" for 0 to 1; or "none".
	Scale string `json:"scale"`
	// Low and High are the percentiles; both zero mean 0.5 and 99.5.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Store is the precision that values are rounded to, and kept in, in memory
	// and on disk: "float16", the default, "uint8", which has 256 steps from the
	// smallest to the largest value of a volume, or "float32".
	Store string `json:"store"`
}

// complete fills in the defaults and refuses what cannot be.
func (p Preparation) complete() (Preparation, error) {
	p.Fit, p.Store = cmp.Or(p.Fit, string(volume.Stretch)), cmp.Or(p.Store, string(storeFloat16))
	n, err := p.normalization().Complete()
	p.Scale, p.Low, p.High = string(n.Scale), n.Low, n.High
	if p.Fit != string(volume.Stretch) && p.Fit != string(volume.Proportions) {
		return p, fmt.Errorf("fit %q of volumes is not one of [stretch proportions]", p.Fit)
	}
	if err != nil {
		return p, fmt.Errorf("volumes: %w", err)
	}
	if store(p.Store).bytes() == 0 {
		return p, fmt.Errorf("store %q of volumes is not one of [float16 uint8 float32]", p.Store)
	}
	return p, nil
}

func (p Preparation) normalization() volume.Normalization {
	return volume.Normalization{Scale: volume.Scale(p.Scale), Low: p.Low, High: p.High}
}

// volumePart returns the part of volumes: what the schema says, or the options.
func volumePart(opts *FeatureOptions) (Part, error) {
	for _, p := range opts.Schema {
		if p.Name == opts.ImageColumn && p.Volume != nil {
			return p, nil
		}
	}
	size := opts.Volume.Size
	if size == ([3]int{}) {
		size = [3]int{96, 96, 80}
	}
	prep, err := opts.Volume.Preparation.complete()
	if err != nil {
		return Part{}, err
	}
	part := Part{Name: opts.ImageColumn, Kind: Tensor, Shape: []int{1, size[0], size[1], size[2]}, Volume: &prep}
	return part, checkParts([]Part{part})
}

// checkVolume refuses a part of volumes that no reader makes.
func (p *Part) checkVolume() error {
	if p.Volume == nil {
		return nil
	}
	if p.Kind != Tensor || len(p.Shape) != 4 || p.Shape[0] != 1 {
		return fmt.Errorf("feature %q: volumes of shape %v are not [1,X,Y,Z]", p.Name, p.Shape)
	}
	if c, err := p.Volume.complete(); err != nil || c != *p.Volume {
		return errors.Join(fmt.Errorf("feature %q: volumes prepared by %+v", p.Name, *p.Volume), err)
	}
	for _, n := range p.Shape {
		if n > math.MaxInt16 {
			return fmt.Errorf("feature %q: a grid of %s", p.Name, words.Shape(p.Shape))
		}
	}
	return nil
}

// sameVolumes refuses volumes that are not prepared as those of training were.
func sameVolumes(trained, here Part) error {
	switch a, b := trained.Volume, here.Volume; {
	case a == nil && b == nil, a != nil && b != nil && *a == *b:
		return nil
	case a == nil:
		return fmt.Errorf("feature %q is read from %s files here, but the model was trained with arrays", trained.Name, volumeNames())
	case b == nil:
		return fmt.Errorf("feature %q is not read from %s files here, but the model was trained with it so", trained.Name, volumeNames())
	default:
		return fmt.Errorf("feature %q is prepared as %+v here, but the model was trained with %+v", trained.Name, *b, *a)
	}
}

// prepareVolume reads the volume at path and fills dst, of the part's shape
// [1,X,Y,Z], z fastest, as an array of nibabel's is laid out. Memory comes out of
// the pool.
func prepareVolume(ctx context.Context, path string, part *Part, pool *budget.Pool, dst []float32) error {
	format := volumeReader(path)
	h, err := format.Header(path)
	if err != nil {
		return err
	}
	prep := part.Volume
	x, y, z := part.Shape[1], part.Shape[2], part.Shape[3]
	giveBack, err := pool.Take(h.Memory([3]int{x, y, z}), path, "a volume of %s voxels", volume.Dims(h.Dim))
	if err != nil {
		return err
	}
	defer giveBack()
	v, err := format.Read(ctx, path)
	if err != nil {
		return err
	}
	if err := checkContrast(path, v.Data); err != nil {
		return err
	}
	if v, err = volume.Resample(v, [3]int{x, y, z}, volume.Fit(prep.Fit)); err != nil {
		return fault.Malformed(path, "%v", err)
	}
	if err := volume.Normalize(v.Data, prep.normalization()); err != nil {
		return fault.Malformed(path, "%v", err)
	}
	for k := range z {
		plane := v.Data[k*x*y : (k+1)*x*y]
		for j := range y {
			for i, value := range plane[j*x : (j+1)*x] {
				dst[(i*y+j)*z+k] = value
			}
		}
	}
	return nil
}

// checkContrast refuses a volume that shows nothing: one without a finite voxel, or
// with the same value throughout. Some voxels that are not finite are usual: they stand
// for what lies outside of a mask.
func checkContrast(path string, voxels []float32) error {
	first, found := float32(0), false
	for _, x := range voxels {
		switch {
		case x-x != 0:
		case !found:
			first, found = x, true
		case x != first:
			return nil
		}
	}
	switch {
	case !found:
		return fault.Malformed(path, "the volume shows nothing: none of its %s voxels is a finite number", words.Thousands(len(voxels)))
	case len(voxels) == 1:
		return nil
	}
	return fault.Malformed(path, "the volume shows nothing: its voxels are all %v", first)
}
