package dataset

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"credence/internal/atomicfile"
	"credence/internal/budget"
	"credence/internal/fault"
	"credence/internal/volume"
	"credence/internal/words"
)

// VolumeOptions specifies how volumes in NIfTI files become features of one shape.
type VolumeOptions struct {
	// Size is the grid that volumes are resampled to: voxels from left to right,
	// from back to front and from foot to head. Zero means 96×96×80.
	Size [3]int
	// Preparation specifies the processing; zero fields have their defaults.
	Preparation Preparation
	// CacheDir, if set, is a folder in which prepared volumes are stored, so that
	// another run does not prepare them again.
	CacheDir string
}

// Preparation describes how the volumes of a feature are made from files. It is
// stored in a trained model, so that other volumes are prepared in the same way.
//
// A volume is rotated to the canonical orientation (RAS) and resampled to the grid
// by trilinear interpolation, with averaging if the grid is coarser. Its
// intensities are normalized: clipped at two percentiles, then scaled.
type Preparation struct {
	// Fit is "stretch", the default, which scales each axis to the length of the
	// grid, or "proportions", which scales all axes equally and pads the rest.
	Fit string `json:"fit"`
	// Scale is "zscore", the default, for mean 0 and standard deviation 1 of the
	// foreground, the voxels brighter than the mean; "range" for 0 to 1; or "none".
	Scale string `json:"scale"`
	// Low and High are the percentiles; both zero mean 0.5 and 99.5.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Store is the precision of the values, in memory and on disk: "float16", the
	// default, "uint8", with 256 steps from the smallest to the largest value of a
	// volume, or "float32".
	Store string `json:"store"`
}

// complete sets the defaults and returns an error for invalid values.
func (p Preparation) complete() (Preparation, error) {
	p.Fit, p.Store = cmp.Or(p.Fit, string(volume.Stretch)), cmp.Or(p.Store, string(storeFloat16))
	n, err := p.normalization().Complete()
	p.Scale, p.Low, p.High = string(n.Scale), n.Low, n.High
	if p.Fit != string(volume.Stretch) && p.Fit != string(volume.Proportions) {
		return p, fmt.Errorf("expected fit stretch or proportions for volumes, found %q", p.Fit)
	}
	if err != nil {
		return p, fmt.Errorf("volumes: %w", err)
	}
	if storeBytes[store(p.Store)] == 0 {
		return p, fmt.Errorf("expected store float16, uint8 or float32 for volumes, found %q", p.Store)
	}
	return p, nil
}

func (p Preparation) normalization() volume.Normalization {
	return volume.Normalization{Scale: volume.Scale(p.Scale), Low: p.Low, High: p.High}
}

// volumeFeature returns the feature of volumes, from the schema or else from the options.
func volumeFeature(opts *FeatureOptions) (Feature, error) {
	if i := featureNamed(opts.Schema, opts.ImageColumn); i >= 0 && opts.Schema[i].Volume != nil {
		return opts.Schema[i], nil
	}
	size := opts.Volume.Size
	if size == ([3]int{}) {
		size = [3]int{96, 96, 80}
	}
	prep, err := opts.Volume.Preparation.complete()
	if err != nil {
		return Feature{}, err
	}
	feature := Feature{Name: opts.ImageColumn, Kind: Tensor, Shape: []int{1, size[0], size[1], size[2]}, Volume: &prep}
	return feature, checkFeatures([]Feature{feature})
}

// checkVolume returns an error if the feature is of volumes and not one that a reader makes.
func (p *Feature) checkVolume() error {
	if p.Volume == nil {
		return nil
	}
	if p.Kind != Tensor || len(p.Shape) != 4 || p.Shape[0] != 1 {
		return fmt.Errorf("feature %q: expected volumes of shape [1,X,Y,Z], found %v", p.Name, p.Shape)
	}
	if c, err := p.Volume.complete(); err != nil || c != *p.Volume {
		return errors.Join(fmt.Errorf("feature %q: invalid preparation of volumes %+v", p.Name, *p.Volume), err)
	}
	for _, n := range p.Shape {
		if n > math.MaxInt16 {
			return fmt.Errorf("feature %q: grid %s is too large", p.Name, words.Shape(p.Shape))
		}
	}
	return nil
}

// sameVolumes returns an error if volumes are not prepared as those of training were.
func sameVolumes(trained, here Feature) error {
	switch a, b := trained.Volume, here.Volume; {
	case a == nil && b == nil, a != nil && b != nil && *a == *b:
		return nil
	case a == nil:
		return fmt.Errorf("feature %q: expected arrays as in training, found %s files", trained.Name, volumeNames())
	case b == nil:
		return fmt.Errorf("feature %q: expected %s files as in training, found other data", trained.Name, volumeNames())
	default:
		return fmt.Errorf("feature %q: expected preparation %+v as in training, found %+v", trained.Name, *a, *b)
	}
}

// prepareVolume reads the volume at path and fills dst, of shape [1,X,Y,Z] with
// z fastest, the layout of nibabel's arrays. The bytes it uses are taken from
// the shared memory.
func prepareVolume(ctx context.Context, path string, feature *Feature, memory *budget.Shared, dst []float32) error {
	format := volumeReader(path)
	h, err := format.Header(path)
	if err != nil {
		return err
	}
	prep := feature.Volume
	x, y, z := feature.Shape[1], feature.Shape[2], feature.Shape[3]
	giveBack, err := memory.Take(h.Memory([3]int{x, y, z}), path, "a volume of %s voxels", volume.Dims(h.Dim))
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

// checkContrast returns an error for a volume without content: one without a finite voxel,
// or with the same value in all voxels. Some voxels that are not finite are common: they
// mark the outside of a mask.
func checkContrast(path string, voxels []float32) error {
	first := slices.IndexFunc(voxels, func(x float32) bool { return x-x == 0 })
	if first < 0 {
		return fault.Malformed(path, "the volume is blank: none of its %s voxels is a finite number", words.Thousands(len(voxels)))
	}
	value := voxels[first]
	if len(voxels) > 1 && !slices.ContainsFunc(voxels[first:], func(x float32) bool { return x-x == 0 && x != value }) {
		return fault.Malformed(path, "the volume is blank: all of its voxels are %v", value)
	}
	return nil
}

// volumeCache stores prepared volumes in a folder, one file each, named after a
// hash of everything it depends on:
//
//	16 bytes  magic
//	32 bytes  the hash
//	 4 bytes  CRC-32C of what follows
//	          the values, as [store] writes them
//
// A file that is not exactly of this form is replaced.
type volumeCache struct {
	dir     string
	feature *Feature
	keys    sync.Map // path of a file → its fileKey
}

const (
	volumeMagic  = "credence volume\n"
	volumeHeader = len(volumeMagic) + sha256.Size + 4
)

// volumeVersion changes when the same file and preparation give other values, or an error.
const volumeVersion = 3

// volumeKey is everything a prepared volume depends on.
type volumeKey struct {
	Version     int
	Files       [][]byte // SHA-256 of each
	Shape       []int
	Preparation Preparation
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func newVolumeCache(dir string, feature *Feature) (*volumeCache, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("creating a folder for prepared volumes: %w", err)
	}
	_ = atomicfile.Clean(dir, "volume-*.bin") // leftover files only waste space
	return &volumeCache{dir: dir, feature: feature}, nil
}

// key returns the hash of the volume at path.
func (c *volumeCache) key(ctx context.Context, path string) (sum [sha256.Size]byte, err error) {
	files, err := volumeReader(path).Files(path)
	if err != nil {
		return sum, err
	}
	k := volumeKey{Version: volumeVersion, Shape: c.feature.Shape, Preparation: *c.feature.Volume}
	for _, f := range files {
		key, err := c.fileKey(ctx, f)
		if err != nil {
			return sum, err
		}
		k.Files = append(k.Files, key.sum[:])
	}
	return hashKey(k)
}

// fileKey returns the key of a file. It is computed again only if the size or time of the
// file changes, because a volume is read in every epoch.
func (c *volumeCache) fileKey(ctx context.Context, path string) (fileKey, error) {
	if k, ok := c.keys.Load(path); ok {
		if k := k.(fileKey); k.unchanged() {
			return k, nil
		}
	}
	k, err := newFileKey(ctx, path)
	if err == nil {
		c.keys.Store(path, k)
	}
	return k, err
}

// read fills b with the prepared volume at path, from the cache if it is there,
// else by prepare, whose result is stored.
func (c *volumeCache) read(ctx context.Context, path string, b []byte, prepare func() error) error {
	sum, err := c.key(ctx, path)
	if err != nil {
		return err
	}
	name := filepath.Join(c.dir, fmt.Sprintf("volume-%x.bin", sum))
	if c.load(name, sum, b) {
		return nil
	}
	if err := prepare(); err != nil {
		return err
	}
	if again, err := c.key(ctx, path); err != nil || again != sum {
		return errors.Join(changedError(path), err)
	}
	err = atomicfile.Write(name, func(w io.Writer) error {
		_, err1 := w.Write(seal(volumeMagic, sum, crc32.Checksum(b, castagnoli)))
		_, err2 := w.Write(b)
		return errors.Join(err1, err2)
	})
	if err != nil {
		return fmt.Errorf("storing a prepared volume: %w", err)
	}
	return nil
}

// load fills b from a file of the cache and reports whether the file is complete and valid.
func (c *volumeCache) load(name string, sum [sha256.Size]byte, b []byte) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() != int64(volumeHeader+len(b)) {
		return false
	}
	var head [volumeHeader]byte
	_, err1 := io.ReadFull(f, head[:])
	_, err2 := io.ReadFull(f, b)
	return err1 == nil && err2 == nil && bytes.Equal(head[:], seal(volumeMagic, sum, crc32.Checksum(b, castagnoli)))
}
