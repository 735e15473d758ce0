// Package safetensors reads and writes safetensors files of float32 tensors
// with two checksums, so that damage anywhere in a file is noticed:
//
//	8 bytes    length n of the header, little-endian
//	n bytes    the header, JSON, padded with spaces to a multiple of 8
//	the rest   the tensors' values, little-endian, one after the other
//
// The header maps names of tensors to type, shape and place, and the key
// __metadata__ to strings. Two of these are added here: data_sha256, of the
// rest, and header_sha256, of the header without padding and with this very
// value empty. Any safetensors reader opens such a file; [Read] refuses files
// without the sums.
package safetensors

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
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

// ByName returns the tensors by their names.
func (f *File) ByName() map[string]*Tensor {
	m := make(map[string]*Tensor, len(f.Tensors))
	for i := range f.Tensors {
		m[f.Tensors[i].Name] = &f.Tensors[i]
	}
	return m
}

// Write writes f. Equal contents give equal bytes: metadata are sorted by key
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
			return nil, fmt.Errorf("safetensors: metadata key %q is taken", k)
		}
		meta[k] = v
	}
	var b bytes.Buffer
	b.WriteString(`{"__metadata__":`)
	if err := writeJSON(&b, meta); err != nil {
		return nil, err
	}
	seen := map[string]bool{"__metadata__": true}
	at := 0
	for _, t := range f.Tensors {
		if seen[t.Name] {
			return nil, fmt.Errorf("safetensors: two tensors are called %q", t.Name)
		}
		seen[t.Name] = true
		if n, ok := product(t.Shape); !ok || n != len(t.Values) {
			return nil, fmt.Errorf("safetensors: tensor %q of shape %v has %d values", t.Name, t.Shape, len(t.Values))
		}
		end := at + 4*len(t.Values)
		b.WriteByte(',')
		if err := writeJSON(&b, t.Name); err != nil {
			return nil, err
		}
		b.WriteByte(':')
		shape := append([]int{}, t.Shape...) // never null
		if err := writeJSON(&b, entry{"F32", shape, []int64{int64(at), int64(end)}}); err != nil {
			return nil, err
		}
		at = end
	}
	b.WriteByte('}')
	sealed := seal(b.Bytes())
	return append(sealed, bytes.Repeat([]byte(" "), -len(sealed)&7)...), nil
}

// entry is what a header says of a tensor.
type entry struct {
	Type    string  `json:"dtype"`
	Shape   []int   `json:"shape"`
	Offsets []int64 `json:"data_offsets"`
}

// empty is the header's own checksum before it is known. Quotes inside strings
// are escaped in JSON, so it can occur but once.
const empty = `"` + headerSum + `":""`

// seal puts the header's checksum into it.
func seal(header []byte) []byte {
	sum := sha256.Sum256(header)
	full := `"` + headerSum + `":"` + hex.EncodeToString(sum[:]) + `"`
	return bytes.Replace(header, []byte(empty), []byte(full), 1)
}

// writeJSON writes v without escaping what only HTML needs escaped.
func writeJSON(b *bytes.Buffer, v any) error {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("safetensors: %w", err)
	}
	b.Truncate(b.Len() - 1) // the line's end
	return nil
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

// product returns the number of values of a shape, unless it is negative or
// overflows.
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
