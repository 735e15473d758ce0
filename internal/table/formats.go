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
	"strings"

	"credence/internal/budget"
	"credence/internal/fault"
)

// fileFormat is a file format of tables. A new one is a row of formats and a reader.
type fileFormat struct {
	extensions []string // of files, in lower case; .gz may follow them
	lines      bool     // a record per line of text
	votes      bool     // items may come with the votes on them
	// sniff reports whether a text that begins with head has the format, whatever its name: nil
	// where the name decides.
	sniff func(head []byte) bool
	open  func(ctx context.Context, in input, opts Options) (Table, error)
}

// formats are all formats that tables are read from by their name. Folders and Arrow streams, which
// have none, are recognized by [Open] and [NewPiped].
var formats = []fileFormat{
	{extensions: []string{".csv", ".tsv", ".txt"}, lines: true, open: openText},
	{extensions: []string{".json"}, votes: true, sniff: isJSON, open: openJSON},
	{extensions: []string{".jsonl", ".ndjson"}, lines: true, votes: true, open: openJSON},
	{extensions: []string{".xlsx", ".xlsm"}, sniff: isWorkbook, open: openXLSX},
	{extensions: parquetExtensions, open: openParquet},
	{extensions: []string{".npy"}, open: openMatrix},
}

// parquetExtensions are those of the files that a folder is a table of.
var parquetExtensions = []string{".parquet", ".pq"}

// unread are extensions of files that are no tables or cannot be read, with what helps.
var unread = []struct {
	extensions []string
	advice     string
}{
	{[]string{".xls", ".xlsb", ".ods", ".numbers"}, "%s is not read: save it as .xlsx or as CSV UTF-8"},
	{[]string{".npz", ".idx", ".feather", ".arrow", ".rds", ".sav", ".dta"}, "%s is not a format for tables: use CSV, TSV, .xlsx, JSON or Parquet"},
}

// formatOf returns the format of an extension, or nil.
func formatOf(extension string) *fileFormat {
	for i := range formats {
		if slices.Contains(formats[i].extensions, extension) {
			return &formats[i]
		}
	}
	return nil
}

// IsTable reports by its name whether a file is a table.
func IsTable(path string) bool { return formatOf(fault.Extension(path)) != nil }

// IsLines reports by its name whether a file is a text, not compressed, with a record per line.
func IsLines(path string) bool {
	f := formatOf(strings.ToLower(filepath.Ext(path)))
	return f != nil && f.lines
}

// MayBeCollection reports by its name whether a file may be a collection.
func MayBeCollection(path string) bool {
	f := formatOf(fault.Extension(path))
	return f != nil && f.votes
}

// IsParquet reports whether a file is one of Parquet by its name.
func IsParquet(name string) bool {
	return slices.Contains(parquetExtensions, strings.ToLower(filepath.Ext(name)))
}

// Open opens a file as a table, by its extension, or all Parquet files of a folder. Reading
// ends when the context does.
func Open(ctx context.Context, path string, opts Options) (Table, error) {
	if path == "-" && opts.Stdin != nil {
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
	ext := fault.Extension(path)
	if f := formatOf(ext); f != nil {
		return f.open(ctx, input{name: path, lines: f.lines}, opts)
	}
	for _, u := range unread {
		if slices.Contains(u.extensions, ext) {
			return nil, &fault.Error{File: path, Msg: fmt.Sprintf(u.advice, ext)}
		}
	}
	return openText(ctx, input{name: path}, opts)
}

// input is what a format is read from: a file, or a text in memory.
type input struct {
	name  string        // of the file, for messages too
	text  *bytes.Reader // nil means the file
	lines bool          // its name says that there is one record a line
}

// source is an input that is open.
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

// peekSize is how much of a text is looked at before it is read.
const peekSize = 1 << 16

// plainText returns a reader of a UTF-8 text that may be compressed with gzip and begin
// with a byte-order mark, and its first line or 64 kB, perhaps with more behind it, which
// are not consumed. There is something in it.
func plainText(src io.Reader, file string) (buf *bufio.Reader, head []byte, err error) {
	buf = bufio.NewReaderSize(src, peekSize)
	if magic, _ := buf.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(buf)
		if err != nil {
			return nil, nil, fault.Of(file, err)
		}
		buf = bufio.NewReaderSize(z, peekSize)
	}
	// What comes bit by bit is looked at up to the first line feed.
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
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return nil, nil, fault.Malformed(file, "this is an archive, or a workbook: a workbook is read from a file called .xlsx")
	case bytes.IndexByte(head, 0) >= 0:
		return nil, nil, fault.Malformed(file, "this is not text: expected CSV, TSV or JSON")
	}
	if bytes.HasPrefix(head, []byte("\ufeff")) {
		head = head[3:]
		buf.Discard(3)
	}
	return buf, head, nil
}

// readCloser is a reader with what closes its source.
type readCloser struct {
	io.Reader
	io.Closer
}

// readError says why a text cannot be read on.
func readError(file string, err error) error {
	if e, ok := errors.AsType[*fault.Error](err); ok {
		return e
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return &fault.Error{File: file, Msg: "the compressed file is cut short", Err: err}
	}
	return fault.Of(file, err)
}
