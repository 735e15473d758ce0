package table

import (
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
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

// plainPage is where a page lies, what its header says, and how it is shown: with another header.
type plainPage struct {
	at, header int64 // where its header begins, and the header's size
	packed     int64 // bytes behind the header
	unpacked   int64 // what they unpack to
	values     int64
	plain      int64 // of packed, those ahead that are never compressed
	raw        bool  // nothing of it is compressed
	dictionary bool
	crc        uint32 // of the packed bytes; 0 where there is none

	says  format.PageHeader // once nothing is compressed
	start int64
	shown []byte // the header
}

// pageAt reads the header of the page at a byte of the file, of a column that
// ends at another.
func pageAt(src io.ReaderAt, at, end int64) (plainPage, error) {
	window := make([]byte, min(end-at, 512))
	for {
		if _, err := src.ReadAt(window, at); err != nil && err != io.EOF {
			return plainPage{}, err
		}
		w := thriftWalk{b: window}
		err := w.structure()
		if err == errThriftShort && int64(len(window)) < min(end-at, pageHeader) {
			window = make([]byte, min(end-at, pageHeader, 8*int64(len(window))))
			continue
		}
		p := plainPage{at: at, header: int64(w.at)}
		if err == nil {
			err = thrift.Unmarshal(new(thrift.CompactProtocol), window[:w.at], &p.says)
		}
		if err == nil {
			err = p.describe()
		}
		return p, err
	}
}

// describe takes from the header what it says of the page, and makes it that of a page that is not compressed.
func (p *plainPage) describe() error {
	h := &p.says
	p.packed, p.unpacked, p.crc = int64(h.CompressedPageSize), int64(h.UncompressedPageSize), uint32(h.CRC)
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
	if h.DataPageHeaderV2.Valid {
		h.DataPageHeaderV2.V.IsCompressed = thrift.New(false)
	}
	h.CompressedPageSize, h.CRC = h.UncompressedPageSize, 0
	return nil
}
