package array

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"credence/internal/fault"
)

// Format is a file format of arrays. A new one is a row of formats and a reader.
type Format struct {
	// Several says that a file may hold several arrays, which have names: see [EntriesNPZ] and
	// [ReadTexts].
	Several bool
	// Open opens the array of a file or, where there are several, the one of this name.
	Open func(ctx context.Context, path, name string, opts Options) (*Array, error)

	extensions []string // in lower case
	within     []string // what names of files may contain instead of an extension
}

var formats = []Format{
	{extensions: []string{".npy"}, Open: func(_ context.Context, path, _ string, _ Options) (*Array, error) { return OpenNPY(path) }},
	{extensions: []string{".npz"}, Open: OpenNPZ, Several: true},
	{extensions: []string{".idx"}, within: []string{"-ubyte", ".idx3"},
		Open: func(ctx context.Context, path, _ string, opts Options) (*Array, error) {
			return OpenIDX(ctx, path, opts)
		}},
}

// FormatOf returns the format of a file by its name; nil means that it is no array.
func FormatOf(path string) *Format {
	ext, base := fault.Extension(path), strings.TrimSuffix(strings.ToLower(filepath.Base(path)), ".gz")
	for i, f := range formats {
		if slices.Contains(f.extensions, ext) || slices.ContainsFunc(f.within, func(part string) bool { return strings.Contains(base, part) }) {
			return &formats[i]
		}
	}
	return nil
}

// OpenIDX opens a file in the IDX format of MNIST, plain or compressed with
// gzip. A plain file is read in place.
func OpenIDX(ctx context.Context, path string, opts Options) (*Array, error) {
	return open(path, func(f io.ReaderAt, size int64) (*Array, error) {
		return idxArray(ctx, path, f, size, opts)
	})
}

func idxArray(ctx context.Context, file string, src io.ReaderAt, size int64, opts Options) (*Array, error) {
	whole := bufio.NewReader(io.NewSectionReader(src, 0, size))
	if magic, _ := whole.Peek(2); !bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		h, err := readIDXHeader(file, whole)
		if err != nil {
			return nil, err
		}
		return h.newArray(file, src, h.size, size)
	}
	z, err := gzip.NewReader(whole)
	if err != nil {
		return nil, fault.Of(file, err)
	}
	h, err := readIDXHeader(file, z)
	if err != nil {
		return nil, err
	}
	return h.unpack(ctx, file, z, opts)
}

// readIDXHeader reads two zero bytes, the type, the number of axes and their
// lengths.
func readIDXHeader(file string, r io.Reader) (*header, error) {
	fail := func(format string, args ...any) (*header, error) { return nil, fault.Malformed(file, format, args...) }
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return fail("the file is empty or cut short")
	}
	if head[0] != 0 || head[1] != 0 {
		return fail("this is not an IDX file: it begins with %q", head[:])
	}
	types := map[byte]dtype{
		0x08: {kind: 'u', size: 1}, 0x09: {kind: 'i', size: 1}, 0x0b: {kind: 'i', size: 2, big: true},
		0x0c: {kind: 'i', size: 4, big: true}, 0x0d: {kind: 'f', size: 4, big: true}, 0x0e: {kind: 'f', size: 8, big: true},
	}
	h := &header{dt: types[head[2]], shape: make([]int, head[3]), size: 4 + 4*int64(head[3])}
	if h.dt.size == 0 {
		return fail("elements of type 0x%02x are unknown", head[2])
	}
	if n := int(head[3]); n == 0 || n > maxDims {
		return fail("%d axes: 1 to %d are read", n, maxDims)
	}
	for i := range h.shape {
		var b [4]byte
		if _, err := io.ReadFull(r, b[:]); err != nil {
			return fail("the header is cut short")
		}
		n := binary.BigEndian.Uint32(b[:])
		if n > math.MaxInt32 {
			return fail("an axis of %d elements", n)
		}
		h.shape[i] = int(n)
	}
	return h, nil
}
