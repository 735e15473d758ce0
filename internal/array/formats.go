package array

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"credence/internal/budget"
	"credence/internal/fault"
	"credence/internal/words"
)

// Format is a file format for arrays. To add one, write a reader and append it to formats.
type Format struct {
	// Several reports whether a file may contain several named arrays: see [EntriesNPZ] and
	// [ReadTexts].
	Several bool
	// Open opens the array of a file or, if there are several, the one with the given name.
	Open func(ctx context.Context, path, name string, opts Options) (*Array, error)

	extensions []string // in lower case
	within     []string // alternatives to an extension, anywhere in the file name
}

var formats = []Format{
	{extensions: []string{".npy"}, Open: func(_ context.Context, path, _ string, _ Options) (*Array, error) { return OpenNPY(path) }},
	{extensions: []string{".npz"}, Open: OpenNPZ, Several: true},
	{extensions: []string{".idx"}, within: []string{"-ubyte", ".idx3"},
		Open: func(ctx context.Context, path, _ string, opts Options) (*Array, error) {
			return OpenIDX(ctx, path, opts)
		}},
}

// FormatOf returns the format of a file by its name, or nil if it is not an array.
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

// idxArray returns the array of an IDX file, in place or unpacked.
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
		return fail("the file is empty or truncated")
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
		return fail("unknown element type 0x%02x", head[2])
	}
	if n := int(head[3]); n == 0 || n > maxDims {
		return fail("expected 1 to %d axes, found %d", maxDims, n)
	}
	for i := range h.shape {
		var b [4]byte
		if _, err := io.ReadFull(r, b[:]); err != nil {
			return fail("the header is truncated")
		}
		n := binary.BigEndian.Uint32(b[:])
		if n > math.MaxInt32 {
			return fail("expected an axis of at most %d elements, found %d", math.MaxInt32, n)
		}
		h.shape[i] = int(n)
	}
	return h, nil
}

// OpenNPZ opens one array of an NPZ file. Name "" selects the only one, or the
// one named x, X, data or features. An array stored without compression is
// read in place, others are unpacked.
func OpenNPZ(ctx context.Context, path, name string, opts Options) (*Array, error) {
	return open(path, func(f io.ReaderAt, size int64) (*Array, error) {
		return npzArray(ctx, path, f, size, name, opts)
	})
}

// ErrWhich is the cause if an NPZ file has several arrays and none is selected.
var ErrWhich = errors.New("several arrays")

// npzEntries returns the arrays of the archive src by name, and the sorted names.
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

// npzArray opens one array of the archive src.
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
			return nil, &fault.Error{File: file, Msg: fmt.Sprintf("expected one array, found [%s]", words.Few(names)), Err: ErrWhich}
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
			return nil, fault.Malformed(file, "the archive is truncated")
		}
		return npyArray(file, src, at, at+int64(e.UncompressedSize64))
	}
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

// openEntry opens an array of an archive and reads its header.
func openEntry(file string, e *zip.File) (io.ReadCloser, *header, error) {
	r, err := e.Open()
	if err != nil {
		return nil, nil, fault.Of(file, err)
	}
	h, err := readNPYHeader(file, r, false)
	if err != nil {
		r.Close()
		return nil, nil, err
	}
	return r, h, nil
}

// unpack reads the elements of an array from a stream into memory or, above the limit, into a
// temporary file. It reads no more than the header announces.
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

// Entry describes an array of an NPZ file.
type Entry struct {
	Name  string
	Shape []int
	Text  bool // whether its elements are texts
}

// EntriesNPZ returns the arrays of an NPZ file, sorted by name. An array with an invalid
// header has no shape. Opening it returns the reason.
func EntriesNPZ(path string) ([]Entry, error) {
	return use(path, func(f io.ReaderAt, size int64) (list []Entry, err error) {
		names, entries, err := npzEntries(path, f, size)
		for _, name := range names {
			e := Entry{Name: name}
			if r, h, err := openEntry(path, entries[name]); err == nil {
				e.Shape, e.Text = h.shape, h.dt.text()
				r.Close()
			}
			list = append(list, e)
		}
		return list, err
	})
}

// ReadTexts reads a vector of texts or whole numbers of an NPZ file as texts. They may
// take at most opts.Memory bytes.
func ReadTexts(ctx context.Context, path, name string, opts Options) ([]string, error) {
	return use(path, func(f io.ReaderAt, size int64) ([]string, error) {
		_, entries, err := npzEntries(path, f, size)
		if err != nil {
			return nil, err
		}
		if entries[name] == nil {
			return nil, fault.Malformed(path, "no array %q", name)
		}
		file := path + "/" + name + ".npy"
		r, h, err := openEntry(file, entries[name])
		if err != nil {
			return nil, err
		}
		defer r.Close()
		return h.texts(ctx, file, r, opts)
	})
}

// texts reads the elements that follow the header.
func (h *header) texts(ctx context.Context, file string, r io.Reader, opts Options) ([]string, error) {
	if len(h.shape) != 1 {
		return nil, fault.Malformed(file, "expected a vector with one id per item, found shape %s", words.Shape(h.shape))
	}
	if !h.dt.text() && h.dt.kind != 'i' && h.dt.kind != 'u' || h.dt.size == 0 {
		return nil, fault.Malformed(file, "expected texts or whole numbers as ids, found elements of type %v", h.dt)
	}
	need, err := h.bytes(file)
	if err != nil {
		return nil, err
	}
	// A string takes 16 bytes in addition to its contents.
	if err := budget.Check(budget.Of(opts.Memory), need+16*int64(h.shape[0]), file, "%s ids of %d bytes", words.Thousands(h.shape[0]), h.dt.size); err != nil {
		return nil, err
	}
	in := bufio.NewReader(fault.Reader(ctx, r))
	element := make([]byte, h.dt.size)
	var list []string // grows with the data, whatever the header states
	for i := range h.shape[0] {
		if _, err := io.ReadFull(in, element); err != nil {
			if err == io.EOF || err == io.ErrUnexpectedEOF {
				return nil, fault.Malformed(file, "the file is truncated: expected %s ids, found %s", words.Thousands(h.shape[0]), words.Thousands(i))
			}
			return nil, fault.Of(file, err)
		}
		list = append(list, h.dt.id(element))
	}
	return list, nil
}

// id returns one element as text.
func (d dtype) id(b []byte) string {
	order := d.order()
	switch {
	case d.kind == 'S':
		return strings.ToValidUTF8(strings.TrimRight(string(b), "\x00"), string(utf8.RuneError))
	case d.kind == 'U':
		runes := make([]rune, len(b)/4)
		for i := range runes {
			runes[i] = rune(order.Uint32(b[4*i:]))
		}
		for len(runes) > 0 && runes[len(runes)-1] == 0 {
			runes = runes[:len(runes)-1]
		}
		return string(runes)
	}
	return d.digits(d.whole(b, order))
}
