package array

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"credence/internal/fault"
	"credence/internal/words"
)

// OpenNPZ opens one array of an NPZ file; name "" takes the only one, or the
// one called x, X, data or features. An array stored without compression is
// read in place; another is unpacked.
func OpenNPZ(ctx context.Context, path, name string, opts Options) (*Array, error) {
	return open(path, func(f io.ReaderAt, size int64) (*Array, error) {
		return npzArray(ctx, path, f, size, name, opts)
	})
}

// ErrWhich is the cause when an NPZ file has several arrays and none is named.
var ErrWhich = errors.New("several arrays")

// npzEntries returns the arrays of the archive src by their names, which are sorted.
func npzEntries(file string, src io.ReaderAt, size int64) (names []string, entries map[string]*zip.File, err error) {
	z, err := zip.NewReader(src, size)
	if err != nil {
		return nil, nil, fault.Malformed(file, "this is not an NPZ file: %v", err)
	}
	entries = map[string]*zip.File{}
	for _, e := range z.File {
		if n, ok := strings.CutSuffix(e.Name, ".npy"); ok {
			names = append(names, n)
			entries[n] = e
		}
	}
	slices.Sort(names)
	return names, entries, nil
}

// npzArray finds and opens one array of the archive src.
func npzArray(ctx context.Context, file string, src io.ReaderAt, size int64, name string, opts Options) (*Array, error) {
	names, entries, err := npzEntries(file, src, size)
	if err != nil {
		return nil, err
	}
	if name == "" && len(names) == 1 {
		name = names[0]
	}
	for _, n := range []string{"x", "X", "data", "features"} {
		if name == "" && entries[n] != nil {
			name = n
		}
	}
	e := entries[name]
	if e == nil {
		if name == "" {
			return nil, &fault.Error{File: file, Msg: fmt.Sprintf("which of the arrays [%s]?", words.Few(names)), Err: ErrWhich}
		}
		return nil, &fault.Error{File: file, Msg: fmt.Sprintf("no array %q among [%s]", name, words.Few(names))}
	}
	file += "/" + e.Name
	if e.Method == zip.Store {
		at, err := e.DataOffset()
		if err != nil {
			return nil, fault.Of(file, err)
		}
		if at < 0 || e.UncompressedSize64 > uint64(size) || at+int64(e.UncompressedSize64) > size {
			return nil, fault.Malformed(file, "the archive is cut short")
		}
		return npyArray(file, src, at, at+int64(e.UncompressedSize64))
	}
	return unpackNPY(ctx, file, e, opts)
}

// openEntry opens an array of an archive and reads its header.
func openEntry(file string, e *zip.File) (io.ReadCloser, *npyHeader, error) {
	r, err := e.Open()
	if err != nil {
		return nil, nil, fault.Of(file, err)
	}
	h, err := readNPYHeader(file, r)
	if err != nil {
		r.Close()
		return nil, nil, err
	}
	return r, h, nil
}

// unpackNPY decompresses an array into memory or, above the limit, into a
// temporary file. No more is kept than the header announces.
func unpackNPY(ctx context.Context, file string, e *zip.File, opts Options) (*Array, error) {
	r, h, err := openEntry(file, e)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if err := h.numbers(file); err != nil {
		return nil, err
	}
	return h.unpack(ctx, file, r, opts)
}

// unpack reads the elements of an array from a stream.
func (h *header) unpack(ctx context.Context, file string, r io.Reader, opts Options) (*Array, error) {
	need, err := h.bytes(file)
	if err != nil {
		return nil, err
	}
	to, err := newSpool(need, opts)
	if err != nil {
		return nil, err
	}
	got, err := io.Copy(to, io.LimitReader(fault.Reader(ctx, r), need))
	if err != nil {
		return nil, errors.Join(fault.Of(file, err), to.Close())
	}
	a, err := h.newArray(file, to, 0, got)
	if err != nil {
		return nil, errors.Join(err, to.Close())
	}
	a.closer = to
	return a, nil
}
