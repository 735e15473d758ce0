package table

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"

	"credence/internal/budget"
	"credence/internal/fault"
	"credence/internal/words"
)

// An Arrow stream is a series of messages. Each has four bytes of 0xff, the length of its metadata, the metadata and a
// body. The first message names the columns. Each of the others holds the values of some rows, column by column, which
// are read in place. Structures become columns named outer.inner, as in Parquet. Dictionaries, compressed
// bodies and big-endian numbers are not supported. (arrow.apache.org, "Arrow Columnar Format")

// arrowTable reads an Arrow stream, one message at a time.
type arrowTable struct {
	ctx context.Context
	base
	r      *bufio.Reader
	leaves []arrowLeaf
	fields int // nodes per message, one for each field
	slots  int // buffers per message

	body    []byte   // of the present message
	buffers [][]byte // in body
	rows    int      // number of rows in the present message
	next    int      // the next of these
	read    int64    // bytes read from r
	memory  int64    // limit in bytes
}

// arrowMark is the beginning of every message.
var arrowMark = []byte{0xff, 0xff, 0xff, 0xff}

// NewPiped reads a table from a pipe: an Arrow stream, or else text as for [NewText].
func NewPiped(ctx context.Context, src io.ReadCloser, file string, opts Options) (Table, error) {
	r := bufio.NewReaderSize(src, peekSize)
	// No UTF-8 text begins with this mark. A sender of text may pause after a few bytes.
	head, _ := r.Peek(1)
	if bytes.HasPrefix(arrowMark, head) {
		head, _ = r.Peek(len(arrowMark))
	}
	if !bytes.Equal(head, arrowMark) {
		return NewText(ctx, readCloser{r, src}, file, opts)
	}
	t, err := newArrow(ctx, r, file, budget.Of(opts.Memory))
	if err != nil {
		return nil, errors.Join(err, src.Close())
	}
	t.src = src
	return t, nil
}

// newArrow reads the schema of a stream.
func newArrow(ctx context.Context, r *bufio.Reader, file string, memory int64) (*arrowTable, error) {
	t := &arrowTable{ctx: ctx, base: newRows(file), r: r, memory: memory}
	t.meter = &budget.Meter{File: file, Limit: memory, Read: func() int64 { return t.read }}
	kind, header, err := t.message()
	if err == io.EOF || err == nil && kind != arrowSchema {
		return nil, t.malformed("expected a schema as the first message")
	}
	if err != nil {
		return nil, err
	}
	if header.int16(0) != 0 {
		return nil, t.malformed("big-endian numbers are not supported")
	}
	for _, field := range header.tables(1) {
		if err := t.add(field, "", nil, 0); err != nil {
			return nil, err
		}
	}
	if header.buffer.damaged {
		return nil, t.damaged()
	}
	t.names = words.Each(t.leaves, func(l arrowLeaf) string { return l.name })
	return t, t.begin(0)
}

func (t *arrowTable) malformed(format string, args ...any) error {
	return fault.Malformed(t.file, "cannot read the Arrow stream: "+format, args...)
}

func (t *arrowTable) damaged() error {
	return fault.Malformed(t.file, "the Arrow stream is damaged or truncated after %s", words.Plural(t.line, "row"))
}

// message reads a message, and returns its kind and header. Its body is in t.body. At the end it returns io.EOF.
func (t *arrowTable) message() (kind int, header flatTable, err error) {
	if err := t.ctx.Err(); err != nil {
		return 0, header, err
	}
	var head [8]byte
	n, err := io.ReadFull(t.r, head[:])
	switch {
	case err == io.EOF, err == io.ErrUnexpectedEOF && n == 4 && bytes.Equal(head[:4], arrowMark):
		return 0, header, io.EOF
	case err == io.ErrUnexpectedEOF:
		return 0, header, t.damaged()
	case err != nil:
		return 0, header, readError(t.file, err)
	}
	size := int64(int32(binary.LittleEndian.Uint32(head[4:])))
	if size == 0 && bytes.Equal(head[:4], arrowMark) {
		return 0, header, io.EOF
	}
	if size < 0 || !bytes.Equal(head[:4], arrowMark) {
		return 0, header, t.damaged()
	}
	t.read += 8
	metadata, err := t.take(nil, size, "the metadata of a message")
	if err != nil {
		return 0, header, err
	}
	f := &flatBuffer{b: metadata}
	m := f.root()
	header, ok := m.table(2)
	body := m.int64(3)
	if f.damaged || !ok || body < 0 {
		return 0, header, t.damaged()
	}
	t.body, err = t.take(t.body[:0], body, "the values of a message")
	return m.byte(1), header, err
}

// take appends size bytes from the stream to b. Memory grows with the bytes that arrive.
func (t *arrowTable) take(b []byte, size int64, what string) ([]byte, error) {
	if err := budget.Check(t.memory, size, t.file, "%s", what); err != nil {
		return nil, err
	}
	buf := bytes.NewBuffer(b)
	n, err := io.CopyN(buf, t.r, size)
	t.read += n
	switch {
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return nil, t.damaged()
	case err != nil:
		return nil, readError(t.file, err)
	}
	return buf.Bytes(), nil
}

// batch reads the next message of values.
func (t *arrowTable) batch() error {
	kind, header, err := t.message()
	if err != nil {
		return err
	}
	if kind != arrowBatch {
		return t.malformed("expected values, found a message of kind %d", kind)
	}
	if _, compressed := header.table(3); compressed {
		return t.malformed("compressed values are not supported: write it without compression")
	}
	f := header.buffer
	rows := header.int64(0)
	nodes, fields := header.vector(1, 16)
	places, slots := header.vector(2, 16)
	if f.damaged || rows < 0 || rows > 1<<31-1 || fields != t.fields || slots != t.slots {
		return t.damaged()
	}
	t.buffers = t.buffers[:0]
	for i := range slots {
		from, size := f.int64(places+16*i), f.int64(places+16*i+8)
		if from < 0 || size < 0 || from > int64(len(t.body)) || size > int64(len(t.body))-from {
			return t.damaged()
		}
		t.buffers = append(t.buffers, t.body[from:from+size])
	}
	for i := range t.leaves {
		l := &t.leaves[i]
		if f.int64(nodes+16*l.node) != rows {
			return t.damaged()
		}
		elements := int64(0)
		if l.element != nil {
			elements = f.int64(nodes + 16*l.element.node)
		}
		if l.unread == nil && !l.fits(t.buffers, int(rows), elements) {
			return t.damaged()
		}
	}
	t.rows, t.next = int(rows), 0
	return nil
}

func (t *arrowTable) Next() ([]Cell, error) {
	for t.next == t.rows {
		if err := t.batch(); err != nil {
			return nil, err
		}
	}
	for i := range t.leaves {
		if l := &t.leaves[i]; l.unread == nil {
			l.cell(t.buffers, t.next, &t.cells[i])
		}
	}
	t.next++
	t.line++
	return t.cells, nil
}

// Unread returns the reason why a column cannot be read, or nil.
func (t *arrowTable) Unread(col int) error { return t.leaves[col].unread }
