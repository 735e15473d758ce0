// Package safetensors reads and writes safetensors files of float32 tensors
// with two checksums, so that damage anywhere in a file is detected:
//
//	8 bytes    length n of the header, little-endian
//	n bytes    the header, JSON, padded with spaces to a multiple of 8
//	the rest   the tensors' values, little-endian, one after the other
//
// The header maps names of tensors to type, shape and position, and the key
// __metadata__ to strings. This package adds two of these: data_sha256, of the
// values, and header_sha256, of the header without padding and with this value
// empty. Any safetensors reader can open such a file. [Read] returns an error for
// files without the checksums.
package safetensors

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"credence/internal/fault"
)

// Keys of the checksums in the metadata.
const (
	dataSum   = "data_sha256"
	headerSum = "header_sha256"
)

// Tensor is a named array of numbers in row-major order.
type Tensor struct {
	Name   string
	Shape  []int
	Values []float32
}

// File is the content of a file.
type File struct {
	Tensors  []Tensor
	Metadata map[string]string
}

// ByName returns the tensors by name.
func (f *File) ByName() map[string]*Tensor {
	m := make(map[string]*Tensor, len(f.Tensors))
	for i := range f.Tensors {
		m[f.Tensors[i].Name] = &f.Tensors[i]
	}
	return m
}

// Write writes f. Equal contents result in equal bytes: metadata are sorted by key
// and tensors keep their order.
func Write(w io.Writer, f *File) error {
	sum := sha256.New()
	if err := writeValues(sum, f.Tensors); err != nil {
		return err
	}
	header, err := f.header(hex.EncodeToString(sum.Sum(nil)))
	if err != nil {
		return err
	}
	size := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	if _, err := w.Write(append(size, header...)); err != nil {
		return err
	}
	return writeValues(w, f.Tensors)
}

// header returns the padded header with both checksums.
func (f *File) header(data string) ([]byte, error) {
	meta := map[string]string{dataSum: data, headerSum: ""}
	for k, v := range f.Metadata {
		if _, ours := meta[k]; ours {
			return nil, fmt.Errorf("safetensors: metadata key %q is reserved", k)
		}
		meta[k] = v
	}
	var b bytes.Buffer
	b.WriteString(`{"__metadata__":`)
	writeJSON(&b, meta)
	seen := map[string]bool{"__metadata__": true}
	at := 0
	for _, t := range f.Tensors {
		if seen[t.Name] {
			return nil, fmt.Errorf("safetensors: duplicate tensor %q", t.Name)
		}
		seen[t.Name] = true
		if n, ok := product(t.Shape); !ok || n != len(t.Values) {
			return nil, fmt.Errorf("safetensors: tensor %q of shape %v has %d values", t.Name, t.Shape, len(t.Values))
		}
		end := at + 4*len(t.Values)
		b.WriteByte(',')
		writeJSON(&b, t.Name)
		b.WriteByte(':')
		shape := append([]int{}, t.Shape...) // never null
		writeJSON(&b, entry{"F32", shape, []int64{int64(at), int64(end)}})
		at = end
	}
	b.WriteByte('}')
	sealed := seal(b.Bytes())
	return append(sealed, bytes.Repeat([]byte(" "), -len(sealed)&7)...), nil
}

// entry describes a tensor in a header.
type entry struct {
	Type    string  `json:"dtype"`
	Shape   []int   `json:"shape"`
	Offsets []int64 `json:"data_offsets"`
}

// empty is the header's own checksum before it is known. It can occur only once,
// because quotes inside strings are escaped in JSON.
const empty = `"` + headerSum + `":""`

// seal inserts the header's checksum.
func seal(header []byte) []byte {
	sum := sha256.Sum256(header)
	full := `"` + headerSum + `":"` + hex.EncodeToString(sum[:]) + `"`
	return bytes.Replace(header, []byte(empty), []byte(full), 1)
}

// writeJSON writes v without escaping HTML. Strings and numbers, of which v consists, always have an
// encoding.
func writeJSON(b *bytes.Buffer, v any) {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)
	b.Truncate(b.Len() - 1) // the line feed
}

func writeValues(w io.Writer, tensors []Tensor) error {
	buf := make([]byte, 0, 1<<14)
	for _, t := range tensors {
		for some := range slices.Chunk(t.Values, cap(buf)/4) {
			buf, _ = binary.Append(buf[:0], binary.LittleEndian, some)
			if _, err := w.Write(buf); err != nil {
				return err
			}
		}
	}
	return nil
}

// product returns the number of values of a shape. ok is false if an axis is
// negative or the number overflows.
func product(shape []int) (n int, ok bool) {
	n = 1
	for _, s := range shape {
		if s < 0 || s > 0 && n > math.MaxInt/4/s {
			return 0, false
		}
		n *= s
	}
	return n, true
}

// Causes of errors of [Read], to be distinguished with errors.Is.
var (
	// ErrTruncated means that the file is shorter than its header states.
	ErrTruncated = errors.New("the file is truncated")
	// ErrCorrupt means that the contents differ from what was written.
	ErrCorrupt = errors.New("the file is corrupt")
	// ErrForeign means that the file has another format, or was written by
	// another program.
	ErrForeign = errors.New("the file has another format")
)

// ReadFile reads the file at path. Its errors contain the path.
func ReadFile(path string) (*File, error) {
	f, err := fault.OpenFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("reading %s: %w: not a regular file", path, ErrForeign)
	}
	out, err := Read(f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return out, nil
}

// Read reads a file of the given size that was written by [Write]. It allocates no
// more than a small multiple of size, whatever the header states.
func Read(r io.Reader, size int64) (*File, error) {
	var head [8]byte
	if size < 8 {
		return nil, fmt.Errorf("%w: %d bytes", ErrTruncated, size)
	}
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTruncated, err)
	}
	n := binary.LittleEndian.Uint64(head[:])
	switch {
	case n < 2 || n > 100<<20: // the limit of the format
		return nil, fmt.Errorf("%w: expected the length of a header, found %q", ErrForeign, head)
	case int64(n) > size-8:
		return nil, fmt.Errorf("%w: a header of %d bytes in a file of %d, or not a safetensors file", ErrTruncated, n, size)
	}
	header := make([]byte, n)
	if _, err := io.ReadFull(r, header); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTruncated, err)
	}
	meta, tensors, want, err := parse(header, size-8-int64(n))
	if err != nil {
		return nil, err
	}
	f := &File{Metadata: meta, Tensors: make([]Tensor, len(tensors))}
	sum := sha256.New()
	const chunk = 1 << 15 // the values are in memory once, not also as bytes
	buf := make([]byte, min(size-8-int64(n), chunk))
	for i, t := range tensors {
		t.Values = make([]float32, (t.end-t.begin)/4)
		for some := range slices.Chunk(t.Values, chunk/4) {
			text := buf[:4*len(some)]
			if _, err := io.ReadFull(r, text); err != nil {
				return nil, fmt.Errorf("%w: %w", ErrTruncated, err)
			}
			sum.Write(text)
			_, _ = binary.Decode(text, binary.LittleEndian, some) // they have the same size
		}
		f.Tensors[i] = t.Tensor
	}
	if got := sum.Sum(nil); hex.EncodeToString(got) != want {
		return nil, fmt.Errorf("%w: expected checksum %s of the values, found %x", ErrCorrupt, want, got)
	}
	return f, nil
}
