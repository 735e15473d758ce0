package table

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"credence/internal/array"
	"credence/internal/budget"
	"credence/internal/fault"
	"credence/internal/words"
)

// fileFormat is a file format for tables. To add one, write a reader and append it to formats.
type fileFormat struct {
	extensions []string // in lower case; .gz may follow them
	lines      bool     // one record per line of text
	votes      bool     // items may come with their votes
	// sniff reports whether data that begin with head have the format, regardless of the name.
	// It is nil if only the name decides.
	sniff func(head []byte) bool
	open  func(ctx context.Context, in input, opts Options) (Table, error)
}

// formats lists the formats that are recognized by file name. Folders and Arrow streams, which
// have no extension, are recognized by [Open] and [NewPiped].
var formats = []fileFormat{
	{extensions: []string{".csv", ".tsv", ".txt"}, lines: true, open: openText},
	{extensions: []string{".json"}, votes: true, sniff: isJSON, open: openJSON},
	{extensions: []string{".jsonl", ".ndjson"}, lines: true, votes: true, open: openJSON},
	{extensions: []string{".xlsx", ".xlsm"}, sniff: isWorkbook, open: openXLSX},
	{extensions: parquetExtensions, open: openParquet},
	{extensions: []string{".npy"}, open: openMatrix},
}

// parquetExtensions are the extensions of the files that make up a folder.
var parquetExtensions = []string{".parquet", ".pq"}

// unread lists extensions of known formats that are not tables or not supported, with advice.
var unread = []struct {
	extensions []string
	advice     string
}{
	{[]string{".xls", ".xlsb", ".ods", ".numbers"}, "%s is not supported: save the file as .xlsx or CSV UTF-8"},
	{[]string{".npz", ".idx", ".feather", ".arrow", ".rds", ".sav", ".dta"}, "%s is not a table format: use CSV, TSV, .xlsx, JSON or Parquet"},
}

// formatOf returns the format of an extension, or one without open if there is none.
func formatOf(extension string) (none fileFormat) {
	for _, f := range formats {
		if slices.Contains(f.extensions, extension) {
			return f
		}
	}
	return none
}

// IsTable reports whether a file is a table, judging by its name.
func IsTable(path string) bool { return formatOf(fault.Extension(path)).open != nil }

// IsLines reports whether a file is uncompressed text with one record per line, judging by its name.
func IsLines(path string) bool { return formatOf(strings.ToLower(filepath.Ext(path))).lines }

// MayBeCollection reports whether a file may be a collection of labeled items, judging by its name.
func MayBeCollection(path string) bool { return formatOf(fault.Extension(path)).votes }

// IsParquet reports whether a file is a Parquet file, judging by its name.
func IsParquet(name string) bool {
	return slices.Contains(parquetExtensions, strings.ToLower(filepath.Ext(name)))
}

// Open opens a file as a table, by its extension, or all Parquet files in a folder. Reading
// stops when the context is done.
func Open(ctx context.Context, path string, opts Options) (Table, error) {
	if path == "-" && opts.Stdin != nil {
		if err := foreignError(Stdin, opts.Stdin); err != nil {
			return nil, err
		}
		for _, f := range formats {
			if f.sniff != nil && f.sniff(opts.Stdin) {
				return f.open(ctx, input{name: Stdin, text: bytes.NewReader(opts.Stdin)}, opts)
			}
		}
		return NewPiped(ctx, io.NopCloser(bytes.NewReader(opts.Stdin)), Stdin, opts)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return openFolder(ctx, path, budget.Of(opts.Memory))
	}
	if err := checkForeign(path); err != nil {
		return nil, err
	}
	ext := fault.Extension(path)
	if f := formatOf(ext); f.open != nil {
		return f.open(ctx, input{name: path, lines: f.lines}, opts)
	}
	for _, u := range unread {
		if slices.Contains(u.extensions, ext) {
			return nil, &fault.Error{File: path, Msg: fmt.Sprintf(u.advice, ext)}
		}
	}
	return openText(ctx, input{name: path}, opts)
}

// input is the source of a table: a file, or data in memory.
type input struct {
	name  string        // file name, also used in messages
	text  *bytes.Reader // nil to read the file
	lines bool          // according to its name there is one record per line
}

// source is an open input.
type source interface {
	io.Reader
	io.ReaderAt
	io.Closer
}

// open opens an input and returns its size.
func (in input) open() (source, int64, error) {
	if in.text == nil {
		return fault.Open(in.name)
	}
	return struct {
		*io.SectionReader
		io.Closer
	}{io.NewSectionReader(in.text, 0, in.text.Size()), io.NopCloser(nil)}, in.text.Size(), nil
}

// peekSize is the number of bytes of a text that are inspected before reading it.
const peekSize = 1 << 16

// plainText returns a reader of a UTF-8 text, decompressed and without its byte-order mark,
// and head, which contains at least the first line or 64 kB and is not consumed. An empty
// text is an error.
func plainText(src io.Reader, file string) (buf *bufio.Reader, head []byte, err error) {
	buf = bufio.NewReaderSize(src, peekSize)
	if magic, _ := buf.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(buf)
		if err != nil {
			return nil, nil, fault.Of(file, err)
		}
		buf = bufio.NewReaderSize(z, peekSize)
	}
	// Input that arrives slowly is inspected only up to the first line feed.
	for n := 1; n <= peekSize && err == nil && bytes.IndexByte(head, '\n') < 0; n = len(head) + 1 {
		if _, err = buf.Peek(n); err == nil || err == io.EOF {
			head, _ = buf.Peek(buf.Buffered())
		}
	}
	if err != nil && err != io.EOF && err != bufio.ErrBufferFull {
		return nil, nil, readError(file, err)
	}
	switch {
	case len(bytes.TrimSpace(bytes.TrimPrefix(head, []byte("\ufeff")))) == 0:
		return nil, nil, &fault.Error{File: file, Msg: "the file is empty"}
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}), bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return nil, nil, &fault.Error{File: file, Msg: "the text is UTF-16: " + saveUTF8}
	case foreignError(file, head) != nil:
		return nil, nil, foreignError(file, head)
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return nil, nil, fault.Malformed(file, "expected text, found an archive: the name of a workbook must end in .xlsx")
	case bytes.IndexByte(head, 0) >= 0:
		return nil, nil, fault.Malformed(file, "expected CSV, TSV or JSON, found binary data")
	}
	if bytes.HasPrefix(head, []byte("\ufeff")) {
		head = head[3:]
		buf.Discard(3)
	}
	return buf, head, nil
}

// readCloser combines a reader with the closer of its source.
type readCloser struct {
	io.Reader
	io.Closer
}

// readError wraps an error of reading a text.
func readError(file string, err error) error {
	if e, ok := errors.AsType[*fault.Error](err); ok {
		return e
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return &fault.Error{File: file, Msg: "the compressed file is truncated", Err: err}
	}
	return fault.Of(file, err)
}

// matrix presents a matrix in an NPY file as a table with columns named 0, 1, 2, …
type matrix struct {
	base
	a   *array.Array
	row []float32
}

// maxMatrix is the largest number of columns of a matrix.
const maxMatrix = 100_000

func openMatrix(ctx context.Context, in input, opts Options) (Table, error) {
	a, err := array.OpenNPY(in.name)
	if err != nil {
		return nil, err
	}
	t, err := newMatrix(ctx, a, budget.Of(opts.Memory))
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return t, nil
}

func newMatrix(ctx context.Context, a *array.Array, memory int64) (*matrix, error) {
	if len(a.Shape) != 2 {
		return nil, fault.Malformed(a.File(), "expected a matrix of votes with one row per item, found an array of %s", words.Shape(a.Shape))
	}
	if err := budget.Check(memory, a.Bytes(), a.File(), "a matrix of %s in Fortran order", words.Shape(a.Shape)); err != nil && a.Fortran() {
		return nil, err
	}
	a, err := a.RowMajor(ctx, array.Options{Memory: a.Bytes()})
	if err != nil {
		return nil, err
	}
	w := a.Width()
	if w > maxMatrix {
		return nil, fault.Malformed(a.File(), "expected at most %s columns of votes, found %s", words.Thousands(maxMatrix), words.Thousands(w))
	}
	t := &matrix{a: a, row: make([]float32, w), base: base{file: a.File(), src: a, kept: rowsKept, cells: make([]Cell, w)}}
	t.meter = &budget.Meter{File: a.File(), Limit: memory, Read: a.Bytes}
	for i := range w {
		t.names = append(t.names, strconv.Itoa(i))
	}
	return t, nil
}

func (t *matrix) Next() ([]Cell, error) {
	if t.line == t.a.Len() {
		return nil, io.EOF
	}
	if err := t.a.ReadRow(t.line, t.row); err != nil {
		return nil, err
	}
	t.line++
	for i, x := range t.row {
		t.cells[i] = Cell{Kind: NumberCell, Num: float64(x)}
	}
	return t.cells, nil
}

func (t *matrix) ErrorAt(col int, format string, args ...any) *fault.Error {
	return &fault.Error{File: t.Name(), Msg: fmt.Sprintf("row %d, column %d: %s", t.line-1, max(col, 0), fmt.Sprintf(format, args...))}
}
