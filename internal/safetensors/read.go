package safetensors

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"credence/internal/fault"
)

// Reasons for which a file is refused, told apart with errors.Is.
var (
	// ErrTruncated means that the file ends before its header says it does.
	ErrTruncated = errors.New("the file is truncated")
	// ErrCorrupt means that the content is not what was written.
	ErrCorrupt = errors.New("the file is corrupt")
	// ErrForeign means that the file is of another kind, or was written by
	// another program.
	ErrForeign = errors.New("the file is of another kind")
)

// ReadFile reads the file at path. Its errors name the file.
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

// Read reads a file of the given size that [Write] wrote. It allocates no more
// than a small multiple of size, whatever the header says.
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
		return nil, fmt.Errorf("%w: it begins with %q, and a safetensors file with the length of its header", ErrForeign, head)
	case int64(n) > size-8:
		return nil, fmt.Errorf("%w: a header of %d bytes in a file of %d, or not a safetensors file", ErrTruncated, n, size)
	}
	header := make([]byte, n)
	if _, err := io.ReadFull(r, header); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTruncated, err)
	}
	meta, parts, want, err := parse(header, size-8-int64(n))
	if err != nil {
		return nil, err
	}
	data := make([]byte, size-8-int64(n))
	if _, err := io.ReadFull(r, data); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTruncated, err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != want {
		return nil, fmt.Errorf("%w: the checksum of the values is %x, not %s", ErrCorrupt, sum, want)
	}
	f := &File{Metadata: meta}
	for _, p := range parts {
		p.Values = make([]float32, (p.end-p.begin)/4)
		if _, err := binary.Decode(data[p.begin:p.end], binary.LittleEndian, p.Values); err != nil {
			return nil, err
		}
		f.Tensors = append(f.Tensors, p.Tensor)
	}
	return f, nil
}

// part is a tensor, without its values, and where its bytes lie among those of
// all tensors.
type part struct {
	Tensor
	begin, end int64
}

// parse reads a header for a data section of the given size: the metadata, the
// tensors in the order of their places, and the checksum of the data as the
// header states it.
func parse(header []byte, size int64) (meta map[string]string, parts []part, sum string, err error) {
	text := bytes.TrimRight(header, " ")
	if !bytes.HasPrefix(text, []byte("{")) {
		return nil, nil, "", fmt.Errorf("%w: no JSON object at byte 8 where a safetensors file has one", ErrForeign)
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, nil, "", fmt.Errorf("%w: header: %v", ErrCorrupt, err)
	}
	if m, ok := raw["__metadata__"]; ok {
		if err := json.Unmarshal(m, &meta); err != nil {
			return nil, nil, "", fmt.Errorf("%w: metadata: %v", ErrCorrupt, err)
		}
		delete(raw, "__metadata__")
	}
	own, sealed := meta[headerSum]
	sum, summed := meta[dataSum]
	if !sealed || !summed {
		return nil, nil, "", fmt.Errorf("%w: a safetensors file without checksums", ErrForeign)
	}
	if err := checkSeal(text, own); err != nil {
		return nil, nil, "", err
	}
	delete(meta, headerSum)
	delete(meta, dataSum)
	for name, text := range raw {
		p, err := newPart(name, text, size)
		if err != nil {
			return nil, nil, "", err
		}
		parts = append(parts, p)
	}
	return meta, parts, sum, arrange(parts, size)
}

// newPart reads what a header says of one tensor.
func newPart(name string, text []byte, size int64) (part, error) {
	var e entry
	if err := json.Unmarshal(text, &e); err != nil {
		return part{}, fmt.Errorf("%w: tensor %q: %v", ErrCorrupt, name, err)
	}
	n, ok := product(e.Shape)
	if !ok || len(e.Offsets) != 2 || e.Type != "F32" ||
		e.Offsets[0] < 0 || e.Offsets[1] < e.Offsets[0] || e.Offsets[1]-e.Offsets[0] != 4*int64(n) {
		return part{}, fmt.Errorf("%w: tensor %q has type %s, shape %v and bytes %v", ErrCorrupt, name, e.Type, e.Shape, e.Offsets)
	}
	if e.Offsets[1] > size {
		return part{}, fmt.Errorf("%w: tensor %q ends at byte %d of %d", ErrTruncated, name, e.Offsets[1], size)
	}
	return part{Tensor{Name: name, Shape: e.Shape}, e.Offsets[0], e.Offsets[1]}, nil
}

// arrange sorts tensors by place and refuses gaps, overlaps and bytes that are
// none's.
func arrange(parts []part, size int64) error {
	slices.SortFunc(parts, func(a, b part) int {
		// An empty tensor lies before a full one.
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end), cmp.Compare(a.Name, b.Name))
	})
	end := int64(0)
	for _, p := range parts {
		if p.begin != end {
			return fmt.Errorf("%w: tensor %q begins at byte %d, not %d", ErrCorrupt, p.Name, p.begin, end)
		}
		end = p.end
	}
	if end != size {
		return fmt.Errorf("%w: %d bytes after the last tensor", ErrCorrupt, size-end)
	}
	return nil
}

// checkSeal compares a header with its checksum.
func checkSeal(text []byte, sum string) error {
	full, _ := json.Marshal(sum)
	open := bytes.Replace(text, append([]byte(`"`+headerSum+`":`), full...), []byte(empty), 1)
	if got := sha256.Sum256(open); hex.EncodeToString(got[:]) != sum {
		return fmt.Errorf("%w: the checksum of the header is %x, not %s", ErrCorrupt, got, sum)
	}
	return nil
}
