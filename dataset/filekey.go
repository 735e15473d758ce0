package dataset

import (
	"cmp"
	"context"
	"crypto/sha256"
	"io"
	"os"
	"time"

	"credence/internal/fault"
	"credence/internal/par"
)

// fileKey says which content a file has, for caches of what was made of it. Its
// hash alone goes into a key: an edit that keeps size and time is found, and a
// copy is as good as the original.
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

// unchanged reports whether the file has the size and time that it had when it
// was hashed.
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

// onAllCores calls do for 0 up to n−1, in any order, and returns the error of the first in turn that has one.
func onAllCores(ctx context.Context, n int, do func(i int) error) error {
	errs := make([]error, n)
	par.For(n, func(i int) {
		if errs[i] = ctx.Err(); errs[i] == nil {
			errs[i] = do(i)
		}
	})
	return cmp.Or(errs...)
}

// changedError says that a file was written to while it was read.
func changedError(path string) error {
	return &ParseError{File: path, Msg: "the file changed while it was read: try again when nothing writes to it"}
}
