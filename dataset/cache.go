package dataset

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"time"

	"credence/internal/array"
	"credence/internal/atomicfile"
	"credence/internal/fault"
	"credence/internal/par"
)

// A sink collects the rows of a table as they are read, then provides them.
// Above the memory limit it is a cache, so that a second run on the same files
// does not parse them again: an NPY file of N×W float32, named after a hash of
// everything it depends on, with a trailer that numpy ignores:
//
//	16 bytes  magic
//	32 bytes  the hash
//	 4 bytes  CRC-32C of everything before it
//
// A file that is not exactly of this form is replaced.
type sink struct {
	n, w  int
	added int // values so far
	rows  *Memory
	keys  []fileKey // of the files that the rows are read from
	sum   [sha256.Size]byte
	file  *atomicfile.File
	crc   hash.Hash32
	buf   *bufio.Writer
	path  string // of the finished cache
	array *array.Array
	ready Rows // of a cache that existed already, or nil
}

const (
	rowsMagic   = "credence rows\n\n\n"
	rowsTrailer = len(rowsMagic) + sha256.Size + 4
)

// rowsVersion changes when the same files and options give other rows.
const rowsVersion = 2

// cacheKey is everything the rows of a cache depend on.
type cacheKey struct {
	Version  int
	Files    [][]byte // SHA-256 of each
	Parts    []Feature
	Options  TableOptions
	Rows     int
	Repeated bool
	Image    ImageOptions
}

// newSink returns a sink for n rows of the given features, which are read from files.
func newSink(ctx context.Context, n int, schema []Feature, files []string, opts *reading) (*sink, error) {
	s := &sink{n: n, w: totalWidth(schema)}
	if int64(n)*int64(s.w)*4 <= opts.memory() {
		s.rows = &Memory{N: n, W: s.w, Values: make([]float32, 0, n*s.w)}
		return s, nil
	}
	dir, err := opts.cacheDir()
	if err != nil {
		return nil, err
	}
	if s.keys, err = fileKeys(ctx, files); err != nil {
		return nil, err
	}
	key := cacheKey{Version: rowsVersion, Parts: schema, Options: opts.TableOptions, Rows: n, Repeated: opts.repeated, Image: opts.Image}
	for i := range s.keys {
		key.Files = append(key.Files, s.keys[i].sum[:])
	}
	if s.sum, err = hashKey(key); err != nil {
		return nil, err
	}
	s.path = filepath.Join(dir, fmt.Sprintf("rows-%x.npy", s.sum))
	if s.ready, err = s.load(ctx); s.ready != nil || err != nil {
		return s, err
	}
	_ = atomicfile.Clean(dir, "rows-*.npy") // leftover files only waste space
	if s.file, err = atomicfile.Create(s.path); err != nil {
		return nil, fmt.Errorf("creating a feature cache: %w", err)
	}
	s.crc = crc32.New(castagnoli)
	s.buf = bufio.NewWriterSize(io.MultiWriter(s.file, s.crc), 1<<20)
	if _, err := s.buf.Write(array.HeaderNPY([]int{n, s.w})); err != nil {
		s.Close()
		return nil, fmt.Errorf("writing a feature cache: %w", err)
	}
	return s, nil
}

// load opens an existing cache if it is complete and valid; otherwise it returns nil.
func (s *sink) load(ctx context.Context) (Rows, error) {
	if !s.whole(ctx) {
		return nil, ctx.Err()
	}
	a, err := array.OpenNPY(s.path)
	if err != nil {
		return nil, nil // it is replaced
	}
	s.array = a
	return a, nil
}

// whole reports whether the cache exists with a valid trailer.
func (s *sink) whole(ctx context.Context) bool {
	f, err := os.Open(s.path)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() < int64(rowsTrailer) {
		return false
	}
	crc := crc32.New(castagnoli)
	if _, err := io.CopyBuffer(crc, io.LimitReader(fault.Reader(ctx, f), info.Size()-4), make([]byte, 1<<20)); err != nil {
		return false
	}
	var trailer [rowsTrailer]byte
	_, err = f.ReadAt(trailer[:], info.Size()-int64(rowsTrailer))
	return err == nil && bytes.Equal(trailer[:], seal(rowsMagic, s.sum, crc.Sum32()))
}

// seal returns the bytes that identify the files of a cache: magic, hash and CRC.
func seal(magic string, sum [sha256.Size]byte, crc uint32) []byte {
	return binary.LittleEndian.AppendUint32(append([]byte(magic), sum[:]...), crc)
}

// hashKey returns the hash of everything a cached file depends on.
func hashKey(key any) (sum [sha256.Size]byte, err error) {
	text, err := json.Marshal(key)
	return sha256.Sum256(text), err
}

// cacheDir returns the folder for caches and creates it if necessary.
func (o *FeatureOptions) cacheDir() (string, error) {
	dir := o.CacheDir
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			user = os.TempDir()
		}
		dir = filepath.Join(user, "credence")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("creating a folder for a feature cache: %w", err)
	}
	return dir, nil
}

// add appends one or more rows.
func (s *sink) add(row []float32) error {
	s.added += len(row)
	if s.rows != nil {
		s.rows.Values = append(s.rows.Values, row...)
		return nil
	}
	if err := binary.Write(s.buf, binary.LittleEndian, row); err != nil {
		return fmt.Errorf("writing a feature cache: %w", err)
	}
	return nil
}

// finish returns the rows. A cache file gets its name only when it is complete.
func (s *sink) finish() (Rows, error) {
	for i := range s.keys {
		if !s.keys[i].unchanged() {
			return nil, changedError(s.keys[i].path)
		}
	}
	if s.added != s.n*s.w {
		return nil, fmt.Errorf("the file changed while it was read: %d rows, then %d", s.n, s.added/max(1, s.w))
	}
	if s.rows != nil {
		return s.rows, nil
	}
	s.buf.WriteString(rowsMagic)
	s.buf.Write(s.sum[:])
	err := s.buf.Flush()
	if err == nil {
		_, err = s.file.Write(binary.LittleEndian.AppendUint32(nil, s.crc.Sum32()))
	}
	if err == nil {
		err = s.file.Commit()
	}
	if err != nil {
		return nil, fmt.Errorf("writing a feature cache: %w", err)
	}
	s.file = nil
	s.array, err = array.OpenNPY(s.path)
	return s.array, err
}

// Close closes the cache and removes an unfinished one.
func (s *sink) Close() error {
	if s.file != nil {
		s.file.Discard()
		s.file = nil
	}
	if s.array != nil {
		return s.array.Close()
	}
	return nil
}

// fileKey identifies the content of a file, for caches of data derived from it. Only
// its hash is part of a cache key: an edit that keeps size and time is noticed, and a
// copy is equivalent to the original.
type fileKey struct {
	path     string
	size     int64
	modified time.Time
	sum      [sha256.Size]byte
}

func newFileKey(ctx context.Context, path string) (fileKey, error) {
	k := fileKey{path: path}
	f, err := fault.OpenFile(path)
	if err != nil {
		return k, fault.Of(path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return k, fault.Of(path, err)
	}
	k.size, k.modified = info.Size(), info.ModTime()
	h := sha256.New()
	if _, err := io.Copy(h, fault.Reader(ctx, f)); err != nil {
		return k, fault.Of(path, err)
	}
	h.Sum(k.sum[:0])
	return k, nil
}

// unchanged reports whether the file still has the size and time that it had when
// it was hashed.
func (k *fileKey) unchanged() bool {
	info, err := os.Stat(k.path)
	return err == nil && info.Size() == k.size && info.ModTime().Equal(k.modified)
}

// fileKeys hashes files on all cores.
func fileKeys(ctx context.Context, paths []string) ([]fileKey, error) {
	keys := make([]fileKey, len(paths))
	return keys, onAllCores(ctx, len(paths), func(i int) (err error) {
		keys[i], err = newFileKey(ctx, paths[i])
		return err
	})
}

// onAllCores calls do for 0 to n−1 concurrently and returns the error with the lowest index.
func onAllCores(ctx context.Context, n int, do func(i int) error) error {
	errs := make([]error, n)
	par.For(n, func(i int) {
		if errs[i] = ctx.Err(); errs[i] == nil {
			errs[i] = do(i)
		}
	})
	return cmp.Or(errs...)
}

// changedError returns the error that a file was modified while it was read.
func changedError(path string) error {
	return &ParseError{File: path, Msg: "the file changed while it was read: try again when no program writes to it"}
}
