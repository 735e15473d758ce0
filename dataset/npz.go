package dataset

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// OpenNPZ opens one array of an NPZ file; name "" takes the only one, or the
// one called x, X, data or features. An array stored without compression is
// read in place; another is unpacked into memory.
func OpenNPZ(path, name string) (*Array, error) {
	return openNPZ(path, name, &FeatureOptions{})
}

func openNPZ(path, name string, opts *FeatureOptions) (*Array, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, openError(path, err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, failed(path, err)
	}
	a, err := npzArray(path, f, info.Size(), name, opts)
	if err != nil {
		f.Close()
		return nil, err
	}
	if a.closer != nil { // unpacked: the file is not needed any more
		return a, f.Close()
	}
	a.closer = f
	return a, nil
}

// npzArray finds and opens one array of the archive src.
func npzArray(file string, src io.ReaderAt, size int64, name string, opts *FeatureOptions) (*Array, error) {
	z, err := zip.NewReader(src, size)
	if err != nil {
		return nil, malformed(file, "this is not an NPZ file: %v", err)
	}
	var names []string
	entries := map[string]*zip.File{}
	for _, e := range z.File {
		if n, ok := strings.CutSuffix(e.Name, ".npy"); ok {
			names = append(names, n)
			entries[n] = e
		}
	}
	slices.Sort(names)
	switch {
	case name != "":
	case len(names) == 1:
		name = names[0]
	default:
		for _, n := range []string{"features", "data", "X", "x"} {
			if entries[n] != nil {
				name = n
			}
		}
	}
	e := entries[name]
	if e == nil {
		if name == "" {
			return nil, &ParseError{File: file, Msg: fmt.Sprintf("which of the arrays [%s]? name it with --array", few(names))}
		}
		return nil, &ParseError{File: file, Msg: fmt.Sprintf("no array %q among [%s]", name, few(names))}
	}
	file += "/" + e.Name
	if e.Method == zip.Store {
		at, err := e.DataOffset()
		if err != nil {
			return nil, failed(file, err)
		}
		if at < 0 || e.UncompressedSize64 > uint64(size) || at+int64(e.UncompressedSize64) > size {
			return nil, malformed(file, "the archive is cut short")
		}
		return npyArray(file, src, at, at+int64(e.UncompressedSize64))
	}
	return unpackNPY(file, e, opts)
}

// unpackNPY decompresses an array into memory or, above the limit, into a
// temporary file. No more is kept than the header announces.
func unpackNPY(file string, e *zip.File, opts *FeatureOptions) (*Array, error) {
	r, err := e.Open()
	if err != nil {
		return nil, failed(file, err)
	}
	defer r.Close()
	h, err := readNPYHeader(file, r)
	if err != nil {
		return nil, err
	}
	return unpackArray(file, r, h.dt, h.shape, h.fortran, opts)
}

// unpackArray reads the elements of an array from a stream.
func unpackArray(file string, r io.Reader, dt dtype, shape []int, fortran bool, opts *FeatureOptions) (*Array, error) {
	need, err := arrayBytes(file, dt, shape)
	if err != nil {
		return nil, err
	}
	var to interface {
		io.WriteCloser
		io.ReaderAt
	} = &memoryFile{}
	if need > opts.memory() {
		if to, err = spoolFile(opts); err != nil {
			return nil, err
		}
	}
	got, err := io.Copy(to, io.LimitReader(r, need))
	if err != nil {
		return nil, errors.Join(failed(file, err), to.Close())
	}
	a, err := newArray(file, to, 0, got, dt, shape, fortran)
	if err != nil {
		return nil, errors.Join(err, to.Close())
	}
	a.closer = to
	return a, nil
}
