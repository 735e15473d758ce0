package array

import (
	"bufio"
	"context"
	"io"
	"strings"
	"unicode/utf8"

	"credence/internal/budget"
	"credence/internal/fault"
	"credence/internal/words"
)

// Entry is an array of an NPZ file, as its header describes it.
type Entry struct {
	Name  string
	Shape []int
	Text  bool // its elements are texts
}

// EntriesNPZ returns the arrays of an NPZ file, sorted by name. One whose header is
// not understood has no shape: whoever opens it is told why.
func EntriesNPZ(path string) ([]Entry, error) {
	f, size, err := fault.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, entries, err := npzEntries(path, f, size)
	if err != nil {
		return nil, err
	}
	var list []Entry
	for _, name := range names {
		e := Entry{Name: name}
		if r, h, err := openEntry(path, entries[name]); err == nil {
			e.Shape, e.Text = h.shape, h.dt.text()
			r.Close()
		}
		list = append(list, e)
	}
	return list, nil
}

// ReadTexts reads a vector of texts or whole numbers of an NPZ file as texts, of
// which no more than opts.Memory bytes are kept.
func ReadTexts(ctx context.Context, path, name string, opts Options) ([]string, error) {
	f, size, err := fault.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	_, entries, err := npzEntries(path, f, size)
	if err != nil {
		return nil, err
	}
	e := entries[name]
	file := path + "/" + name + ".npy"
	if e == nil {
		return nil, fault.Malformed(path, "no array %q", name)
	}
	r, h, err := openEntry(file, e)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return h.texts(ctx, file, r, opts)
}

// texts reads the elements that follow the header.
func (h *npyHeader) texts(ctx context.Context, file string, r io.Reader, opts Options) ([]string, error) {
	if len(h.shape) != 1 {
		return nil, fault.Malformed(file, "an array of shape %s, but a vector with one id per item is expected", words.Shape(h.shape))
	}
	if !h.dt.text() && h.dt.kind != 'i' && h.dt.kind != 'u' || h.dt.size == 0 {
		return nil, fault.Malformed(file, "elements of type %v, but texts or whole numbers are expected as ids", h.dt)
	}
	need, err := h.bytes(file)
	if err != nil {
		return nil, err
	}
	// A text keeps 16 bytes besides its own letters.
	if err := budget.Check(budget.Of(opts.Memory), need+16*int64(h.shape[0]), file, "%s ids of %d bytes", words.Thousands(h.shape[0]), h.dt.size); err != nil {
		return nil, err
	}
	in := bufio.NewReader(fault.Reader(ctx, r))
	element := make([]byte, h.dt.size)
	var list []string // grows with what is there, whatever the header says
	for i := range h.shape[0] {
		if _, err := io.ReadFull(in, element); err != nil {
			if err == io.EOF || err == io.ErrUnexpectedEOF {
				return nil, fault.Malformed(file, "the file is cut short: %s of %s ids are there", words.Thousands(i), words.Thousands(h.shape[0]))
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
