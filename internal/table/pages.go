package table

import (
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"credence/internal/fault"
	"credence/internal/words"
)

// The Parquet library allocates whatever sizes a file states, before it looks
// at the data. A file is therefore looked through when it is opened: its footer
// and the headers of all pages. What has then to be in memory at once is bounded
// by the memory allowed, or by the size of the file where that is more.
const (
	// pageRatio is how far the data of a page may be compressed, beyond the
	// first pageSlack bytes. Deflate reaches 1032; Zstandard makes a block of 128 KB,
	// all of one byte, of four.
	pageRatio = 1 << 15
	pageSlack = 64 << 20
	// pageValues is how many values a page may have beyond eight a byte: runs
	// of equal values take next to no space.
	pageValues = 1 << 24
	// perByte is how many bytes the largest pages of all columns of a row group may take
	// together for one of the file, where that is more than the memory allowed.
	perByte = 16
	// structCost is the memory of a structure of the footer, here and in the library.
	structCost = 1024
	// valueCost is the memory of a value of a list, which is read whole.
	valueCost = 64
	// pageHeader bounds the header of a page, which may hold the least and the
	// greatest of its texts.
	pageHeader = 16 << 20
)

// parquetPage is where a page lies and what its header says.
type parquetPage struct {
	at, header int64 // where its header begins, and the header's size
	packed     int64 // bytes behind the header
	unpacked   int64 // what they unpack to
	values     int64
	plain      int64 // of packed, those ahead that are never compressed
	raw        bool  // nothing of it is compressed
	dictionary bool
	crc        uint32 // of the packed bytes; 0 where there is none
}

// chunkPages are the pages of a column in a row group.
type chunkPages struct {
	file, name string
	src        io.ReaderAt
	size       int64 // of the file
	list       []parquetPage
	headers    []format.PageHeader
	takes      int64 // bytes that the largest page and the dictionary take in memory
}

// bad reports damage to the column.
func (c *chunkPages) bad(format string, args ...any) error {
	return fault.Malformed(c.file, "the Parquet file is damaged: %s: %s", c.name, fmt.Sprintf(format, args...))
}

// read looks at the headers of all pages.
func (c *chunkPages) read(m *format.ColumnMetaData) error {
	at := m.DataPageOffset
	if m.DictionaryPageOffset != 0 {
		at = m.DictionaryPageOffset
	}
	if at < 0 || m.TotalCompressedSize < 0 || at > c.size || m.TotalCompressedSize > c.size-at {
		return c.bad("%s bytes from byte %s on, in a file of %s", words.Thousands(int(m.TotalCompressedSize)), words.Thousands(int(at)), words.Thousands(int(c.size)))
	}
	var data, dictionary int64
	for end := at + m.TotalCompressedSize; at < end; {
		p, header, err := c.pageAt(at, end)
		switch {
		case err != nil:
			return c.bad("the page at byte %s: %v", words.Thousands(int(at)), err)
		case p.packed < 0 || p.unpacked < 0 || p.values < 0 || p.packed > end-at-p.header:
			return c.bad("the page at byte %s has %s bytes, more than are there", words.Thousands(int(at)), words.Thousands(int(p.packed)))
		case p.unpacked > pageSlack+pageRatio*p.packed, p.values > pageValues+8*p.unpacked:
			return c.bad("the page at byte %s claims %s values in %s bytes, packed in %s", words.Thousands(int(at)),
				words.Thousands(int(p.values)), words.Thousands(int(p.unpacked)), words.Thousands(int(p.packed)))
		case p.plain < 0 || p.plain > min(p.packed, p.unpacked):
			return c.bad("the page at byte %s: %s bytes of levels in a page of %s", words.Thousands(int(at)), words.Thousands(int(p.plain)), words.Thousands(int(p.packed)))
		}
		c.list = append(c.list, p)
		c.headers = append(c.headers, header)
		at += p.header + p.packed
		// Values are decoded to at most eight bytes each, and levels to one.
		if takes := p.packed + p.unpacked + 10*p.values; p.dictionary {
			dictionary = max(dictionary, takes)
		} else {
			data = max(data, takes)
		}
	}
	c.takes = data + dictionary
	return nil
}

// pageAt reads the header of the page at a byte of the file, of a column that
// ends at another.
func (c *chunkPages) pageAt(at, end int64) (parquetPage, format.PageHeader, error) {
	window := make([]byte, min(end-at, 512))
	for {
		if _, err := c.src.ReadAt(window, at); err != nil && err != io.EOF {
			return parquetPage{}, format.PageHeader{}, err
		}
		w := thriftWalk{b: window}
		err := w.structure()
		if err == errThriftShort && int64(len(window)) < min(end-at, pageHeader) {
			window = make([]byte, min(end-at, pageHeader, 8*int64(len(window))))
			continue
		}
		var h format.PageHeader
		if err == nil {
			err = thrift.Unmarshal(new(thrift.CompactProtocol), window[:w.at], &h)
		}
		if err != nil {
			return parquetPage{}, h, err
		}
		p := parquetPage{at: at, header: int64(w.at), packed: int64(h.CompressedPageSize), unpacked: int64(h.UncompressedPageSize), crc: uint32(h.CRC)}
		return p, h, p.describe(&h)
	}
}

// describe takes from a header what depends on the kind of the page.
func (p *parquetPage) describe(h *format.PageHeader) error {
	switch {
	case h.Type == format.DataPage && h.DataPageHeader.Valid:
		p.values = int64(h.DataPageHeader.V.NumValues)
	case h.Type == format.DictionaryPage && h.DictionaryPageHeader.Valid:
		p.values, p.dictionary = int64(h.DictionaryPageHeader.V.NumValues), true
	case h.Type == format.DataPageV2 && h.DataPageHeaderV2.Valid:
		v := &h.DataPageHeaderV2.V
		p.values = int64(v.NumValues)
		if v.DefinitionLevelsByteLength < 0 || v.RepetitionLevelsByteLength < 0 {
			return errors.New("levels of a negative size")
		}
		p.plain = int64(v.DefinitionLevelsByteLength) + int64(v.RepetitionLevelsByteLength)
		// Writers leave data uncompressed that compression would not shorten.
		p.raw = v.IsCompressed.Valid && !v.IsCompressed.V
	default:
		return fmt.Errorf("a header of type %v without the fields that belong to it", h.Type)
	}
	return nil
}
