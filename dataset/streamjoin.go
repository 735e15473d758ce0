package dataset

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"credence/internal/table"
	"credence/internal/words"
)

// besideFile is a file of features that is joined to the items of a stream.
type besideFile struct {
	name string
	f    *features
	at   map[string]int // row of an item; nil where rows are joined by position
}

// openJoined opens a stream of the items in path, or in t if that is not nil,
// with the files of opts.Beside joined to them.
func openJoined(ctx context.Context, path string, t table.Table, parts []Part, opts StreamOptions) (*Stream, error) {
	fo := opts.FeatureOptions
	fo.Schema = parts
	matches, err := matchFiles(ctx, slices.Concat([]string{path}, opts.Beside), t, &fo)
	if err != nil {
		if t != nil {
			err = errors.Join(err, t.Close())
		}
		return nil, err
	}
	first := opts
	first.FeatureOptions = matches[0].apply(fo)
	var s *Stream
	if t != nil {
		s, err = newStream(ctx, t, matches[0].schema, first)
	} else {
		s, err = newArrayStream(ctx, path, matches[0].schema, first)
	}
	if err != nil {
		return nil, err
	}
	s.match = matches[0]
	numbered := s.f != nil && s.f.numbered || s.f == nil && s.item < 0
	fo = fo.further()
	fo.lazy = true
	for k, file := range opts.Beside {
		f, err := matches[k+1].read(ctx, file, fo)
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		b := &besideFile{name: file, f: f}
		if !numbered && !f.numbered {
			b.at = make(map[string]int, len(f.Items))
			for i, id := range f.Items {
				b.at[id] = i
			}
		}
		s.beside = append(s.beside, b)
		numbered = numbered && f.numbered
	}
	return s, nil
}

// allParts returns the features of the stream and of what is joined to it,
// under the names of the model.
func (s *Stream) allParts() []Part {
	parts := slices.Clone(s.parts)
	for i := range parts {
		parts[i].Name = s.match.modelName(parts[i].Name)
	}
	for _, b := range s.beside {
		parts = append(parts, b.f.Parts...)
	}
	return parts
}

// readBeside reads the features that other files have of the item just read,
// whose own features may be bad. Items without ids of their own take those of
// the first file that has some.
func (s *Stream) readBeside(id string, bad error, row []float32) (string, error) {
	n := s.row - 1
	for _, b := range s.beside {
		at, ok := n, n < len(b.f.Items)
		if b.at != nil {
			at, ok = b.at[id]
		}
		switch {
		case !ok && b.at == nil:
			return "", s.lengthError(b, "more")
		case !ok:
			if bad == nil {
				bad = &ParseError{File: b.name, Msg: fmt.Sprintf("no features for item %q", id)}
			}
			continue
		case b.at == nil && !b.f.numbered:
			id = b.f.Items[at]
		}
		w := b.f.Rows.Width()
		if err := b.f.Rows.ReadRow(at, row[:w]); err != nil && bad == nil {
			bad = err
		}
		row = row[w:]
	}
	return id, bad
}

// checkLengths is called after the last item: files that are joined by position
// end there too.
func (s *Stream) checkLengths() error {
	for _, b := range s.beside {
		if b.at == nil && len(b.f.Items) != s.row {
			return s.lengthError(b, words.Thousands(s.row))
		}
	}
	return nil
}

func (s *Stream) lengthError(b *besideFile, found string) error {
	return &ParseError{File: b.name, Msg: fmt.Sprintf("%s, but the first file has %s, and without ids they are joined by position",
		number(len(b.f.Items), "item"), found)}
}
