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
	"os"
	"slices"
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
	f, err := os.Open(path)
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
		return nil, fmt.Errorf("%w: a header of %d bytes is not that of a safetensors file", ErrForeign, n)
	case int64(n) > size-8:
		return nil, fmt.Errorf("%w: a header of %d bytes in a file of %d, or not a safetensors file", ErrTruncated, n, size)
	}
	header := make([]byte, n)
	if _, err := io.ReadFull(r, header); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTruncated, err)
	}
	f, places, want, err := parse(header, size-8-int64(n))
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
	for i := range f.Tensors {
		part := data[places[i][0]:places[i][1]]
		values := make([]float32, len(part)/4)
		for j := range values {
			values[j] = math.Float32frombits(binary.LittleEndian.Uint32(part[4*j:]))
		}
		f.Tensors[i].Values = values
	}
	return f, nil
}

// parse reads a header for a data section of the given size. places are the
// tensors' bytes in it; sum is its checksum as the header states it.
func parse(header []byte, size int64) (f *File, places [][2]int64, sum string, err error) {
	text := bytes.TrimRight(header, " ")
	if text[0] != '{' {
		return nil, nil, "", fmt.Errorf("%w: no JSON object at byte 8 where a safetensors file has one", ErrForeign)
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, nil, "", fmt.Errorf("%w: header: %v", ErrCorrupt, err)
	}
	f = &File{}
	if m, ok := raw["__metadata__"]; ok {
		if err := json.Unmarshal(m, &f.Metadata); err != nil {
			return nil, nil, "", fmt.Errorf("%w: metadata: %v", ErrCorrupt, err)
		}
		delete(raw, "__metadata__")
	}
	own, sealed := f.Metadata[headerSum]
	sum, summed := f.Metadata[dataSum]
	if !sealed || !summed {
		return nil, nil, "", fmt.Errorf("%w: a safetensors file without checksums", ErrForeign)
	}
	if err := checkSeal(text, own); err != nil {
		return nil, nil, "", err
	}
	delete(f.Metadata, headerSum)
	delete(f.Metadata, dataSum)

	end := int64(0)
	for name, text := range raw {
		var e entry
		if err := json.Unmarshal(text, &e); err != nil {
			return nil, nil, "", fmt.Errorf("%w: tensor %q: %v", ErrCorrupt, name, err)
		}
		n, ok := product(e.Shape)
		if !ok || len(e.Offsets) != 2 || e.Type != "F32" ||
			e.Offsets[0] < 0 || e.Offsets[1] < e.Offsets[0] || e.Offsets[1]-e.Offsets[0] != 4*int64(n) {
			return nil, nil, "", fmt.Errorf("%w: tensor %q has type %s, shape %v and bytes %v", ErrCorrupt, name, e.Type, e.Shape, e.Offsets)
		}
		if e.Offsets[1] > size {
			return nil, nil, "", fmt.Errorf("%w: tensor %q ends at byte %d of %d", ErrTruncated, name, e.Offsets[1], size)
		}
		end = max(end, e.Offsets[1])
		f.Tensors = append(f.Tensors, Tensor{Name: name, Shape: e.Shape})
		places = append(places, [2]int64{e.Offsets[0], e.Offsets[1]})
	}
	if end != size {
		return nil, nil, "", fmt.Errorf("%w: %d bytes after the last tensor", ErrCorrupt, size-end)
	}
	return order(f, places, sum)
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

// order sorts tensors by place and refuses any that overlap.
func order(f *File, places [][2]int64, sum string) (*File, [][2]int64, string, error) {
	index := make([]int, len(places))
	for i := range index {
		index[i] = i
	}
	slices.SortFunc(index, func(a, b int) int {
		switch {
		case places[a][0] != places[b][0]:
			return int(min(max(places[a][0]-places[b][0], -1), 1))
		case places[a][1] != places[b][1]: // an empty tensor lies before a full one
			return int(min(max(places[a][1]-places[b][1], -1), 1))
		}
		return bytes.Compare([]byte(f.Tensors[a].Name), []byte(f.Tensors[b].Name))
	})
	tensors, sorted := make([]Tensor, len(index)), make([][2]int64, len(index))
	end := int64(0)
	for to, i := range index {
		tensors[to], sorted[to] = f.Tensors[i], places[i]
		if places[i][0] != end {
			return nil, nil, "", fmt.Errorf("%w: tensor %q begins at byte %d, not %d", ErrCorrupt, f.Tensors[i].Name, places[i][0], end)
		}
		end = places[i][1]
	}
	f.Tensors = tensors
	return f, sorted, sum, nil
}
