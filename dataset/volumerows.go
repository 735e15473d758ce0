package dataset

import (
	"context"
	"fmt"
	"sync"

	"credence/internal/budget"
	"credence/internal/words"
)

// volumeRows are the volumes at paths. They are kept in memory in their compact
// form, read from a cache, or prepared whenever they are read; the values are
// the same.
type volumeRows struct {
	paths []string
	part  Part
	kept  []byte // [N × size] or nil
	cache *volumeCache
	bufs  sync.Pool // of size bytes
	pool  *budget.Pool
	ctx   context.Context // of volumes that are prepared when they are read

	unoriented []string // files that do not say where left and right are
}

// newVolumeRows prepares the volumes at paths. Lazy ones are prepared when they
// are read; the others now, on all cores: into memory if they fit, and into the
// cache, if one is wanted or they do not.
func newVolumeRows(ctx context.Context, paths []string, part Part, opts *reading) (*volumeRows, error) {
	r := &volumeRows{paths: paths, part: part, pool: opts.pool, ctx: context.Background()}
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
		if r.cache, err = newVolumeCache(dir, &r.part); err != nil {
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

func (r *volumeRows) store() store { return store(r.part.Volume.Store) }
func (r *volumeRows) size() int    { return r.store().size(r.part.Width()) }

// Len returns the number of volumes.
func (r *volumeRows) Len() int { return len(r.paths) }

// Width returns the number of voxels of the grid.
func (r *volumeRows) Width() int { return r.part.Width() }

// warning tells of files whose orientation was guessed, or is nil.
func (r *volumeRows) warning() error {
	if len(r.unoriented) == 0 {
		return nil
	}
	return fmt.Errorf("%s without an orientation, taken to run from right to left as in Analyze files: %s",
		number(len(r.unoriented), "volume"), words.Few(r.unoriented))
}

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
		x := make([]float32, r.part.Width())
		if err := prepareVolume(ctx, r.paths[i], &r.part, r.pool, x); err != nil {
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
