package table

import (
	"bytes"
	"io"

	"credence/internal/budget"
)

// Records of a text table are bounded before the CSV reader sees them, because it reads a
// record whole, with a multiple of its size in memory, whatever that size is.
const (
	// byteCost is the memory that a byte of a record takes: in the buffers of the CSV
	// reader, which grow by doubling, and in the text of its fields.
	byteCost = 4
	// fieldCost is the memory of a field on top: its place, its text and its cell.
	fieldCost = 128
	// columnCost is the memory of a column: its name, its cell, what a scan of it keeps.
	columnCost = 768
)

// recordLimit passes a text on as long as its records fit into the memory allowed. It
// tells records apart by line feeds outside quotes, as the CSV reader does; where quotes
// are not balanced, that one stops with an error.
type recordLimit struct {
	r      io.Reader
	file   string
	limit  int64
	comma  byte
	quoted bool
	line   int // from 1, at which the record begins
	lines  int // within the record
	bytes  int64
	fields int64
}

func (l *recordLimit) Read(b []byte) (int, error) {
	n, err := l.r.Read(b)
	for rest := b[:n]; len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n') + 1
		part := rest[:end]
		if end == 0 {
			part = rest
		}
		rest = rest[len(part):]
		l.quoted = l.quoted != (bytes.Count(part, []byte{'"'})%2 == 1)
		l.bytes += int64(len(part))
		l.fields += int64(bytes.Count(part, []byte{l.comma}))
		if need := byteCost*l.bytes + fieldCost*l.fields; need > l.limit {
			return 0, budget.Check(l.limit, need, l.file, "line %d: a record of %d bytes or more", l.line, l.bytes)
		}
		if end > 0 {
			l.lines++
		}
		if end > 0 && !l.quoted {
			l.line += l.lines
			l.lines, l.bytes, l.fields = 0, 0, 0
		}
	}
	return n, err
}

// blanks are records that were read ahead and have blank fields alone, many of which are
// alike: n records of so many fields, one on each line from the given one on.
type blanks struct {
	line, fields, n int
}

// next takes the first record off.
func (b *blanks) next() record {
	r := record{fields: make([]string, b.fields), line: b.line}
	b.line++
	b.n--
	return r
}

// counter counts the bytes that are read.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}
