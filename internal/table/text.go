package table

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"

	"credence/internal/fault"
)

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
