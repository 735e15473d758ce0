// Package array reads arrays of numbers whose first axis is the items: NPY and NPZ
// files of numpy, and the IDX format of MNIST. Rows are read in place, as far as the
// format allows it. Sizes stated in a header are checked before anything is
// allocated.
package array

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"credence/internal/fault"
	"credence/internal/words"
)

// Array is an array of numbers whose first axis is the items. Rows are read in
// place, from a file or from memory. An array in a file only needs memory for
// one buffer per reader.
type Array struct {
	Shape []int // [N, …]

	file    string
	src     io.ReaderAt
	offset  int64
	dt      dtype
	fortran bool
	closer  io.Closer
	blocks  sync.Pool // of *rowBlock
	lossMu  sync.Mutex
	loss    loss
}

// header describes an array, as the file does before its elements.
type header struct {
	dt      dtype
	fields  []Field // of records, which have no dtype
	fortran bool
	shape   []int
	size    int64 // in bytes
}

// maxDims limits the rank of an array.
const maxDims = 8

// MaxRow limits the number of values per item. A volume of 512³ has 2²⁷.
const MaxRow = 1 << 29

// Options configures where arrays are stored that cannot be read in place.
type Options struct {
	// Memory is the largest array, in bytes, that is stored in memory.
	Memory int64
	// Dir returns the folder for temporary files, which hold larger ones.
	Dir func() (string, error)
}

// open opens a file and reads it with read. The array closes the file, unless it was
// unpacked and does not need the file any more.
func open(path string, read func(f io.ReaderAt, size int64) (*Array, error)) (*Array, error) {
	f, size, err := fault.Open(path)
	if err != nil {
		return nil, err
	}
	a, err := read(f, size)
	if err != nil {
		f.Close()
		return nil, err
	}
	if a.closer != nil {
		return a, f.Close()
	}
	a.closer = f
	return a, nil
}

// use opens a file, returns the result of read, and closes the file.
func use[T any](path string, read func(f io.ReaderAt, size int64) (T, error)) (result T, err error) {
	f, size, err := fault.Open(path)
	if err != nil {
		return result, err
	}
	defer f.Close()
	return read(f, size)
}

// newArray returns the array with elements at the given offset of src, after checking that src is large enough.
func (h *header) newArray(file string, src io.ReaderAt, offset, size int64) (*Array, error) {
	need, err := h.bytes(file)
	if err != nil {
		return nil, err
	}
	if need > size-offset {
		return nil, fault.Malformed(file, "the file is truncated: expected %s bytes for %s of %v, found %s",
			words.Thousands(int(need)), words.Shape(h.shape), h.dt, words.Thousands(int(max(0, size-offset))))
	}
	return &Array{Shape: h.shape, file: file, src: src, offset: offset, dt: h.dt, fortran: h.fortran && len(h.shape) > 1}, nil
}

// bytes returns the total size of the elements.
func (h *header) bytes(file string) (int64, error) {
	shape := h.shape
	if len(shape) == 0 {
		return 0, fault.Malformed(file, "expected an array with one row per item, found a single number")
	}
	if len(shape) > maxDims {
		return 0, fault.Malformed(file, "expected at most %d axes, found %d", maxDims, len(shape))
	}
	need := int64(h.dt.size)
	for _, s := range shape {
		if s < 0 || need > (1<<55)/int64(max(1, s)) {
			return 0, fault.Malformed(file, "impossible shape %s", words.Shape(shape))
		}
		need *= int64(max(1, s))
	}
	if slices.Contains(shape, 0) {
		return 0, fault.Malformed(file, "expected a nonempty array, found shape %s", words.Shape(shape))
	}
	if w := need / int64(h.dt.size) / int64(shape[0]); w > MaxRow {
		return 0, fault.Malformed(file, "expected at most %s values per item, found %s", words.Thousands(MaxRow), words.Thousands(int(w)))
	}
	return need, nil
}

// Len returns the number of items N.
func (a *Array) Len() int { return a.Shape[0] }

// Width returns the number of values per item.
func (a *Array) Width() int { return product(a.Shape[1:]) }

// product returns the number of elements of an array of the given shape.
func product(shape []int) int {
	n := 1
	for _, s := range shape {
		n *= s
	}
	return n
}

// Bytes returns the total size of the elements.
func (a *Array) Bytes() int64 { return int64(a.Len()) * int64(a.Width()) * int64(a.dt.size) }

// Fortran reports whether the array is in Fortran order; see [Array.RowMajor].
func (a *Array) Fortran() bool { return a.fortran }

// ReadRow sets dst to the values of item i, in row-major order.
func (a *Array) ReadRow(i int, dst []float32) error {
	if err := CheckRow(a.Len(), a.Width(), i, dst); err != nil {
		return err
	}
	b, ok := a.blocks.Get().(*rowBlock)
	if !ok {
		b = &rowBlock{}
	}
	defer a.blocks.Put(b)
	row, err := b.read(a, i, len(dst)*a.dt.size)
	if err != nil {
		return err
	}
	a.dt.decode(dst, row)
	return a.checkLoss(i, dst, row)
}

// Close closes the file, if any.
func (a *Array) Close() error {
	if a.closer == nil {
		return nil
	}
	return a.closer.Close()
}

// CheckRow returns an error unless i is one of n rows and dst has room for exactly w values.
func CheckRow(n, w, i int, dst []float32) error {
	if i < 0 || i >= n {
		return fmt.Errorf("row %d of %d rows", i, n)
	}
	if len(dst) != w {
		return fmt.Errorf("a buffer of %d values for a row of %d", len(dst), w)
	}
	return nil
}

// File returns the name of the file, for messages.
func (a *Array) File() string { return a.file }

// RowMajor converts an array in Fortran order, in which the values of an item
// are far apart, to C order, in memory or, above the limit, in a temporary
// file. It closes a unless it returns it.
func (a *Array) RowMajor(ctx context.Context, opts Options) (*Array, error) {
	if !a.fortran {
		return a, nil
	}
	out, err := newSpool(a.Bytes(), opts)
	if err != nil {
		return nil, err
	}
	if err := a.writeRows(ctx, out); err != nil {
		return nil, errors.Join(err, out.Close())
	}
	if err := a.Close(); err != nil {
		return nil, errors.Join(fault.Of(a.file, err), out.Close())
	}
	return &Array{Shape: a.Shape, file: a.file, src: out, dt: a.dt, closer: out}, nil
}

// writeRows writes the elements of an array in Fortran order to out in C order.
func (a *Array) writeRows(ctx context.Context, out io.Writer) error {
	n, w, size := a.Len(), a.Width(), a.dt.size
	// Position in a row in C order of element j in Fortran order.
	place := make([]int, w)
	for j := range place {
		rest, stride := j, w
		for _, s := range a.Shape[1:] {
			stride /= s
			place[j] += rest % s * stride
			rest /= s
		}
	}
	block := max(1, min(n, (4<<20)/(w*size)))
	in, row := make([]byte, block*size), make([]byte, block*w*size)
	for i := 0; i < n; i += block {
		if err := ctx.Err(); err != nil {
			return err
		}
		m := min(block, n-i)
		for j := range w {
			if k, err := a.src.ReadAt(in[:m*size], a.offset+(int64(j)*int64(n)+int64(i))*int64(size)); k < m*size {
				return fault.Of(a.file, err)
			}
			for r := range m {
				copy(row[(r*w+place[j])*size:][:size], in[r*size:])
			}
		}
		if _, err := out.Write(row[:m*w*size]); err != nil {
			return fault.Of(a.file, err)
		}
	}
	return nil
}

// spool stores elements that cannot be read in place.
type spool interface {
	io.WriteCloser
	io.ReaderAt
}

// memoryFile is a growing file in memory.
type memoryFile struct{ bytes.Buffer }

func (m *memoryFile) Close() error { return nil }

func (m *memoryFile) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(m.Bytes()).ReadAt(p, off)
}

// tempFile is a temporary file that is removed when it is closed.
type tempFile struct{ *os.File }

func (t tempFile) Close() error {
	err := t.File.Close()
	if rm := os.Remove(t.Name()); err == nil && !os.IsNotExist(rm) {
		err = rm
	}
	return err
}

// newSpool returns a spool in memory or, above the limit, in a temporary file of the cache folder.
func newSpool(need int64, opts Options) (spool, error) {
	if need <= opts.Memory {
		return &memoryFile{}, nil
	}
	dir := "" // the system's default
	if opts.Dir != nil {
		var err error
		if dir, err = opts.Dir(); err != nil {
			return nil, err
		}
	}
	f, err := os.CreateTemp(dir, "spool-*.tmp")
	if err != nil {
		return nil, fmt.Errorf("creating a temporary file for features: %w", err)
	}
	// Where the system allows it the name is removed at once, so that a killed
	// process leaves nothing behind. Elsewhere Close removes it.
	_ = os.Remove(f.Name())
	return tempFile{f}, nil
}

// blockBytes is the size of a read of consecutive rows. blockGap is the number of rows in between that other
// readers may have read.
const blockBytes, blockGap = 1 << 16, 64

// rowBlock is a read buffer for one goroutine. Sequential readers, alone or with others, read many rows at a
// time. Random access reads one row at a time.
type rowBlock struct {
	buf      []byte
	from, to int // the rows in buf
	next     int // the row after the last one requested
}

// read returns row i, of n bytes.
func (b *rowBlock) read(a *Array, i, n int) ([]byte, error) {
	if i < b.from || i >= b.to {
		rows := 1
		if i >= b.next && i < b.next+blockGap && b.next > 0 {
			rows = max(1, min(blockBytes/max(1, n), a.Len()-i))
		}
		if cap(b.buf) < rows*n {
			b.buf = make([]byte, rows*n)
		}
		b.from, b.to = i, i
		k, err := a.src.ReadAt(b.buf[:rows*n], a.offset+int64(i)*int64(n))
		if k < n {
			if err == io.EOF {
				return nil, fault.Malformed(a.file, "row %d is truncated", i)
			}
			return nil, fault.Of(a.file, err)
		}
		b.to = i + k/max(1, n)
	}
	b.next = i + 1
	return b.buf[(i-b.from)*n:][:n], nil
}
