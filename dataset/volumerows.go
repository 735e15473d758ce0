package dataset

import (
	"context"
	"encoding/binary"
	"math"
	"slices"
	"sync"

	"credence/internal/array"
	"credence/internal/budget"
)

// volumeRows are the volumes at paths. They are held in memory in their compact
// form, read from a cache, or prepared each time they are read; the values are
// the same.
type volumeRows struct {
	paths    []string
	feature  Feature
	kept     []byte // [N × size] or nil
	cache    *volumeCache
	bufs     sync.Pool // of size bytes
	decoding *budget.Shared
	ctx      context.Context // of volumes that are prepared when they are read

	unoriented []string // files without orientation (left and right)
}

// newVolumeRows prepares the volumes at paths, on all cores: in memory if they fit,
// and in the cache if one is requested or they do not fit. With opts.lazy, they are
// prepared when they are read.
func newVolumeRows(ctx context.Context, paths []string, feature Feature, opts *reading) (*volumeRows, error) {
	r := &volumeRows{paths: paths, feature: feature, decoding: opts.decoding, ctx: context.Background()}
	size := r.size()
	r.bufs.New = func() any { b := make([]byte, size); return &b }
	fits := int64(len(paths))*int64(size) <= opts.memory()
	var err error
	dir := opts.Volume.CacheDir
	if dir == "" && !fits && !opts.lazy {
		if dir, err = opts.cacheDir(); err != nil {
			return nil, err
		}
	}
	if dir != "" {
		if r.cache, err = newVolumeCache(dir, &r.feature); err != nil {
			return nil, err
		}
	}
	if opts.lazy {
		r.ctx = ctx
		return r, nil
	}
	var kept []byte
	if fits {
		kept = make([]byte, len(paths)*size)
	}
	lost := make([]bool, len(paths))
	var mu sync.Mutex
	done := 0
	err = onAllCores(ctx, len(paths), func(i int) (err error) {
		if fits {
			err = r.compact(ctx, i, kept[i*size:(i+1)*size])
		} else {
			b := r.bufs.Get().(*[]byte)
			err = r.compact(ctx, i, *b)
			r.bufs.Put(b)
		}
		if h, err := volumeReader(paths[i]).Header(paths[i]); err == nil {
			lost[i] = !h.Oriented
		}
		if opts.Progress != nil {
			mu.Lock()
			defer mu.Unlock()
			done++
			opts.Progress(done, len(paths))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	r.kept, r.unoriented = kept, where(paths, lost)
	return r, nil
}

func (r *volumeRows) store() store { return store(r.feature.Volume.Store) }
func (r *volumeRows) size() int    { return r.store().size(r.feature.Width()) }

// Len returns the number of volumes.
func (r *volumeRows) Len() int { return len(r.paths) }

// Width returns the number of voxels of the grid.
func (r *volumeRows) Width() int { return r.feature.Width() }

// ReadRow fills dst with volume i.
func (r *volumeRows) ReadRow(i int, dst []float32) error {
	if err := checkRow(r, i, dst); err != nil {
		return err
	}
	if r.kept != nil {
		r.store().decode(dst, r.kept[i*r.size():(i+1)*r.size()])
		return nil
	}
	b := r.bufs.Get().(*[]byte)
	defer r.bufs.Put(b)
	if err := r.compact(r.ctx, i, *b); err != nil {
		return err
	}
	r.store().decode(dst, *b)
	return nil
}

// compact fills b with the compact form of volume i.
func (r *volumeRows) compact(ctx context.Context, i int, b []byte) error {
	prepare := func() error {
		x := make([]float32, r.feature.Width())
		if err := prepareVolume(ctx, r.paths[i], &r.feature, r.decoding, x); err != nil {
			return err
		}
		r.store().encode(b, x)
		return nil
	}
	if r.cache == nil {
		return prepare()
	}
	return r.cache.read(ctx, r.paths[i], b, prepare)
}

// store is a compact format for the values of a volume: 8 bytes, two float32
// numbers called offset and step, then the values, each
//
//	offset + step·code
//
// with codes of the type of the store.
type store string

const (
	storeFloat32 store = "float32"
	storeFloat16 store = "float16"
	storeUint8   store = "uint8"

	storePrefix = 8 // bytes before the codes
)

// storeBytes is the size of a code in each store.
var storeBytes = map[store]int{storeFloat32: 4, storeFloat16: 2, storeUint8: 1}

// size returns the number of bytes for n values.
func (s store) size(n int) int { return storePrefix + n*storeBytes[s] }

// encode fills b, of s.size(len(x)) bytes, with x, whose values are finite.
func (s store) encode(b []byte, x []float32) {
	lo, hi := slices.Min(x), slices.Max(x)
	offset, step := float32(0), float32(1)
	le := binary.LittleEndian
	codes := b[storePrefix:]
	switch s {
	case storeFloat32:
		for i, v := range x {
			le.PutUint32(codes[4*i:], math.Float32bits(v))
		}
	case storeFloat16:
		// Division by a power of two is exact, and brings large values into the
		// range of float16.
		for most := max(hi, -lo); most/step > 65504; {
			step *= 2
		}
		for i, v := range x {
			le.PutUint16(codes[2*i:], toHalf(v/step))
		}
	case storeUint8:
		offset = lo
		if step = hi/255 - lo/255; !(step > 0) {
			step = 1
		}
		for i, v := range x {
			codes[i] = uint8(min(255, math.RoundToEven((float64(v)-float64(offset))/float64(step))))
		}
	}
	le.PutUint32(b, math.Float32bits(offset))
	le.PutUint32(b[4:], math.Float32bits(step))
}

// decode fills x from the output of encode.
func (s store) decode(x []float32, b []byte) {
	le := binary.LittleEndian
	offset, step := math.Float32frombits(le.Uint32(b)), math.Float32frombits(le.Uint32(b[4:]))
	codes := b[storePrefix:]
	switch s {
	case storeFloat32:
		for i := range x {
			x[i] = math.Float32frombits(le.Uint32(codes[4*i:]))
		}
	case storeFloat16:
		codes = codes[:2*len(x)]
		for i := range x {
			x[i] = array.Half(le.Uint16(codes[2*i:])) * step
		}
	case storeUint8:
		var values [256]float32
		for k := range values {
			values[k] = offset + step*float32(k)
		}
		for i, k := range codes[:len(x)] {
			x[i] = values[k]
		}
	}
}

// toHalf rounds to the nearest IEEE 754 binary16 number, ties to even.
func toHalf(x float32) uint16 {
	b := math.Float32bits(x)
	sign := uint16(b>>16) & 0x8000
	b &= 0x7fffffff
	switch {
	case b > 0x7f800000: // not a number
		return sign | 0x7e00
	case b >= 0x477ff000: // rounds to 65536 or more
		return sign | 0x7c00
	case b < 0x38800000: // below 2⁻¹⁴: a multiple of 2⁻²⁴
		return sign | uint16(math.RoundToEven(float64(math.Float32frombits(b))*(1<<24)))
	}
	b += 0xfff + b>>13&1
	return sign | uint16((b-0x38000000)>>13)
}
