package dataset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"credence/internal/backbone"
	"credence/internal/budget"
	"credence/internal/fault"
	"credence/internal/words"

	"golang.org/x/image/draw"
)

// ImageOptions specifies how images become features of one shape.
type ImageOptions struct {
	// Height and Width are the size that images are scaled to, regardless of
	// their proportions. 0 means the size of the first image.
	Height, Width int
	// Gray selects one channel of brightness; otherwise there are three, red,
	// green and blue, unless the first image is gray.
	Gray bool
	// Color selects three channels even if the first image is gray.
	Color bool
}

// The names of the features of a folder of images and of a folder of volumes.
const (
	imageFeature   = "image"
	volumesFeature = "volume"
)

// maxPixels limits the size of an image, which is checked before it is decoded.
const maxPixels = 1 << 28

// readImageFolder reads every PNG and JPEG file in a folder and its subfolders, or
// every volume, as an item, in alphabetical order; its id is the path within the
// folder. Of a header and voxel pair of files, the header is the item. The folder
// may also be a single volume.
func readImageFolder(ctx context.Context, dir string, opts *reading) (*features, error) {
	if opts.GroupColumn != "" || opts.SplitColumn != "" || opts.WeightColumn != "" {
		return nil, advise(&ParseError{File: dir, Msg: "a folder has no columns for groups, splits or weights: list the images in a table"}, "", SetImages)
	}
	f := &features{files: true}
	var paths []string
	var image, volume string // the first of each
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch {
		case d.IsDir() || isVoxels(path) && path != dir:
			return nil
		case isImage(path):
			image = cmp.Or(image, path)
		case volumeFormat(path) != nil:
			volume = cmp.Or(volume, path)
		default:
			return nil
		}
		rel := filepath.Base(path)
		if path != dir {
			rel, err = filepath.Rel(dir, path)
		}
		f.Items = append(f.Items, filepath.ToSlash(rel))
		paths = append(paths, path)
		return err
	})
	if err != nil {
		return nil, fault.Of(dir, err)
	}
	if len(paths) == 0 {
		return nil, &ParseError{File: dir, Msg: fmt.Sprintf("no Parquet files, no %s images and no %s volumes in this folder", imageFormats, volumeNames())}
	}
	if image != "" && volume != "" {
		return nil, &ParseError{File: dir, Msg: fmt.Sprintf("both images (%s) and volumes (%s) in this folder: expected one kind", filepath.Base(image), filepath.Base(volume))}
	}
	o := *opts
	o.ImageColumn = imageFeature
	if len(opts.Schema) == 1 && opts.Schema[0].Kind == Tensor {
		o.ImageColumn = opts.Schema[0].Name
	} else if volume != "" {
		o.ImageColumn = volumesFeature
	}
	return f, f.readImages(ctx, paths, &o)
}

// addImages reads the images or volumes that a column of a table names.
func (f *features) addImages(ctx context.Context, table string, paths []string, opts *reading) error {
	full := make([]string, len(paths))
	var gone []string // reported before images are decoded, which may take hours
	for i, p := range paths {
		if p == "" {
			return &ParseError{File: table, Msg: fmt.Sprintf("item %q has no image in column %q", f.Items[i], opts.ImageColumn)}
		}
		var err error
		if full[i], err = opts.imagePath(folderOf(table), p); err != nil {
			return &ParseError{File: table, Msg: fmt.Sprintf("item %q, column %q: %v", f.Items[i], opts.ImageColumn, err), Err: err}
		}
		if _, err := os.Stat(full[i]); errors.Is(err, fs.ErrNotExist) {
			gone = append(gone, fmt.Sprintf("%s (item %q)", full[i], f.Items[i]))
		}
	}
	if len(gone) > 0 {
		return &ParseError{File: table, Msg: fmt.Sprintf("column %q contains paths of missing files: %s", opts.ImageColumn, words.Few(gone))}
	}
	return f.readImages(ctx, full, opts)
}

// ErrOutside is the cause if a table names an image outside of its folder;
// see [FeatureOptions].AnyPath.
var ErrOutside = errors.New("the path leads out of the folder of the table")

// imagePath returns the path of the image that a table in the given folder names p.
func (o *FeatureOptions) imagePath(folder, p string) (string, error) {
	p = filepath.FromSlash(p)
	switch {
	case !o.AnyPath && !filepath.IsLocal(p):
		return "", fmt.Errorf("%q: %w", p, ErrOutside)
	case filepath.IsAbs(p):
		return p, nil
	}
	return filepath.Join(folder, p), nil
}

// readImages adds a feature named opts.ImageColumn with the images or volumes
// at paths; the first path determines which of the two.
func (f *features) readImages(ctx context.Context, paths []string, opts *reading) error {
	read := f.images
	if volumeFormat(paths[0]) != nil {
		read = f.volumes
	}
	feature, rows, err := read(ctx, paths, opts)
	if err != nil {
		return err
	}
	f.Features = append(f.Features, feature)
	f.Columns = append(f.Columns, ColumnInfo{Name: feature.Name, role: roleFeature, Feature: feature})
	f.Rows = sideBySide(f.Rows, rows)
	return nil
}

// volumes returns the feature of the volumes at paths, and their rows.
func (f *features) volumes(ctx context.Context, paths []string, opts *reading) (Feature, Rows, error) {
	feature, err := volumeFeature(&opts.FeatureOptions)
	if err != nil {
		return feature, nil, err
	}
	rows, err := newVolumeRows(ctx, paths, feature, opts)
	if err != nil {
		return feature, nil, err
	}
	if len(rows.unoriented) > 0 {
		f.warn("%s without an orientation, assumed to run from right to left as in Analyze files: %s",
			words.Plural(len(rows.unoriented), "volume"), words.Few(rows.unoriented))
	}
	return feature, rows, nil
}

// images returns the feature of the images at paths, and their rows.
func (f *features) images(ctx context.Context, paths []string, opts *reading) (Feature, Rows, error) {
	b, err := opts.use(ctx, opts.ImageColumn, backbone.Images)
	if err != nil {
		return Feature{}, nil, err
	}
	if b != nil {
		return f.embedImages(ctx, paths, opts, b)
	}
	shape, err := imageShape(paths[0], opts)
	if err != nil {
		return Feature{}, nil, err
	}
	feature := Feature{Name: opts.ImageColumn, Kind: Tensor, Shape: shape}
	if err := checkFeatures([]Feature{feature}); err != nil {
		return feature, nil, err
	}
	if opts.lazy {
		read := func(i int, dst []float32) error { return decodeImage(paths[i], shape, opts.decoding, dst) }
		return feature, rowsBy{len(paths), feature.Width(), read}, nil
	}
	sink, err := newSink(ctx, len(paths), []Feature{feature}, paths, opts)
	if err != nil {
		return feature, nil, err
	}
	rows, err := decodeImages(ctx, paths, shape, opts, sink)
	if err != nil {
		return feature, nil, errors.Join(err, sink.Close())
	}
	f.closers = append(f.closers, sink)
	return feature, rows, nil
}

// imageShape returns the shape [C,H,W] from the schema, the options or the first image.
func imageShape(first string, opts *reading) ([]int, error) {
	i := featureNamed(opts.Schema, opts.ImageColumn)
	if i >= 0 && opts.Schema[i].Kind == Tensor && len(opts.Schema[i].Shape) == 3 {
		return opts.Schema[i].Shape, nil
	}
	file, err := fault.OpenFile(first)
	if err != nil {
		return nil, fault.Of(first, err)
	}
	defer file.Close()
	c, err := imageConfig(first, file)
	if err != nil {
		return nil, err
	}
	channels := 3
	if opts.Image.Gray || !opts.Image.Color && (c.ColorModel == color.GrayModel || c.ColorModel == color.Gray16Model) {
		channels = 1
	}
	return []int{channels, cmp.Or(opts.Image.Height, c.Height), cmp.Or(opts.Image.Width, c.Width)}, nil
}

// imageConfig reads the size of an image and returns an error if it is too large.
func imageConfig(path string, r io.Reader) (image.Config, error) {
	c, _, err := image.DecodeConfig(r)
	if err != nil {
		return c, fault.Malformed(path, "this is not a %s image: %v", imageFormats, err)
	}
	if c.Width < 1 || c.Height < 1 || c.Width > maxPixels/c.Height {
		return c, fault.Malformed(path, "expected an image of at most %s pixels, found %d×%d", words.Thousands(maxPixels), c.Width, c.Height)
	}
	return c, nil
}

// imageMemory returns an upper limit of the bytes for decoding an image and scaling it to h×w.
func imageMemory(c image.Config, h, w int) int64 {
	// The pixels, and those of one pass of an interlaced PNG file or the coefficients of
	// a progressive JPEG file.
	each := int64(16)
	switch c.ColorModel {
	case color.GrayModel:
		each = 6
	case color.Gray16Model:
		each = 4
	case color.RGBAModel, color.NRGBAModel:
		each = 8
	case color.CMYKModel:
		each = 24
	}
	need := each * int64(c.Width) * int64(c.Height)
	if c.Width != w || c.Height != h {
		// Weights of four pixels for each pixel along the axes, rows scaled along one
		// axis, and the result.
		need += 128*int64(c.Width+c.Height) + 64*int64(w+h) + 32*int64(w)*int64(c.Height) + 8*int64(w)*int64(h)
	}
	return need
}

// decodeImages decodes on all cores, a block of images at a time, unless they are in a cache.
func decodeImages(ctx context.Context, paths []string, shape []int, opts *reading, to *sink) (Rows, error) {
	w := shape[0] * shape[1] * shape[2]
	block := max(1, min(64, int(budget.Of(opts.Memory)/8)/w))
	rows := make([]float32, min(block, len(paths))*w)
	for start := 0; start < len(paths) && to.array == nil; start += block {
		n := min(block, len(paths)-start)
		err := onAllCores(ctx, n, func(i int) error {
			return decodeImage(paths[start+i], shape, opts.decoding, rows[i*w:(i+1)*w])
		})
		if err == nil {
			err = to.add(rows[:n*w])
		}
		if err != nil {
			return nil, err
		}
	}
	return to.finish()
}

func decodeImage(path string, shape []int, memory *budget.Shared, dst []float32) error {
	f, err := fault.OpenFile(path)
	if err != nil {
		return fault.Of(path, err)
	}
	defer f.Close()
	return decodeImageFrom(path, f, shape, memory, dst)
}

// decodeImageFrom fills dst, of shape [C,H,W], with values from 0 to 255;
// images of 16 bits keep their finer steps. The bytes it uses are taken from the shared memory.
func decodeImageFrom(path string, f io.ReadSeeker, shape []int, memory *budget.Shared, dst []float32) error {
	img, giveBack, err := decodeLimited(path, f, memory, func(c image.Config) int64 { return imageMemory(c, shape[1], shape[2]) })
	if err != nil {
		return err
	}
	defer giveBack()
	h, w := shape[1], shape[2]
	var at func(x, y int) color.Color
	if b := img.Bounds(); b.Dx() == w && b.Dy() == h {
		at = func(x, y int) color.Color { return img.At(b.Min.X+x, b.Min.Y+y) }
	} else {
		small := image.NewNRGBA64(image.Rect(0, 0, w, h))
		draw.CatmullRom.Scale(small, small.Bounds(), img, b, draw.Src, nil)
		at = small.At
	}
	n := h * w
	for y := range h {
		for x := range w {
			c, p := at(x, y), y*w+x
			if shape[0] == 1 {
				dst[p] = float32(color.Gray16Model.Convert(c).(color.Gray16).Y) / 257
				continue
			}
			r, g, b, _ := c.RGBA()
			dst[p], dst[n+p], dst[2*n+p] = float32(r)/257, float32(g)/257, float32(b)/257
		}
	}
	return nil
}

// decodeLimited decodes an image within the shared memory, of which it takes as many bytes as need returns. The caller
// gives them back.
func decodeLimited(path string, f io.ReadSeeker, memory *budget.Shared, need func(image.Config) int64) (img image.Image, giveBack func(), err error) {
	c, err := imageConfig(path, f)
	if err != nil {
		return nil, nil, err
	}
	if giveBack, err = memory.Take(need(c), path, "an image of %d×%d pixels", c.Width, c.Height); err != nil {
		return nil, nil, err
	}
	if _, err = f.Seek(0, io.SeekStart); err != nil {
		err = fault.Of(path, err)
	} else if img, _, err = image.Decode(f); err != nil {
		err = fault.Malformed(path, "the image is damaged: %v", err)
	}
	if err != nil {
		giveBack()
		return nil, nil, err
	}
	return img, giveBack, nil
}
