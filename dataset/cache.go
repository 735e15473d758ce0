package dataset

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
)

// A sink takes the rows of a table as they are read, and gives them back.
// Above the memory limit it is a cache: an NPY file of N×W float32, named after
// a hash of the source, so that a second run on the same file finds it.
type sink struct {
	n, w  int
	rows  *Memory
	file  *os.File // being written under a temporary name
	buf   *bufio.Writer
	path  string // of the finished cache
	array *Array
}

// cacheKey is what the rows of a cache depend on.
type cacheKey struct {
	Version  int
	Source   string
	Size     int64
	Modified int64
	Parts    []Part
	Options  TableOptions
	Rows     int
	Repeated bool
	Image    ImageOptions
}

// newSink makes a sink for n rows of the given parts from a source file.
func newSink(n int, parts []Part, source string, opts *FeatureOptions) (*sink, error) {
	s := &sink{n: n, w: totalWidth(parts)}
	if int64(n)*int64(s.w)*4 <= opts.memory() {
		s.rows = &Memory{N: n, W: s.w, Values: make([]float32, 0, n*s.w)}
		return s, nil
	}
	dir, err := cacheDir(opts)
	if err != nil {
		return nil, err
	}
	key := cacheKey{Version: 1, Source: source, Parts: parts, Options: opts.TableOptions, Rows: n, Repeated: opts.repeated, Image: opts.Image}
	if abs, err := filepath.Abs(source); err == nil {
		key.Source = abs
	}
	if info, err := os.Stat(source); err == nil {
		key.Size, key.Modified = info.Size(), info.ModTime().UnixNano()
	}
	text, err := json.Marshal(key)
	if err != nil {
		return nil, err
	}
	s.path = filepath.Join(dir, fmt.Sprintf("rows-%x.npy", sha256.Sum256(text)))
	if a, err := OpenNPY(s.path); err == nil {
		if len(a.Shape) == 2 && a.Len() == n && a.Width() == s.w && !a.fortran {
			s.array = a
			return s, nil
		}
		a.Close()
	}
	if s.file, err = os.CreateTemp(dir, "rows-*.tmp"); err != nil {
		return nil, fmt.Errorf("making a cache of features: %w", err)
	}
	s.buf = bufio.NewWriterSize(s.file, 1<<20)
	if _, err := s.buf.Write(npyHeaderBytes(dtype{kind: 'f', size: 4}, []int{n, s.w})); err != nil {
		s.Close()
		return nil, fmt.Errorf("writing a cache of features: %w", err)
	}
	return s, nil
}

// cacheDir returns the folder for caches, made if need be.
func cacheDir(opts *FeatureOptions) (string, error) {
	dir := opts.CacheDir
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			user = os.TempDir()
		}
		dir = filepath.Join(user, "credence")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("making a folder for a cache of features: %w", err)
	}
	return dir, nil
}

// ready returns the rows of a cache that was there already, or nil.
func (s *sink) ready() Rows {
	if s.array == nil {
		return nil
	}
	return s.array
}

// add appends a row.
func (s *sink) add(row []float32) error {
	if s.rows != nil {
		s.rows.Values = append(s.rows.Values, row...)
		return nil
	}
	var b [4]byte
	for _, v := range row {
		binary.LittleEndian.PutUint32(b[:], math.Float32bits(v))
		if _, err := s.buf.Write(b[:]); err != nil {
			return fmt.Errorf("writing a cache of features: %w", err)
		}
	}
	return nil
}

// finish returns the rows. A cache gets its name only now that it is whole.
func (s *sink) finish() (Rows, error) {
	if s.rows != nil {
		if len(s.rows.Values) != s.n*s.w {
			return nil, fmt.Errorf("the file changed while it was read: %d rows, then %d", s.n, len(s.rows.Values)/max(1, s.w))
		}
		return s.rows, nil
	}
	err := s.buf.Flush()
	if err == nil {
		err = s.file.Sync()
	}
	if err == nil {
		err = s.file.Close()
	}
	if err == nil {
		err = os.Rename(s.file.Name(), s.path)
	}
	if err != nil {
		return nil, fmt.Errorf("writing a cache of features: %w", err)
	}
	s.file = nil
	a, err := OpenNPY(s.path)
	if err != nil {
		return nil, err
	}
	s.array = a
	if a.Len() != s.n || a.Width() != s.w {
		return nil, fmt.Errorf("the file changed while it was read: the cache %s is of %s", s.path, shapeString(a.Shape))
	}
	return a, nil
}

// Close closes the cache, and removes one that was not finished.
func (s *sink) Close() error {
	if s.file != nil {
		s.file.Close()
		os.Remove(s.file.Name())
		s.file = nil
	}
	if s.array != nil {
		return s.array.Close()
	}
	return nil
}
