package table

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"credence/internal/budget"
	"credence/internal/fault"
)

// A JSON text is a table with one row per item. Its columns are the keys of the items;
// values in nested objects have names such as "text.user". All items must be read to know
// the columns, so a file is read twice. A stream can be read only once: its columns are
// those of the first item, and a later item with another key is an error.
//
// A flavor interprets the values of an item. In a plain table each value is a cell.
// Collections of labeled items also contain votes, each of which becomes a record with the
// item's cells, unless the caller requests items only.

// jsonItem is an item as interpreted by a flavor.
type jsonItem struct {
	id     string
	line   int
	row    int // its number, from 1
	fields []jsonField
	votes  []jsonVote
}

// jsonField is a value of an item.
type jsonField struct {
	name   string
	role   Role
	cell   Cell
	unread string // why it cannot be a cell, or ""
}

// jsonVote is a vote on an item, with a label for each question.
type jsonVote struct {
	line   int
	rater  Cell
	labels []jsonField
}

// jsonFlavor interprets the items of a JSON text.
type jsonFlavor interface {
	// item converts item number n. key is its key in the enclosing object, or "".
	item(key string, n int, v *jsonValue) (*jsonItem, error)
	// settle is called after the columns of all items were collected in t.
	settle(t *jsonTable)
	// rater returns the name of the rater column, or "" if there are no votes.
	rater() string
	// notes returns warnings about the items read since the previous call.
	notes() []error
}

// jsonTable is a JSON text as a table.
type jsonTable struct {
	base
	items     *jsonItems
	flavor    jsonFlavor
	lines     bool // according to the file name there is one object per line
	itemsOnly bool // records are items, not votes

	roles  []Role
	unread []error
	at     map[string]int // column index by name
	keys   []string       // of the items of an object of items

	first *jsonItem  // of a stream, until Next returns it
	item  *jsonItem  // of the last record
	votes []jsonVote // of that item, not returned yet
}

// openJSON reads a JSON text once for its columns, and opens it again for its records.
func openJSON(ctx context.Context, in input, opts Options) (Table, error) {
	src, _, err := in.open()
	if err != nil {
		return nil, err
	}
	defer src.Close()
	t, err := newJSON(ctx, src, in.name, in.lines, opts)
	if err != nil {
		return nil, err
	}
	if err := t.survey(false); err != nil {
		return nil, err
	}
	again, _, err := in.open()
	if err != nil {
		return nil, err
	}
	if err := t.start(ctx, again); err != nil {
		again.Close()
		return nil, err
	}
	t.flavor.notes() // drops the warnings, which the second pass repeats
	return t, nil
}

// newJSONStream opens a JSON text that can be read only once. The table closes src.
func newJSONStream(ctx context.Context, src io.ReadCloser, file string, opts Options) (Table, error) {
	t, err := newJSON(ctx, src, file, false, opts)
	if err == nil {
		err = t.survey(true)
	}
	if err != nil {
		src.Close()
		return nil, err
	}
	return t, nil
}

func newJSON(ctx context.Context, src io.ReadCloser, file string, lines bool, opts Options) (*jsonTable, error) {
	t := &jsonTable{base: base{file: file}, lines: lines, itemsOnly: opts.Items, at: map[string]int{}}
	t.kept = "keeping the items up to line %d"
	t.meter = &budget.Meter{File: file, Limit: budget.Of(opts.Memory)}
	return t, t.start(ctx, src)
}

// start starts reading the text from src.
func (t *jsonTable) start(ctx context.Context, src io.ReadCloser) error {
	raw := &counter{r: fault.Reader(ctx, src)}
	t.meter.Read = func() int64 { return raw.n }
	buf, _, err := plainText(raw, t.file)
	if err != nil {
		return err
	}
	t.src = src
	t.items = &jsonItems{s: newJSONScanner(buf, t.file, t.meter.Limit), lines: t.lines}
	return nil
}

// survey reads all items for their columns, or only the first item of a stream.
func (t *jsonTable) survey(stream bool) error {
	seen := map[string]int{}
	for {
		it, err := t.read()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = t.add(it)
		}
		if err != nil {
			return err
		}
		if stream {
			t.first = it
			break
		}
		if t.items.shape != '{' {
			continue
		}
		if first, ok := seen[it.id]; ok {
			return &fault.Error{File: t.file, Path: itemPath('{', it.id, 0), Msg: fmt.Sprintf("duplicate key: items %d and %d have it", first, it.row)}
		}
		seen[it.id] = len(seen) + 1
		t.keys = append(t.keys, it.id)
		if err := t.meter.Keep(int64(112+len(it.id)), func() string { return fmt.Sprintf("the ids of the items up to line %d", it.line) }); err != nil {
			return err
		}
	}
	if t.items.n == 0 {
		return &fault.Error{File: t.file, Msg: "no items"}
	}
	t.flavor.settle(t)
	return t.begin(0)
}

// read reads an item. The first item determines the flavor.
func (t *jsonTable) read() (*jsonItem, error) {
	key, v, err := t.items.next()
	if err != nil {
		return nil, err
	}
	if t.flavor == nil {
		if t.flavor, err = flavorOf(&v, t.items, t.file); err != nil {
			return nil, err
		}
	}
	it, err := t.flavor.item(key, t.items.n-1, &v)
	if e, ok := err.(*fault.Error); ok && t.items.shape != '\n' {
		e.Path = itemPath(t.items.shape, key, t.items.n)
		e.Msg = strings.TrimPrefix(e.Msg, fmt.Sprintf("item %q: ", key))
	}
	if err != nil {
		return nil, err
	}
	it.line, it.row = v.line, t.items.n
	return it, nil
}

// flavorOf detects the flavor of a text from its first item.
func flavorOf(v *jsonValue, items *jsonItems, file string) (jsonFlavor, error) {
	switch {
	case isLabelStudio(v):
		return &labelStudio{file: file}, nil
	case isLeWiDi(v, items.shape == '{'):
		return &lewidi{plain: plain{file: file}, values: map[string]string{}, varied: map[string]bool{},
			examples: map[string]softExample{}, softClasses: map[string]bool{}}, nil
	case isMinimal(v):
		return &minimal{plain: plain{file: file}}, nil
	}
	return &plain{file: file}, checkColumns(v, items)
}

// add adds the columns of an item and of its votes.
func (t *jsonTable) add(it *jsonItem) error {
	fields := slices.Clip(it.fields)
	if name := t.flavor.rater(); name != "" {
		fields = append(fields, jsonField{name: name, role: RaterRole})
		for _, vote := range it.votes {
			fields = append(fields, vote.labels...)
		}
	}
	for i := range fields {
		if err := t.column(&fields[i]); err != nil {
			return err
		}
	}
	return nil
}

// column adds a column for a value unless it exists.
func (t *jsonTable) column(f *jsonField) error {
	at, ok := t.at[f.name]
	if !ok {
		if err := t.meter.Keep(columnCost+int64(len(f.name)), func() string { return "the columns" }); err != nil {
			return err
		}
		at = len(t.names)
		t.at[f.name] = at
		t.names, t.roles, t.unread = append(t.names, f.name), append(t.roles, f.role), append(t.unread, nil)
	}
	if t.roles[at] != f.role {
		return &fault.Error{File: t.file, Msg: fmt.Sprintf("%q names both a value of the items and something else: rename one of them", f.name)}
	}
	if f.unread != "" && t.unread[at] == nil {
		t.unread[at] = fmt.Errorf("%s", f.unread)
	}
	t.traits.Lists = t.traits.Lists || f.cell.Kind == VectorCell
	return nil
}

// Next returns the next record: an item, or a vote on it.
func (t *jsonTable) Next() ([]Cell, error) {
	for len(t.votes) == 0 {
		it, err := t.nextItem()
		if err != nil {
			return nil, err
		}
		t.item, t.line = it, t.place(it, it.line)
		for i := range t.cells {
			t.cells[i] = Cell{Kind: MissingCell}
		}
		if err := t.put(it.fields); err != nil {
			return nil, err
		}
		if t.itemsOnly || t.flavor.rater() == "" {
			return t.cells, nil
		}
		t.votes = it.votes
	}
	vote := t.votes[0]
	t.votes = t.votes[1:]
	t.line = t.place(t.item, vote.line)
	for i, role := range t.roles {
		if role == LabelRole || role == OtherRole {
			t.cells[i] = Cell{Kind: MissingCell}
		}
	}
	t.cells[t.at[t.flavor.rater()]] = vote.rater
	return t.cells, t.put(vote.labels)
}

// nextItem returns the next item: the first one of a stream has been read already.
func (t *jsonTable) nextItem() (*jsonItem, error) {
	if it := t.first; it != nil {
		t.first = nil
		return it, nil
	}
	for {
		it, err := t.read()
		// Annotations of the same item are adjacent.
		_, minimal := t.flavor.(*minimal)
		if err != nil || !(minimal && t.itemsOnly && t.item != nil && t.item.id == it.id) {
			return it, err
		}
	}
}

// put sets the cells of the given fields. In a stream, the first item must have them, too.
func (t *jsonTable) put(fields []jsonField) error {
	for i := range fields {
		f := &fields[i]
		at, ok := t.at[f.name]
		if !ok {
			return &fault.Error{File: t.file, Line: t.line, Msg: fmt.Sprintf("unexpected key %q: the columns of a stream are the keys of its first item; add it there, for example as null", f.name)}
		}
		if f.unread != "" && t.unread[at] == nil {
			return t.ErrorAt(at, "%s, unlike in the first item", f.unread)
		}
		t.cells[at] = f.cell
	}
	return nil
}

// Unread returns the reason why a column cannot be read, or nil.
func (t *jsonTable) Unread(col int) error { return t.unread[col] }

// Notes returns warnings, all of which concern votes.
func (t *jsonTable) Notes() []error {
	if t.itemsOnly {
		return nil
	}
	return t.flavor.notes()
}

// Traits returns whether there are lists and, for collections, the roles of the columns.
func (t *jsonTable) Traits() Traits {
	traits := t.traits
	if slices.ContainsFunc(t.roles, func(r Role) bool { return r != DataRole }) {
		traits.Roles = t.roles
	}
	return traits
}

// ErrorAt returns an error with the line, the column name and the item.
func (t *jsonTable) ErrorAt(col int, format string, args ...any) *fault.Error {
	e := t.ErrorIn(t.line, col, format, args...)
	if t.item != nil && t.item.id != "" && t.items.shape != '{' {
		e.Msg = fmt.Sprintf("item %q: %s", t.item.id, e.Msg)
	}
	return e
}

// ErrorIn is ErrorAt for an earlier line or item.
func (t *jsonTable) ErrorIn(row, col int, format string, args ...any) *fault.Error {
	e := t.base.ErrorAt(col, format, args...)
	e.Line = row
	if path := t.path(row, col); path != "" {
		e.Path, e.Line, e.Column = path, 0, 0
	}
	return e
}

// place returns the position of a record: the line in JSON Lines, else the number of its item, since all of a JSON text
// may be on one line.
func (t *jsonTable) place(it *jsonItem, line int) int {
	if t.items.shape == '\n' {
		return line
	}
	return it.row
}

// path returns the path of a value of an item, or "" where there are lines.
func (t *jsonTable) path(row, col int) string {
	if t.items.shape == '\n' || row < 1 {
		return ""
	}
	key := ""
	if row <= len(t.keys) {
		key = t.keys[row-1]
	} else if t.item != nil && t.item.row == row {
		key = t.item.id
	}
	path := itemPath(t.items.shape, key, row)
	if col < 0 || col >= len(t.names) || t.roles[col] == ItemRole {
		return path
	}
	if name := t.names[col]; strings.ContainsAny(name, " \"'()[]") {
		return path + "[" + strconv.Quote(name) + "]"
	}
	return path + "." + t.names[col]
}

// itemPath returns the path of an item, which has a key in an object and a number, from 0, in a list.
func itemPath(shape byte, key string, row int) string {
	if shape == '{' {
		return "items[" + strconv.Quote(key) + "]"
	}
	return fmt.Sprintf("items[%d]", row-1)
}
