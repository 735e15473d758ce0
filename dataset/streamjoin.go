package dataset

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"credence/internal/table"
	"credence/internal/words"
)

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
	first.FeatureOptions = fo
	matches[0].apply(&first.FeatureOptions)
	s, err := newStream(ctx, path, t, matches[0].schema, first)
	if err != nil {
		return nil, err
	}
	s.match = matches[0]
	numbered := s.f != nil && s.f.numbered || s.f == nil && s.item < 0
	item := ""
	if s.f == nil && s.item >= 0 {
		item = t.Header()[s.item]
	}
	further := newReading(fo.further(item))
	further.lazy, further.several = true, true
	list, err := readFiles(ctx, opts.Beside, matches[1:], further, false)
	if err == nil && len(list) > 0 && list[0].Rows == nil && !numbered {
		err = closing(list, errIDsAlone(list[0].path))
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	for _, b := range list {
		if !numbered && !b.numbered {
			if s.f != nil {
				alignNames(s.f, b)
			}
			b.at = placesOf(b.Items)
			if b.files {
				for i, name := range bareNames(b.Items) {
					if !b.at.has(name) {
						b.at[name] = i
					}
				}
			}
		}
		s.beside = append(s.beside, b)
		numbered = numbered && b.numbered
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
		parts = append(parts, b.Parts...)
	}
	return parts
}

// readBeside reads the features that other files have of the item just read,
// whose own features may be bad. Items without ids of their own take those of
// the first file that has some.
func (s *Stream) readBeside(id string, bad error, row []float32) (string, error) {
	n := s.row - 1
	for _, b := range s.beside {
		at, ok := n, n < len(b.Items)
		if b.at != nil {
			at, ok = b.at[id]
		}
		switch {
		case !ok && b.at == nil:
			return "", lengthError(b, "more")
		case !ok:
			if bad == nil {
				bad = &ParseError{File: b.path, Msg: fmt.Sprintf("no features for item %q%s", id, lackExtension([]string{id}, b.Items))}
			}
			continue
		case b.at == nil && !b.numbered:
			id = b.Items[at]
		}
		if b.Rows == nil {
			continue
		}
		w := b.Rows.Width()
		if err := b.Rows.ReadRow(at, row[:w]); err != nil && bad == nil {
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
		if b.at == nil && len(b.Items) != s.row {
			return lengthError(b, words.Thousands(s.row))
		}
	}
	return nil
}

// lengthError refuses a file without ids of another length than the first.
func lengthError(f *features, first string) error {
	return &ParseError{File: f.path, Msg: fmt.Sprintf("%s, but the first file has %s, and without ids they are joined by position",
		number(len(f.Items), "item"), first)}
}

// Cut has batches end after every so many items, counted from the first, whatever their own size. It is called
// before the first batch is read.
func (s *Stream) Cut(items int) { s.block = items }

// Pass has stretches of as many items as [Stream.Cut] says passed over, without being looked at, for which a function of the first
// one's place is true. It is called before the first batch is read.
func (s *Stream) Pass(over func(first int) bool) { s.pass = over }

// Read returns how many items were read, or passed over.
func (s *Stream) Read() int { return s.row }

// passOver passes over the items that nobody wants.
func (s *Stream) passOver() error {
	for s.pass != nil && s.block > 0 && s.row%s.block == 0 && s.pass(s.row) {
		n := s.block
		if s.f != nil {
			n = min(n, s.f.length()-s.row)
		} else {
			var err error
			if n, err = table.Skip(s.t, n); err != nil {
				return err
			}
		}
		s.row += n
		if n < s.block {
			return nil
		}
	}
	return nil
}
