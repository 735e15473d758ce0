package table

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/parquet-go/parquet-go"

	"credence/internal/budget"
	"credence/internal/fault"
	"credence/internal/par"
	"credence/internal/words"
)

// folder presents the Parquet files in a folder as one table, as written by engines such as
// Spark: part-00000-….parquet and so on, next to files whose names begin with "_" or ".",
// which are not data. Files are ordered by name. Names of subfolders such as
// year=2024/month=01 are additional columns. Only one file is open at a time, so there may
// be any number, but all are checked first, so that an incompatible file is rejected before
// any records are returned.
type folder struct {
	base   // names are the columns in files, then those in names of subfolders
	ctx    context.Context
	files  []folderFile
	own    int // number of columns in files
	first  *parquetTable
	now    *parquetTable // the open file; nil before the first record and between files
	at     int           // its index
	only   []bool        // columns to read, or nil for all
	memory int64
}

// folderFile is a file in a folder.
type folderFile struct {
	path   string
	keys   []string // from the names of its subfolders
	values []Cell
	to     []int // column of the folder for each column of the file
	rows   int
	before int // total rows of the files before it
}

// nullPartition is the subfolder name for rows with a null.
const nullPartition = "__HIVE_DEFAULT_PARTITION__"

// FolderFiles returns the Parquet files below a folder, in order. Names that begin with "_"
// or "." are skipped, as are files of other kinds.
func FolderFiles(dir string) ([]string, error) {
	var files []string
	root := filepath.Clean(dir) + string(filepath.Separator) // follows a link
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return fault.Of(path, err)
		}
		name := d.Name()
		switch hidden := path != root && (name[0] == '_' || name[0] == '.'); {
		case hidden && d.IsDir():
			return filepath.SkipDir
		case !hidden && !d.IsDir() && IsParquet(name):
			files = append(files, path)
		}
		return nil
	})
	return files, err
}

func openFolder(ctx context.Context, dir string, memory int64) (Table, error) {
	files, err := FolderFiles(dir)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, &fault.Error{File: dir, Msg: "no Parquet files (.parquet) in this folder"}
	}
	f := &folder{ctx: ctx, base: newRows(dir), memory: memory}
	var size int64
	// A few at a time: a file with many pages takes memory.
	for some := range slices.Chunk(files, 64) {
		tables, sizes, errs := make([]*parquetTable, len(some)), make([]int64, len(some)), make([]error, len(some))
		par.For(len(some), func(i int) { tables[i], sizes[i], errs[i] = readMetadata(ctx, some[i], memory) })
		for i, path := range some {
			err := errs[i]
			if err == nil {
				err = f.add(path, tables[i])
			}
			if err != nil {
				return nil, err
			}
			size += sizes[i]
		}
	}
	f.meter = &budget.Meter{File: dir, Limit: memory, Read: func() int64 { return size }}
	return f, f.begin(0)
}

// readMetadata reads the metadata of a file, and closes it.
func readMetadata(ctx context.Context, path string, memory int64) (*parquetTable, int64, error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	src, size, err := fault.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer src.Close()
	t, err := newParquet(ctx, path, src, size, memory)
	return t, size, err
}

// add adds a file, which must have the same columns as the first.
func (f *folder) add(path string, t *parquetTable) error {
	file := folderFile{path: path, rows: t.Rows()}
	if err := f.partition(&file); err != nil {
		return err
	}
	if f.first == nil {
		f.first, f.own = t, len(t.names)
		f.names = append(slices.Clone(t.names), file.keys...)
	} else {
		file.before = f.Rows()
	}
	first := f.files
	if len(first) > 0 && !slices.Equal(file.keys, first[0].keys) {
		return &fault.Error{File: path, Msg: fmt.Sprintf("expected subfolders for [%s], as for %s, found [%s]", strings.Join(first[0].keys, ", "), first[0].path, strings.Join(file.keys, ", "))}
	}
	for i, name := range t.names {
		to := slices.Index(f.names[:f.own], name)
		if to < 0 {
			return &fault.Error{File: path, Msg: fmt.Sprintf("unexpected column %q: %s has [%s]", name, f.first.file, words.Few(f.first.names))}
		}
		if found, want := t.leaves[i].kind(), f.first.leaves[to].kind(); found != want && found != "" && want != "" {
			return &fault.Error{File: path, Msg: fmt.Sprintf("column %q: expected %s, as in %s, found %s", name, want, f.first.file, found)}
		} else if want == "" && found != "" {
			f.first.leaves[to] = t.leaves[i]
		}
		file.to = append(file.to, to)
	}
	for _, name := range f.names[:f.own] {
		if !slices.Contains(t.names, name) {
			return &fault.Error{File: path, Msg: fmt.Sprintf("expected column %q, as in %s", name, f.first.file)}
		}
	}
	f.files = append(f.files, file)
	return nil
}

// kind describes the type of a column. "" means only nulls, which is compatible with every type.
func (l *parquetLeaf) kind() string {
	switch {
	case l.null:
		return ""
	case l.unread != nil:
		return "values of type " + l.typ.String()
	case l.list:
		return "lists of numbers"
	case l.typ.Kind() == parquet.Boolean:
		return "true and false"
	case l.uuid, l.typ.Kind() == parquet.ByteArray && l.scale == 0:
		return "texts"
	}
	return "numbers"
}

// partition reads the columns from the names of a file's subfolders.
func (f *folder) partition(p *folderFile) error {
	rel, err := filepath.Rel(f.file, filepath.Dir(p.path))
	if err != nil || rel == "." {
		return err
	}
	for _, name := range strings.Split(filepath.ToSlash(rel), "/") {
		key, value, ok := strings.Cut(name, "=")
		if key, err = url.PathUnescape(key); err == nil {
			value, err = url.PathUnescape(value)
		}
		if !ok || key == "" || err != nil {
			return &fault.Error{File: p.path, Msg: fmt.Sprintf("expected a subfolder of the form key=value, found %q", name)}
		}
		cell := Cell{Kind: TextCell, Text: value}
		if value == nullPartition {
			cell = Cell{Kind: MissingCell}
		}
		p.keys, p.values = append(p.keys, key), append(p.values, cell)
	}
	return nil
}

// open opens the next file.
func (f *folder) open() error {
	p := &f.files[f.at]
	t, err := openParquet(f.ctx, input{name: p.path}, Options{Memory: f.memory})
	if err != nil {
		return err
	}
	f.now = t.(*parquetTable)
	if names := f.now.names; len(names) != len(p.to) || f.now.Rows() != p.rows {
		return &fault.Error{File: p.path, Msg: "the file changed while it was being read: try again once nothing writes to it"}
	}
	if f.only != nil {
		columns := make([]bool, len(p.to))
		for i, to := range p.to {
			columns[i] = f.only[to]
		}
		f.now.only(columns)
	}
	copy(f.cells[f.own:], p.values)
	return nil
}

// Next returns the next record, going on to the next file if necessary.
func (f *folder) Next() ([]Cell, error) {
	for {
		if f.now == nil {
			if err := f.open(); err != nil {
				return nil, err
			}
		}
		rec, err := f.now.Next()
		if err == io.EOF && f.at+1 < len(f.files) {
			if err := f.advance(); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		for i, to := range f.files[f.at].to {
			f.cells[to] = rec[i]
		}
		f.line++
		return f.cells, nil
	}
}

// skip skips up to n records, across files.
func (f *folder) skip(n int) (skipped int, err error) {
	for {
		p := &f.files[f.at]
		if f.now == nil && (n-skipped < p.rows || f.at+1 == len(f.files)) {
			if err := f.open(); err != nil {
				return skipped, err
			}
		}
		k := p.rows // if the file is skipped entirely and is not the last
		if f.now != nil {
			if k, err = f.now.skip(n - skipped); err != nil {
				return skipped, err
			}
		}
		skipped, f.line = skipped+k, f.line+k
		if skipped == n || f.at+1 == len(f.files) {
			return skipped, nil
		}
		if err := f.advance(); err != nil {
			return skipped, err
		}
	}
}

// advance closes the open file, if any, and goes on to the next.
func (f *folder) advance() error {
	err := f.Close()
	f.now = nil
	f.at++
	return err
}

// Rows returns the number of records.
func (f *folder) Rows() int {
	last := &f.files[len(f.files)-1]
	return last.before + last.rows
}

// Unread returns the reason why a column cannot be read, or nil.
func (f *folder) Unread(col int) error {
	if col >= f.own {
		return nil
	}
	return f.first.leaves[col].unread
}

// ErrorAt returns an error with the file of the last record, its row there and the column.
func (f *folder) ErrorAt(col int, format string, args ...any) *fault.Error {
	return f.ErrorIn(f.line, col, format, args...)
}

// ErrorIn returns an error about a row, counted from 1 over all files.
func (f *folder) ErrorIn(row, col int, format string, args ...any) *fault.Error {
	p, at := f.find(row)
	return errorInRow(p.path, at, f.names, col, fmt.Sprintf(format, args...))
}

// find returns the file that contains a row, and the number of the row there.
func (f *folder) find(row int) (*folderFile, int) {
	k := max(0, sort.Search(len(f.files), func(i int) bool { return f.files[i].before >= row })-1)
	return &f.files[k], row - f.files[k].before
}

// Place describes the position of a line of a table, as in "line 3" or, in JSON, items["3"].
func Place(t Table, line int) string {
	if f, ok := t.(*folder); ok {
		p, at := f.find(line)
		return fmt.Sprintf("row %d of %s", at, p.path)
	}
	if j, ok := t.(interface{ path(row, col int) string }); ok {
		if path := j.path(line, -1); path != "" {
			return path
		}
	}
	return fmt.Sprintf("line %d", line)
}

// Close closes the open file, if any.
func (f *folder) Close() error {
	if f.now == nil {
		return nil
	}
	return f.now.Close()
}
