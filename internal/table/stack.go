package table

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"credence/internal/fault"
	"credence/internal/words"
)

// stack concatenates several collections of labeled items into one table. Files of one
// data set often each number their items from 1: if an id refers to different items in two
// files, all ids are prefixed with the name of their file, as in "dev/1". An item that is
// equal in two files is one item with the votes of both.
type stack struct {
	tables []Table
	to     [][]int // column of the stack for each column of a file
	names  []string
	roles  []Role
	prefix []string // of ids by file, or ""
	item   int      // column of ids
	once   map[string]bool
	at     int   // index of the file of the last record
	before []int // lines of all files before each file up to that one
	ended  bool
	cells  []Cell
}

// OpenStack opens collections of labeled items as one table, which has the items of the
// first file, then those of the second, and so on.
func OpenStack(ctx context.Context, paths []string, opts Options) (Table, error) {
	s := &stack{prefix: make([]string, len(paths)), once: map[string]bool{}, before: []int{0}}
	for _, path := range paths {
		t, err := Open(ctx, path, opts)
		if err == nil {
			s.tables = append(s.tables, t)
			err = s.add(t)
		}
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	s.item = slices.Index(s.roles, ItemRole)
	if err := s.compare(ctx, paths, opts); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if !opts.Items {
		s.once = nil
	}
	s.cells = missing(len(s.names))
	return s, nil
}

// IsCollection reports whether a table contains items with their votes.
func IsCollection(t Table) bool {
	roles := t.Traits().Roles
	return slices.Contains(roles, LabelRole) && slices.Contains(roles, ItemRole)
}

// add adds the columns of a file.
func (s *stack) add(t Table) error {
	roles := t.Traits().Roles
	var to []int
	for i, name := range t.Header() {
		role := roles[i]
		at := slices.Index(s.names, name)
		if role == ItemRole && at < 0 {
			at = slices.Index(s.roles, ItemRole)
		}
		if at < 0 {
			at = len(s.names)
			s.names, s.roles = append(s.names, name), append(s.roles, role)
		}
		// A column that is constant in one file need not be in another.
		if min(s.roles[at], role) == DataRole && max(s.roles[at], role) == NoteRole {
			s.roles[at] = DataRole
			role = DataRole
		}
		if s.roles[at] != role {
			return &fault.Error{File: t.Name(), Msg: fmt.Sprintf("%q has another meaning than in %s", name, s.tables[0].Name())}
		}
		to = append(to, at)
	}
	s.to = append(s.to, to)
	return nil
}

// compare checks whether equal ids in different files refer to equal items.
func (s *stack) compare(ctx context.Context, paths []string, opts Options) error {
	opts.Items = true
	seed := maphash.MakeSeed()
	seen := map[string]uint64{}
	differ := false
	for k, path := range paths {
		t, err := Open(ctx, path, opts)
		if err != nil {
			return err
		}
		to := s.to[k]
		err = Records(ctx, t, func(rec []Cell) error {
			id, sum := "", uint64(0)
			for i := range rec {
				switch s.roles[to[i]] {
				case ItemRole:
					id = strings.Clone(rec[i].String())
				case DataRole, TextRole: // in any order
					sum += maphash.String(seed, s.names[to[i]]+"\x00"+rec[i].String())
				}
			}
			if before, ok := seen[id]; ok && before != sum {
				differ = true
			}
			seen[id] = sum
			return t.Keep(64 + len(id))
		})
		if err := errors.Join(err, t.Close()); err != nil {
			return err
		}
	}
	if differ {
		s.name(paths)
	}
	return nil
}

// name sets the prefixes of ids: base names of the files if they are distinct, else paths.
func (s *stack) name(paths []string) {
	s.prefix = words.Each(paths, func(path string) string {
		base := strings.TrimSuffix(filepath.Base(path), ".gz")
		return strings.TrimSuffix(base, filepath.Ext(base)) + "/"
	})
	if len(slices.Compact(slices.Sorted(slices.Values(s.prefix)))) < len(paths) {
		s.prefix = words.Each(paths, func(path string) string { return filepath.ToSlash(path) + "/" })
	}
}

// Next returns the next record, going on to the next file if necessary.
func (s *stack) Next() ([]Cell, error) {
	for {
		rec, err := s.tables[s.at].Next()
		if err == io.EOF && s.at+1 < len(s.tables) {
			s.before = append(s.before, s.Line())
			s.at++
			continue
		}
		if err != nil {
			s.ended = s.ended || err == io.EOF
			return nil, err
		}
		for i := range s.cells {
			s.cells[i] = Cell{Kind: MissingCell}
		}
		for i, to := range s.to[s.at] {
			s.cells[to] = rec[i]
		}
		id := s.prefix[s.at] + s.cells[s.item].String()
		s.cells[s.item] = Cell{Text: id}
		if s.once != nil {
			if s.once[id] {
				continue
			}
			s.once[strings.Clone(id)] = true
			if err := s.Keep(64 + len(id)); err != nil {
				return nil, err
			}
		}
		return s.cells, nil
	}
}

func (s *stack) Header() []string     { return s.names }
func (s *stack) Line() int            { return s.before[s.at] + s.tables[s.at].Line() }
func (s *stack) Keep(bytes int) error { return s.tables[s.at].Keep(bytes) }

// Name returns the file of the last record, and all files after the end.
func (s *stack) Name() string {
	if !s.ended {
		return s.tables[s.at].Name()
	}
	return strings.Join(words.Each(s.tables, Table.Name), ", ")
}

// Traits returns the combined traits of all files.
func (s *stack) Traits() Traits {
	t := Traits{Roles: s.roles}
	for _, p := range s.tables {
		t.Lists = t.Lists || p.Traits().Lists
	}
	return t
}

// Notes returns the distinct warnings of all files.
func (s *stack) Notes() []error {
	var list []error
	for _, p := range s.tables {
		for _, note := range p.Notes() {
			if !slices.ContainsFunc(list, func(e error) bool { return e.Error() == note.Error() }) {
				list = append(list, note)
			}
		}
	}
	return list
}

// Unread returns the reason why a file cannot read a column, or nil.
func (s *stack) Unread(col int) error {
	for k, p := range s.tables {
		if i := slices.Index(s.to[k], col); i >= 0 && p.Unread(i) != nil {
			return p.Unread(i)
		}
	}
	return nil
}

// ErrorAt returns an error with the position in the file of the last record.
func (s *stack) ErrorAt(col int, format string, args ...any) *fault.Error {
	if col >= 0 {
		col = slices.Index(s.to[s.at], col)
	}
	return s.tables[s.at].ErrorAt(col, format, args...)
}

// ErrorIn is ErrorAt for an earlier line, counted over all files.
func (s *stack) ErrorIn(row, col int, format string, args ...any) *fault.Error {
	k, at := s.find(row)
	if col >= 0 {
		col = slices.Index(s.to[k], col)
	}
	return s.tables[k].(interface {
		ErrorIn(row, col int, format string, args ...any) *fault.Error
	}).ErrorIn(at, col, format, args...)
}

// find returns the file of a line that is counted over all files, and its line there.
func (s *stack) find(row int) (file, line int) {
	for file = s.at; row <= s.before[file] && file > 0; file-- {
	}
	return file, row - s.before[file]
}

// path returns the path of a line in its file.
func (s *stack) path(row, _ int) string {
	k, at := s.find(row)
	return Place(s.tables[k], at) + " of " + s.tables[k].Name()
}

// Close closes all files.
func (s *stack) Close() error {
	var errs []error
	for _, p := range s.tables {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}
