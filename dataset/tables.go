package dataset

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"credence/internal/table"
	"credence/internal/words"
	"credence/record"
)

// TableOptions specifies how a table is read.
type TableOptions struct {
	// Comma separates the fields of a text table. 0 detects it: comma,
	// semicolon, tab or bar, whichever is most frequent in the header.
	Comma rune
	// NA are spellings of a missing value, in addition to an empty cell and to
	// NA, N/A, n/a, #N/A, <NA>, NaN, nan, NULL and null, and in features also
	// None, none, "-", "." and "?". An entry such as "keep:none" makes one of these a value.
	NA []string
	// Merge are pairs such as "Benign=benign": labels and levels of categories that are read as another.
	Merge []string `json:",omitempty"`
	// FoldCase reads labels and levels of categories in lower case.
	FoldCase bool `json:",omitempty"`
	// Stdin is the content of the file called "-".
	Stdin []byte `json:",omitempty"`
	// Sheet is the name of the sheet of a workbook, or its number, from 1. "" means the
	// first that is not hidden.
	Sheet string `json:",omitempty"`
	// SheetOptional allows a workbook without Sheet: the first sheet is then read.
	SheetOptional bool `json:",omitempty"`

	under  map[string][]string // by file, further collections whose items are appended to it
	merged map[string]bool     // of Merge, those that applied to some cell; nil if they are not recorded
}

// open opens a file as a table, by its extension, with the collections appended to it. If the format contains
// items with their votes, there is one record per vote or, with opts.Items, one per item. The options of o
// replace those of opts.
func (o *TableOptions) open(ctx context.Context, path string, opts table.Options) (table.Table, error) {
	opts.Comma, opts.Stdin, opts.Sheet, opts.SheetOptional = o.Comma, o.Stdin, o.Sheet, o.SheetOptional
	if more := o.under[path]; len(more) > 0 {
		return table.OpenStack(ctx, append([]string{path}, more...), opts)
	}
	t, err := table.Open(ctx, path, opts)
	if e, ok := errors.AsType[*ParseError](err); ok && errors.Is(err, table.ErrNoSheet) {
		return nil, advise(e, "", SetSheet)
	}
	if _, workbook := t.(interface{ Sheets() []string }); err == nil && !workbook {
		if err := o.noSheets(t.Name()); err != nil {
			return nil, errors.Join(err, t.Close())
		}
	}
	return t, err
}

// noSheets returns an error if a sheet is requested of a file that is not a workbook.
func (o *TableOptions) noSheets(file string) error {
	if o.Sheet == "" || o.SheetOptional {
		return nil
	}
	return advise(&ParseError{File: file, Msg: fmt.Sprintf("expected a workbook (.xlsx) with sheet %q, found a file without sheets", o.Sheet)}, o.Sheet, SetSheet)
}

// files returns the files that a table is read from.
func (o *TableOptions) files(path string) ([]string, error) {
	if path == "-" && o.Stdin != nil { // the content is in the options
		return nil, nil
	}
	if isFolder(path) {
		return table.FolderFiles(path)
	}
	return append([]string{path}, o.under[path]...), nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// folderOf returns the folder that paths in a table are relative to.
func folderOf(path string) string {
	if isFolder(path) {
		return path
	}
	return filepath.Dir(path)
}

// isTableFolder reports whether a folder is a table: it contains Parquet files, and no images
// or volumes.
func isTableFolder(dir string) (bool, error) {
	tables, err := table.FolderFiles(dir)
	if len(tables) == 0 || err != nil {
		return false, err
	}
	pictures, err := findPicture(dir)
	return !pictures, err
}

// findPicture reports whether a folder contains images or volumes.
func findPicture(dir string) (found bool, err error) {
	err = filepath.WalkDir(filepath.Clean(dir)+string(filepath.Separator), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && isPicture(path) {
			found, err = true, filepath.SkipAll
		}
		return err
	})
	return found, err
}

// InTable reports whether folder is a table and a file of the given name would be part of it
// if it were in that folder.
func InTable(folder, file string) bool {
	tables, err := isTableFolder(folder)
	return tables && err == nil && table.IsParquet(file)
}

// errorIn returns an error about a column of a line that was read before, or about the whole
// line if col is negative.
func errorIn(t table.Table, line, col int, format string, args ...any) *ParseError {
	if line == t.Line() {
		return t.ErrorAt(col, format, args...)
	}
	if sheet, ok := t.(interface {
		ErrorIn(row, col int, format string, args ...any) *ParseError
	}); ok {
		return sheet.ErrorIn(line, col, format, args...)
	}
	return errorOn(t, line, col, format, args...)
}

// errorOn returns an error about a line of a source that has no method for such errors.
func errorOn(s Source, line, col int, format string, args ...any) *ParseError {
	e := &ParseError{File: s.Name(), Line: line, Msg: fmt.Sprintf(format, args...)}
	if col >= 0 {
		e.Column, e.Name = col+1, s.Header()[col]
	}
	return e
}

// stack determines which of several files are collections of items with their votes. If the
// first is one, the other collections are appended to it. stack returns the first file and
// those that are not appended.
func (o *TableOptions) stack(ctx context.Context, paths []string, memory int64) ([]string, error) {
	if len(paths) < 2 {
		return paths, nil
	}
	var rest, under []string
	for k, path := range paths {
		collection, err := o.isCollection(ctx, path, memory)
		if err != nil {
			return nil, err
		}
		switch {
		case k == 0 && !collection:
			return paths, nil
		case k > 0 && collection:
			under = append(under, path)
		default:
			rest = append(rest, path)
		}
	}
	o.under = map[string][]string{paths[0]: under}
	return rest, nil
}

// isCollection reports whether a file contains items with their votes.
func (o *TableOptions) isCollection(ctx context.Context, path string, memory int64) (bool, error) {
	if path == "-" {
		return false, nil
	}
	if read, err := readerOf(path); read != nil || err != nil || !table.MayBeCollection(path) {
		return false, err
	}
	t, err := o.open(ctx, path, table.Options{Memory: memory, Items: true})
	if err != nil {
		return false, err
	}
	defer t.Close()
	return table.IsCollection(t), nil
}

// column returns the index of the column with a name, or an error that lists the columns.
func column(t table.Table, name string) (int, error) {
	if i := slices.Index(t.Header(), name); i >= 0 {
		return i, readable(t, i)
	}
	msg := fmt.Sprintf("no column %q among [%s]", name, words.Few(t.Header()))
	near := words.Nearest(name, t.Header())
	if i := known(t.Header(), []string{table.Plain(name)}); i >= 0 {
		near = t.Header()[i]
	}
	if near != "" {
		msg += fmt.Sprintf(": is it %q?", near)
	}
	if book, ok := t.(interface{ Sheets() []string }); ok && near == "" && len(book.Sheets()) > 1 {
		e := &ParseError{File: t.Name(), Name: name, Msg: msg + fmt.Sprintf("; the workbook has the sheets [%s]", words.Few(book.Sheets()))}
		e.Err = errors.Join(ErrNoColumn, &Advice{Settings: []Setting{SetSheet}})
		return -1, e
	}
	return -1, &ParseError{File: t.Name(), Name: name, Msg: msg, Err: ErrNoColumn}
}

// readable returns an error if a column has a type that is not supported.
func readable(t table.Table, col int) error {
	if col < 0 {
		return nil
	}
	if err := t.Unread(col); err != nil {
		name := t.Header()[col]
		return &ParseError{File: t.Name(), Name: name, Msg: fmt.Sprintf("column %q: %v", name, err)}
	}
	return nil
}

// The usual names of columns, in order of preference, as normalized by
// [table.Plain]. pandas writes an index without a name to Parquet as
// __index_level_0__.
var (
	itemNames  = []string{"item", "itemid", "id", "items", "case", "caseid", "example", "exampleid", "sample", "sampleid", "image", "imageid", "scan", "scanid", "unit", "unitid", "task", "taskid", "indexlevel0"}
	raterNames = []string{"rater", "raterid", "annotator", "annotatorid", "worker", "workerid", "reader", "readerid", "judge", "coder", "labeler", "labeller", "expert", "observer", "reviewer"}
	labelNames = []string{"label", "vote", "rating", "class", "answer", "annotation", "response", "category", "grade", "score"}
	countNames = []string{"count", "counts", "votes", "nvotes", "numvotes"}
	totalNames = []string{"total", "votes", "nvotes", "numvotes", "n", "m", "count", "raters", "nraters"}
)

// nonEmpty returns the names that are not "".
func nonEmpty(names ...string) []string {
	return slices.DeleteFunc(names, func(s string) bool { return s == "" })
}

// known returns the index of the column with the first of the given names, or
// −1.
func known(header, names []string) int {
	for _, want := range names {
		if i := slices.IndexFunc(header, func(h string) bool { return table.Plain(h) == want }); i >= 0 {
			return i
		}
	}
	return -1
}

// findColumn returns the column that the caller named, or the one with the role in the
// file format, or one with a usual name, or −1.
func findColumn(t table.Table, name string, names []string, role table.Role) (int, error) {
	if name != "" {
		return column(t, name)
	}
	roles := t.Traits().Roles
	if i := slices.Index(roles, role); i >= 0 && role != table.DataRole {
		return i, readable(t, i)
	}
	if slices.Contains(roles, table.LabelRole) { // the format defines all columns of votes
		return -1, nil
	}
	i := known(t.Header(), names)
	return i, readable(t, i)
}

// findLabel returns the column of labels as findColumn does. If the labels are responses to
// several questions, it returns an error that asks for a choice.
func findLabel(t table.Table, name string) (int, error) {
	var questions []string
	for i, role := range t.Traits().Roles {
		if role == table.LabelRole {
			questions = append(questions, t.Header()[i])
		}
	}
	if name == "" && len(questions) > 1 {
		return -1, advise(&ParseError{File: t.Name(), Msg: fmt.Sprintf("the labels answer %s, but one has to be selected: %s",
			words.Plural(len(questions), "question"), words.Few(questions))}, questions[0], SetLabel)
	}
	return findColumn(t, name, labelNames, table.LabelRole)
}

// findItem returns the id column that the caller named, which may be optional, or
// else one with a usual name, or the first column if its name ends in "id" or if it
// has no name, as row names written by R and pandas; or −1. Columns in taken have
// another use.
func findItem(t table.Table, name string, optional bool, taken ...string) (int, error) {
	if name != "" && (!optional || slices.Contains(t.Header(), name)) {
		return column(t, name)
	}
	if i := slices.Index(t.Traits().Roles, table.ItemRole); i >= 0 {
		return i, nil
	}
	header := slices.Clone(t.Header())
	if len(header) == 0 {
		return -1, &ParseError{File: t.Name(), Msg: "there are no items"}
	}
	for i, h := range header {
		if slices.Contains(taken, h) {
			header[i] = ""
		}
	}
	if i := known(header, itemNames); i >= 0 {
		return i, readable(t, i)
	}
	if header[0] != "" && (hasRowNames(t) || namesItems(header[0])) {
		return 0, readable(t, 0)
	}
	return -1, nil
}

// namesItems reports whether a name such as "Patient ID", "subject_id" or
// "lesionId" is that of a column of ids of something other than raters and
// labels.
func namesItems(name string) bool {
	name = strings.TrimSpace(name)
	at := len(name) - len("id")
	if at <= 0 || !strings.EqualFold(name[at:], "id") {
		return false
	}
	// The word "id" has to be separate: "valid" does not end in it.
	last, _ := utf8.DecodeLastRuneInString(name[:at])
	separate := strings.ContainsRune(" _-.", last) || unicode.IsLower(last) && name[at] == 'I'
	stem := table.Plain(name[:at])
	return separate && !slices.Contains(raterNames, stem) && !slices.Contains(labelNames, stem)
}

// hasRowNames reports whether the first column of a table contains row names: its
// header is blank but its cells are not, or the header is what pandas and R write for
// a blank one.
func hasRowNames(t table.Table) bool {
	return t.Traits().RowNames || slices.Contains([]string{"Unnamed: 0", "...1"}, t.Header()[0])
}

// Source provides items or votes that are not in a file, such as a request or a database query,
// as records under named columns.
type Source interface {
	// Name returns the name of the source in messages.
	Name() string
	// Header returns the names of the columns, which are unique.
	Header() []string
	// Next returns the next record, one cell per column, or io.EOF after the last. The record is
	// valid until the next call.
	Next() ([]Cell, error)
	Close() error
}

// Cell is a value of a record: Text, Num, Whole or Vec, depending on its Kind. The zero value is an
// empty text, which is a missing value.
type Cell = record.Cell

// Kinds of cells.
const (
	TextCell    = record.TextCell
	NumberCell  = record.NumberCell
	WholeCell   = record.WholeCell
	VectorCell  = record.VectorCell
	MissingCell = record.MissingCell
)

// StreamOf returns a stream of the items of a source. Closing the stream closes s.
func StreamOf(ctx context.Context, s Source, schema []Feature, opts StreamOptions) (*Stream, error) {
	if opts.Judges != nil {
		return opts.judged(ctx, false, schema, func(schema []Feature, o StreamOptions) (*Stream, error) { return StreamOf(ctx, s, schema, o) })
	}
	return newStream(ctx, s.Name(), tableFrom(s), schema, opts)
}

// tableFrom returns s itself if it is a table, else a table that reads it.
func tableFrom(s Source) table.Table {
	if t, ok := s.(table.Table); ok {
		return t
	}
	return &sourceTable{Source: s}
}

// sourceTable implements [table.Table] for a source. Its line numbers are those of the records, from 1.
type sourceTable struct {
	Source
	records int
}

func (t *sourceTable) Next() ([]Cell, error) {
	t.records++
	return t.Source.Next()
}

func (t *sourceTable) Line() int            { return t.records }
func (t *sourceTable) Unread(int) error     { return nil }
func (t *sourceTable) Keep(int) error       { return nil }
func (t *sourceTable) Traits() table.Traits { return table.Traits{Lists: true} }
func (t *sourceTable) Notes() []error       { return nil }

func (t *sourceTable) ErrorAt(col int, format string, args ...any) *ParseError {
	return errorOn(t, t.records, col, format, args...)
}
