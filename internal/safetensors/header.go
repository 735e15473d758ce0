package safetensors

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"credence/internal/jsontext"
)

// tensor is a tensor without its values, and the range of its bytes in the data of
// all tensors.
type tensor struct {
	Tensor
	begin, end int64
}

// headerReader reads a header in one pass: most of it are texts that are JSON themselves, with an escape before each quote, and the standard
// library would read them four times.
type headerReader struct {
	*jsontext.Scanner
	meta    map[string]string
	tensors []tensor
}

// parse parses a header for a data section of the given size. It returns the
// metadata, the tensors in the order of their data, and the stated checksum of the
// data.
func parse(header []byte, size int64) (meta map[string]string, tensors []tensor, sum string, err error) {
	text := bytes.TrimRight(header, " ")
	if !bytes.HasPrefix(text, []byte("{")) {
		return nil, nil, "", fmt.Errorf("%w: expected a JSON object at byte 8", ErrForeign)
	}
	r := &headerReader{Scanner: jsontext.NewScanner(text, func(s *jsontext.Scanner, _ jsontext.Problem) error {
		return fmt.Errorf("header: invalid JSON at byte %d", 8+s.At)
	})}
	if err := r.read(); err != nil {
		return nil, nil, "", fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	own, sealed := r.meta[headerSum]
	sum, summed := r.meta[dataSum]
	if !sealed || !summed {
		return nil, nil, "", fmt.Errorf("%w: a safetensors file without checksums", ErrForeign)
	}
	if err := checkSeal(text, own); err != nil {
		return nil, nil, "", err
	}
	delete(r.meta, headerSum)
	delete(r.meta, dataSum)
	for _, t := range r.tensors {
		if t.end > size {
			return nil, nil, "", fmt.Errorf("%w: tensor %q ends at byte %d of %d", ErrTruncated, t.Name, t.end, size)
		}
	}
	return r.meta, r.tensors, sum, arrange(r.tensors, size)
}

// read reads the header.
func (r *headerReader) read() error {
	seen := map[string]bool{}
	err := r.Object(func(key []byte) error {
		name := string(key)
		if seen[name] {
			return fmt.Errorf("header: %q twice", name)
		}
		seen[name] = true
		if name == "__metadata__" {
			return r.metadata()
		}
		t, err := r.tensor(name)
		r.tensors = append(r.tensors, t)
		return err
	})
	if err == nil && !r.Ended() {
		err = errors.New("header: text after the JSON object")
	}
	return err
}

// metadata reads the object of texts.
func (r *headerReader) metadata() error {
	r.meta = map[string]string{}
	return r.Object(func(key []byte) error {
		name := string(key)
		value, err := r.String()
		r.meta[name] = string(value)
		return err
	})
}

// tensor reads the entry of one tensor.
func (r *headerReader) tensor(name string) (tensor, error) {
	var e entry
	err := r.Object(func(key []byte) (err error) {
		var text []byte
		switch string(key) {
		case "dtype":
			text, err = r.String()
			e.Type = string(text)
		case "shape":
			e.Shape, err = numbers[int](r)
		case "data_offsets":
			e.Offsets, err = numbers[int64](r)
		default:
			err = errors.New("unknown key " + strconv.Quote(string(key)))
		}
		return err
	})
	if err != nil {
		return tensor{}, fmt.Errorf("tensor %q: %w", name, err)
	}
	n, ok := product(e.Shape)
	if !ok || len(e.Offsets) != 2 || e.Type != "F32" ||
		e.Offsets[0] < 0 || e.Offsets[1] < e.Offsets[0] || e.Offsets[1]-e.Offsets[0] != 4*int64(n) {
		return tensor{}, fmt.Errorf("tensor %q has type %s, shape %v and bytes %v", name, e.Type, e.Shape, e.Offsets)
	}
	return tensor{Tensor{Name: name, Shape: e.Shape}, e.Offsets[0], e.Offsets[1]}, nil
}

// numbers reads a list of whole numbers. The result is not nil.
func numbers[T int | int64](r *headerReader) ([]T, error) {
	list := []T{}
	err := r.Array(func(int) error {
		word := r.Word(20)
		x, err := strconv.ParseInt(string(word), 10, 64)
		if err != nil || T(x) < 0 || int64(T(x)) != x || !jsontext.IsNumber(string(word)) {
			return fmt.Errorf("expected a whole number, found %q", word)
		}
		r.At += len(word)
		list = append(list, T(x))
		return nil
	})
	return list, err
}

// arrange sorts tensors by position, and returns an error if there are gaps,
// overlaps or bytes after the last.
func arrange(tensors []tensor, size int64) error {
	slices.SortFunc(tensors, func(a, b tensor) int {
		// An empty tensor precedes a nonempty one.
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end), cmp.Compare(a.Name, b.Name))
	})
	end := int64(0)
	for _, t := range tensors {
		if t.begin != end {
			return fmt.Errorf("%w: tensor %q begins at byte %d, not %d", ErrCorrupt, t.Name, t.begin, end)
		}
		end = t.end
	}
	if end != size {
		return fmt.Errorf("%w: %d bytes after the last tensor", ErrCorrupt, size-end)
	}
	return nil
}

// checkSeal compares a header with its checksum, which is of the header with an empty checksum.
func checkSeal(text []byte, sum string) error {
	h := sha256.New()
	key := []byte(`"` + headerSum + `":"`) // occurs once, as empty does
	if i := bytes.Index(text, key) + len(key); i >= len(key) && bytes.HasPrefix(text[i:], []byte(sum+`"`)) {
		h.Write(text[:i])
		text = text[i+len(sum):]
	}
	h.Write(text)
	if got := h.Sum(nil); hex.EncodeToString(got) != sum {
		return fmt.Errorf("%w: expected checksum %s of the header, found %x", ErrCorrupt, sum, got)
	}
	return nil
}
