package table

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"slices"
	"sort"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"credence/internal/budget"
	"credence/internal/fault"
	"credence/internal/words"
)

// plainParquet presents a Parquet file as if nothing in it were compressed, and
// decompresses each page when it is read. The library's own decompression is not
// used: up to v0.32.0 it ignores data that a decoder returns in a new buffer, as
// its LZ4 decoder does when a page shrinks to more than a third, so that such
// pages are read as zeros (parquet-go issue 608); it decodes all row groups with
// the codec of the first; and a damaged page can make its decoders allocate
// without limit.
//
// The view consists of the file without its footer, then the column chunks, uncompressed,
// then a footer that describes them:
//
//	[0, body)       the file up to its footer
//	[body, tail)    the chunks, one after the other
//	[tail, size)    footer, its length, "PAR1"
type plainParquet struct {
	ctx    context.Context
	src    io.ReaderAt
	file   string
	chunks []plainChunk
	body   int64
	tail   int64
	footer []byte
	err    error // the first error in a page, which the library may not return unchanged
	memory int64 // limit in bytes
	levels []pageLevels
}

// plainChunk is a column chunk, from start to end in the view.
type plainChunk struct {
	name       string
	codec      format.CompressionCodec
	start, end int64
	levels     *pageLevels
	pages      []plainPage
	held       []byte // the last page that was read, as in the view, or nil
	page       int    // its index
}

// newPlainParquet checks all page headers of a file, and returns the view of the file for the library and
// its size.
func newPlainParquet(ctx context.Context, file string, src io.ReaderAt, size, memory int64) (*plainParquet, int64, error) {
	n, err := checkFooter(file, src, size)
	if err != nil {
		return nil, 0, err
	}
	p := &plainParquet{ctx: ctx, src: src, file: file, body: size - 8 - n, memory: memory}
	footer := make([]byte, n)
	if _, err := src.ReadAt(footer, p.body); err != nil && err != io.EOF {
		return nil, 0, fault.Of(file, err)
	}
	w := thriftWalk{b: footer}
	if err := w.structure(); err != nil {
		return nil, 0, damaged(file, "its footer: %v", err)
	}
	if err := budget.Check(max(memory, perByte*size), structCost*int64(w.structs), file, "a footer of %s structures", words.Thousands(w.structs)); err != nil {
		return nil, 0, err
	}
	var meta format.FileMetaData
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), footer, &meta); err != nil {
		return nil, 0, fault.Malformed(file, "this is not a Parquet file: %v", err)
	}
	if p.levels, err = levelsOf(meta.Schema, memory); err != nil {
		return nil, 0, damaged(file, "its schema: %v", err)
	}
	p.tail = p.body
	for g := range meta.RowGroups {
		if err := p.addGroup(g, &meta.RowGroups[g], size); err != nil {
			return nil, 0, err
		}
	}
	if len(p.chunks) > 0 {
		if footer, err = thrift.Marshal(new(thrift.CompactProtocol), meta); err != nil {
			return nil, 0, damaged(file, "its footer: %v", err)
		}
	}
	if len(footer) > math.MaxInt32 {
		return nil, 0, fault.Malformed(file, "the Parquet file has a footer of %s bytes", words.Thousands(len(footer)))
	}
	p.footer = binary.LittleEndian.AppendUint32(footer, uint32(len(footer)))
	p.footer = append(p.footer, "PAR1"...)
	return p, p.tail + int64(len(p.footer)), nil
}

// damaged returns an error about a damaged Parquet file.
func damaged(file, format string, args ...any) error {
	return fault.Malformed(file, "the Parquet file is damaged: "+format, args...)
}

func thousands(n int64) string { return words.Thousands(int(n)) }

// addGroup checks the pages of a row group, and changes its metadata to the
// offsets of its chunks in the view.
func (p *plainParquet) addGroup(g int, group *format.RowGroup, size int64) error {
	if len(group.Columns) != len(p.levels) {
		return damaged(p.file, "row group %d has %d columns, the schema %d", g+1, len(group.Columns), len(p.levels))
	}
	var most int64
	for i := range group.Columns {
		chunk := plainChunk{name: fmt.Sprintf("row group %d, column %d", g+1, i+1), levels: &p.levels[i]}
		takes, err := p.addChunk(&chunk, &group.Columns[i], size)
		if err != nil {
			return err
		}
		most += takes
	}
	return budget.Check(max(p.memory, perByte*size), most, p.file, "row group %d", g+1)
}

// addChunk checks the headers of all pages of a column chunk, and appends the chunk to the view. It returns
// the memory of the largest page and the dictionary, in bytes.
func (p *plainParquet) addChunk(chunk *plainChunk, c *format.ColumnChunk, size int64) (takes int64, err error) {
	m := &c.MetaData
	at := m.DataPageOffset
	if m.DictionaryPageOffset != 0 {
		at = m.DictionaryPageOffset
	}
	if at < 0 || m.TotalCompressedSize < 0 || at > size || m.TotalCompressedSize > size-at {
		return 0, damaged(p.file, "%s: %s bytes from byte %s on, in a file of %s", chunk.name,
			thousands(m.TotalCompressedSize), thousands(at), thousands(size))
	}
	var data, dictionary int64
	chunk.start, chunk.end = p.tail, p.tail
	for end := at + m.TotalCompressedSize; at < end; {
		page, err := pageAt(p.src, at, end)
		bad := func(format string, args ...any) (int64, error) {
			return 0, damaged(p.file, "%s: the page at byte %s%s", chunk.name, thousands(at), fmt.Sprintf(format, args...))
		}
		switch {
		case err != nil:
			return bad(": %v", err)
		case page.packed < 0 || page.unpacked < 0 || page.values < 0 || page.packed > end-at-page.header:
			return bad(" has %s bytes, more than the rest of the chunk", thousands(page.packed))
		case page.unpacked > pageSlack+pageRatio*page.packed, page.values > pageValues+8*page.unpacked:
			return bad(" claims %s values in %s bytes, packed in %s",
				thousands(page.values), thousands(page.unpacked), thousands(page.packed))
		case page.plain < 0 || page.plain > min(page.packed, page.unpacked):
			return bad(": %s bytes of levels in a page of %s", thousands(page.plain), thousands(page.packed))
		}
		if page.plainHeaderBytes, err = thrift.Marshal(new(thrift.CompactProtocol), page.plainHeader); err != nil {
			return bad(": %v", err)
		}
		page.start = chunk.end
		chunk.pages = append(chunk.pages, page)
		if chunk.end += int64(len(page.plainHeaderBytes)) + page.unpacked; chunk.end > math.MaxInt64/2 {
			return 0, damaged(p.file, "%s: its uncompressed size is larger than any file", chunk.name)
		}
		at += page.header + page.packed
		// Values are decoded to at most eight bytes each, and levels to one.
		if takes := page.packed + page.unpacked + 10*page.values; page.dictionary {
			dictionary = max(dictionary, takes)
		} else {
			data = max(data, takes)
		}
	}
	m.DataPageOffset = chunk.start
	if m.DictionaryPageOffset != 0 {
		m.DictionaryPageOffset = chunk.start
		if k := slices.IndexFunc(chunk.pages, func(p plainPage) bool { return !p.dictionary }); k >= 0 {
			m.DataPageOffset = chunk.pages[k].start
		}
	}
	chunk.codec, m.Codec = m.Codec, format.Uncompressed
	m.TotalCompressedSize = chunk.end - chunk.start
	m.TotalUncompressedSize = m.TotalCompressedSize
	c.OffsetIndexOffset, c.OffsetIndexLength, c.ColumnIndexOffset, c.ColumnIndexLength = 0, 0, 0, 0
	p.tail = chunk.end
	p.chunks = append(p.chunks, *chunk)
	return data + dictionary, nil
}

// ReadAt reads from the view.
func (p *plainParquet) ReadAt(b []byte, off int64) (int, error) {
	done := 0
	for done < len(b) {
		n, err := p.readSome(b[done:], off+int64(done))
		done += n
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// readSome reads at least one byte, unless it fails.
func (p *plainParquet) readSome(b []byte, off int64) (int, error) {
	if err := p.ctx.Err(); err != nil {
		p.err = err
		return 0, err
	}
	switch {
	case off < 0 || off >= p.tail+int64(len(p.footer)):
		return 0, io.EOF
	case off < p.body:
		return p.src.ReadAt(b[:min(int64(len(b)), p.body-off)], off)
	case off >= p.tail:
		return copy(b, p.footer[off-p.tail:]), nil
	}
	c := &p.chunks[sort.Search(len(p.chunks), func(i int) bool { return p.chunks[i].end > off })]
	k := sort.Search(len(c.pages), func(i int) bool { return c.pages[i].start > off }) - 1
	if c.page != k || c.held == nil {
		c.held, c.page = nil, k
		held, err := p.show(c, &c.pages[k])
		if err != nil {
			if p.err == nil {
				p.err = err
			}
			return 0, err
		}
		c.held = held
	}
	n := copy(b, c.held[off-c.pages[k].start:])
	if off+int64(n) == c.pages[k].start+int64(len(c.held)) {
		c.held = nil // pages are read in order, and the library has a copy of this one
	}
	return n, nil
}

// show returns a page as it is in the view: its header, then its data, uncompressed.
func (p *plainParquet) show(c *plainChunk, page *plainPage) ([]byte, error) {
	packed := make([]byte, page.packed)
	if _, err := p.src.ReadAt(packed, page.at+page.header); err != nil && err != io.EOF {
		return nil, fault.Of(p.file, err)
	}
	codec := c.codec
	if page.raw {
		codec = format.Uncompressed
	}
	held := make([]byte, int64(len(page.plainHeaderBytes))+page.unpacked)
	data := held[copy(held, page.plainHeaderBytes):]
	copy(data[:page.plain], packed)
	err := errors.New("wrong checksum")
	if page.crc == 0 || page.crc == crc32.ChecksumIEEE(packed) {
		err = unpack(codec, data[page.plain:], packed[page.plain:])
	}
	if err == nil {
		err = c.levels.check(&page.plainHeader, data, p.memory)
	}
	if err != nil {
		return nil, damaged(p.file, "%s: the page at byte %s: %v", c.name, thousands(page.at), err)
	}
	return held, nil
}

// levelsOf returns the levels of the leaf columns, in order.
func levelsOf(schema []format.SchemaElement, memory int64) ([]pageLevels, error) {
	const deepest = 64 // the library uses recursion
	var list []pageLevels
	at := 0
	var walk func(depth, definition, repetition int) error
	walk = func(depth, definition, repetition int) error {
		if at >= len(schema) {
			return errors.New("it is truncated")
		}
		if depth > deepest {
			return fmt.Errorf("columns nested deeper than %d levels", deepest)
		}
		e := &schema[at]
		at++
		switch {
		case depth == 0:
		case e.RepetitionType.V == format.Optional:
			definition++
		case e.RepetitionType.V == format.Repeated:
			definition, repetition = definition+1, repetition+1
		}
		children := e.NumChildren.V
		if children == 0 && depth > 0 {
			list = append(list, pageLevels{definition: definition, repetition: repetition, mostInRow: memory / valueCost})
		}
		for range children {
			if err := walk(depth+1, definition, repetition); err != nil {
				return err
			}
		}
		return nil
	}
	if err := walk(0, 0, 0); err != nil {
		return nil, err
	}
	if at != len(schema) {
		return nil, fmt.Errorf("%d elements without a parent", len(schema)-at)
	}
	return list, nil
}
