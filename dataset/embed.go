package dataset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"io"
	"math"
	"reflect"
	"sync"

	"credence/internal/backbone"
	"credence/internal/budget"
	"credence/internal/fault"
	"credence/internal/onnxruntime"
)

// ServeBackbone does the work of a process that [BackboneOptions].Worker names: it runs a graph on what it reads from r, and
// writes the results to w.
func ServeBackbone(r io.Reader, w io.Writer) error { return onnxruntime.Serve(r, w) }

// Causes of errors of backbones.
var (
	ErrBackboneBuild = onnxruntime.ErrBuild     // this build cannot run any
	ErrNoRuntime     = onnxruntime.ErrNoLibrary // the library is not found
	ErrExternalData  = onnxruntime.ErrExternal  // the weights are in another file
	ErrOtherBackbone = backbone.ErrOther        // the model was trained with another
)

// RuntimeEnv is the environment variable with the path of the library of ONNX Runtime.
const RuntimeEnv = onnxruntime.LibraryEnv

// Backbone is a backbone that several readers use, one after another or at the same time. It starts when it is needed.
type Backbone struct {
	opts   BackboneOptions
	memory int64
	shared bool                   // by several readers
	dir    func() (string, error) // of the cache; nil for none
	mu     sync.Mutex
	b      *backbone.Backbone
	of     *Embedding // of b
}

// NewBackbone returns a backbone for [BackboneOptions].Shared. It keeps no vectors. memory bounds the bytes that it may take;
// 0 means 2 GB.
func NewBackbone(o BackboneOptions, memory int64) *Backbone {
	return &Backbone{opts: o, memory: memory, shared: true}
}

// backbone returns the backbone of the options for one reader, or the shared one.
func (o *FeatureOptions) backbone() *Backbone {
	if o.Backbone.Shared != nil {
		return o.Backbone.Shared
	}
	return &Backbone{opts: o.Backbone, memory: o.Memory, dir: o.cacheDir}
}

// Open starts the backbone for the texts of a model with the given features, if it has any, so that what is missing is found
// before the first of them.
func (k *Backbone) Open(ctx context.Context, schema []Feature) error {
	for i := range schema {
		if p := &schema[i]; p.Kind == Text && p.Embedding != nil {
			if _, err := k.open(ctx, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// release closes the backbone of one reader, and leaves a shared one open.
func (k *Backbone) release() error {
	if k.shared {
		return nil
	}
	return k.Close()
}

// Close ends the process that runs the graph, if there is one.
func (k *Backbone) Close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.b == nil {
		return nil
	}
	b := k.b
	k.b, k.of = nil, nil
	return b.Close()
}

// open returns the backbone that makes a feature of a trained model or, without one, the backbone of the options.
func (k *Backbone) open(ctx context.Context, p *Feature) (*backbone.Backbone, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.b != nil && (p == nil || reflect.DeepEqual(k.of, p.Embedding)) {
		return k.b, nil
	}
	if p != nil && k.opts.Path == "" {
		return nil, errNoBackbone(p)
	}
	o := backbone.Options{Path: k.opts.Path, Library: k.opts.Library, Worker: k.opts.Worker, Memory: k.memory}
	var err error
	if k.dir != nil {
		if o.Cache, err = k.dir(); err != nil {
			return nil, err
		}
	}
	if p != nil {
		o.Settings = backbone.Settings(*p.Embedding)
	} else if o.Settings, err = k.opts.settings(); err != nil {
		return nil, err
	}
	b, err := backbone.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	if k.b != nil {
		err = k.b.Close() // that of another feature
	}
	k.b, k.of = b, nil
	if p != nil {
		k.of = p.Embedding
	}
	return b, err
}

// use returns the backbone for a kind of items, or nil if they are not embedded: that of the feature with a name in the schema or,
// without a schema, that of the options.
func (o *reading) use(ctx context.Context, name, items string) (*backbone.Backbone, error) {
	var p *Feature
	if i := featureNamed(o.Schema, name); i >= 0 && o.Schema[i].Embedding != nil && o.Schema[i].Embedding.Items == items {
		p = &o.Schema[i]
	}
	if p == nil && (o.Schema != nil || o.Backbone.Path == "") {
		return nil, nil
	}
	b, err := o.embed.open(ctx, p)
	if err != nil || b.Items != items {
		return nil, err
	}
	return b, nil
}

// embeddedFeature returns the feature that a backbone makes of a column.
func embeddedFeature(name string, kind Kind, b *backbone.Backbone, width int) Feature {
	e := Embedding(b.Settings)
	return Feature{Name: name, Kind: kind, Shape: []int{width}, Embedding: &e}
}

// embedAll returns the vectors of n items, in memory if they fit.
func embedAll(ctx context.Context, b *backbone.Backbone, n int, opts *FeatureOptions, item func(i int) (backbone.Input, error)) (*Memory, error) {
	m := &Memory{N: n}
	size := b.BatchSize()
	for start := 0; start < n; start += size {
		inputs := make([]backbone.Input, min(size, n-start))
		err := onAllCores(ctx, len(inputs), func(i int) (err error) {
			inputs[i], err = item(start + i)
			return err
		})
		if err != nil {
			return nil, err
		}
		vectors, errs, err := b.Embed(ctx, inputs)
		if err != nil {
			return nil, err
		}
		for i, v := range vectors {
			if errs[i] != nil {
				return nil, errs[i]
			}
			if m.W == 0 {
				m.W = len(v)
				need := int64(n) * int64(m.W) * 4
				if err := budget.Check(opts.memory(), need, "", "%d vectors of %d values", n, m.W); err != nil {
					return nil, err
				}
				m.Values = make([]float32, 0, n*m.W)
			}
			m.Values = append(m.Values, v...)
		}
		if opts.Progress != nil {
			opts.Progress(start+len(vectors), n)
		}
	}
	return m, nil
}

// embedImages returns the feature of the images at paths as vectors of a backbone, and their rows.
func (f *features) embedImages(ctx context.Context, paths []string, opts *reading, b *backbone.Backbone) (Feature, Rows, error) {
	if opts.Image != (ImageOptions{}) {
		return Feature{}, nil, errors.New("size and color of images are those of the backbone: expected no such options")
	}
	if i := featureNamed(opts.Schema, opts.ImageColumn); i >= 0 && opts.lazy && !opts.several {
		p := opts.Schema[i]
		r := &imageVectors{paths: paths, in: &pictures{b: b, p: &p, decoding: opts.decoding}}
		f.closers = append(f.closers, closer(opts.embed.release))
		f.pictures = r
		return p, r, nil
	}
	rows, err := embedAll(ctx, b, len(paths), &opts.FeatureOptions, func(i int) (backbone.Input, error) { return imageInput(b, paths[i], opts.decoding) })
	if err != nil {
		return Feature{}, nil, err
	}
	return embeddedFeature(opts.ImageColumn, Tensor, b, rows.W), rows, nil
}

// closer is a function that implements [io.Closer].
type closer func() error

// Close calls the function.
func (c closer) Close() error { return c() }

// embedTexts makes vectors of the columns of text of f, if there is a backbone for them. The raw values of an item are then
// the index of its text, and the vector.
func (f *features) embedTexts(ctx context.Context, opts *reading) error {
	at := 0
	for i := range f.Features {
		p := &f.Features[i]
		w := p.Width()
		if !p.document() {
			at += w
			continue
		}
		b, err := opts.use(ctx, p.Name, backbone.Texts)
		if err != nil {
			return err
		}
		if b == nil {
			at += w
			continue
		}
		vectors, err := embedAll(ctx, b, len(p.Texts), &opts.FeatureOptions, func(i int) (backbone.Input, error) { return backbone.Text(p.Texts[i]), nil })
		if err != nil {
			return err
		}
		texts := p.Texts
		if *p = embeddedFeature(p.Name, Text, b, vectors.W); vectors.N == 0 {
			return fmt.Errorf("column %q: expected texts, found none", p.Name)
		}
		p.Texts = texts
		for k := range f.Columns {
			if f.Columns[k].Name == p.Name {
				f.Columns[k].Feature = *p
			}
		}
		f.Rows = withVectors(f.Rows, at, vectors)
		at += p.Width()
	}
	return nil
}

// withVectors returns rows with a vector after the value at an index, the vector with the number of that value.
func withVectors(rows Rows, at int, vectors *Memory) Rows {
	return rowsBy{rows.Len(), rows.Width() + vectors.W, func(i int, dst []float32) error {
		narrow := make([]float32, rows.Width())
		if err := rows.ReadRow(i, narrow); err != nil {
			return err
		}
		copy(dst, narrow[:at+1])
		copy(dst[at+1+vectors.W:], narrow[at+1:])
		return fillVector(dst[at:at+1+vectors.W], vectors.N, func(k int, to []float32) error { return vectors.ReadRow(k, to) })
	}}
}

// fillVector fills in the vector after the index of a text, of n: missing if that is.
func fillVector(dst []float32, n int, read func(k int, to []float32) error) error {
	if dst[0] != dst[0] {
		for i := range dst {
			dst[i] = float32(math.NaN())
		}
		return nil
	}
	k, err := textAt(dst[0], n)
	if err != nil {
		return err
	}
	return read(k, dst[1:])
}

// imageInput reads the image at path for a backbone.
func imageInput(b *backbone.Backbone, path string, memory *budget.Shared) (in backbone.Input, err error) {
	f, err := fault.OpenFile(path)
	if err != nil {
		return in, fault.Of(path, err)
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxPixels)) // no image of fewer pixels is longer
	if err != nil {
		return in, fault.Of(path, err)
	}
	return b.Image(content, func() (p backbone.Picture, err error) { return decodePicture(path, content, b, memory) }), nil
}

// decodePicture returns the pixels of an image with 8 bits per color, without its transparency.
func decodePicture(path string, content []byte, b *backbone.Backbone, memory *budget.Shared) (p backbone.Picture, err error) {
	img, done, err := decodeLimited(path, bytes.NewReader(content), memory, func(c image.Config) int64 {
		return imageMemory(c, c.Height, c.Width) + b.MemoryOf(c.Width, c.Height)
	})
	if err != nil {
		return p, err
	}
	defer done()
	r := img.Bounds()
	p = backbone.Picture{W: r.Dx(), H: r.Dy(), Pixels: make([]uint8, 0, 3*r.Dx()*r.Dy())}
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			var red, green, blue uint8
			switch img := img.(type) {
			case *image.YCbCr:
				c := img.YCbCrAt(x, y)
				red, green, blue = color.YCbCrToRGB(c.Y, c.Cb, c.Cr)
			case *image.Gray:
				red = img.GrayAt(x, y).Y
				green, blue = red, red
			default:
				c := color.NRGBAModel.Convert(img.At(x, y)).(color.NRGBA)
				red, green, blue = c.R, c.G, c.B
			}
			p.Pixels = append(p.Pixels, red, green, blue)
		}
	}
	return p, nil
}

// pictures computes the vectors of the images of a batch together, and hands them out one by one.
type pictures struct {
	b        *backbone.Backbone
	p        *Feature
	decoding *budget.Shared
	vectors  map[string][]float32
	errs     map[string]error
}

// prepare computes the vectors of the images at paths.
func (q *pictures) prepare(ctx context.Context, paths []string) error {
	q.vectors, q.errs = map[string][]float32{}, map[string]error{}
	size := q.b.BatchSize()
	for start := 0; start < len(paths); start += size {
		part := paths[start:min(len(paths), start+size)]
		inputs, errs := make([]backbone.Input, len(part)), make([]error, len(part))
		_ = onAllCores(ctx, len(part), func(i int) error {
			inputs[i], errs[i] = imageInput(q.b, part[i], q.decoding)
			return nil
		})
		var good []backbone.Input
		var names []string
		for i, path := range part {
			if q.errs[path] = errs[i]; errs[i] == nil {
				good, names = append(good, inputs[i]), append(names, path)
			}
		}
		vectors, failed, err := q.b.Embed(ctx, good)
		if err != nil {
			return err
		}
		for i, path := range names {
			q.vectors[path], q.errs[path] = vectors[i], failed[i]
		}
	}
	return nil
}

// read fills dst with the vector of the image at path.
func (q *pictures) read(path string, dst []float32) error {
	v, err := q.vectors[path], q.errs[path]
	if err == nil && len(v) != len(dst) {
		err = fault.Malformed(path, "expected a vector of %d values as in training, found %d", len(dst), len(v))
	}
	copy(dst, v)
	return err
}

// imageVectors are the vectors of the images at paths, of those that were prepared last.
type imageVectors struct {
	paths []string
	in    *pictures
}

func (r *imageVectors) Len() int   { return len(r.paths) }
func (r *imageVectors) Width() int { return r.in.p.Width() }

// ReadRow fills dst with the vector of image i.
func (r *imageVectors) ReadRow(i int, dst []float32) error {
	if err := checkRow(r, i, dst); err != nil {
		return err
	}
	return r.in.read(r.paths[i], dst)
}
