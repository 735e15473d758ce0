package table

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

// The Parquet library allocates whatever sizes a file states, before it reads
// the data. Therefore the footer and the headers of all pages are checked when a
// file is opened. The memory needed at once is then limited to the memory allowed,
// or to a multiple of the file size if that is more.
const (
	// pageRatio is the largest compression ratio of a page, beyond the
	// first pageSlack bytes. Deflate reaches 1032; Zstandard compresses a block of 128 KB
	// of equal bytes to four bytes.
	pageRatio = 1 << 15
	pageSlack = 64 << 20
	// pageValues is the number of values that a page may have in addition to eight
	// per byte: runs of equal values take almost no space.
	pageValues = 1 << 24
	// perByte limits the total size of the largest pages of all columns of a row group, in
	// bytes per byte of the file, if that is more than the memory allowed.
	perByte = 16
	// structCost is the memory of a structure of the footer, here and in the library.
	structCost = 1024
	// valueCost is the memory of a value in a list, which is read entirely.
	valueCost = 64
	// pageHeader is the largest size of a page header, which may contain the minimum
	// and maximum of its texts.
	pageHeader = 16 << 20
)

// plainPage describes a page in the file and in the uncompressed view, where it has another header.
type plainPage struct {
	at, header int64 // offset and size of its header
	packed     int64 // bytes after the header
	unpacked   int64 // their size after decompression
	values     int64
	plain      int64 // leading bytes of packed that are never compressed
	raw        bool  // the page is not compressed at all
	dictionary bool
	crc        uint32 // of the packed bytes; 0 if there is none

	plainHeader      format.PageHeader // of the uncompressed page
	start            int64             // offset in the uncompressed view
	plainHeaderBytes []byte            // the header there
}

// pageAt reads the page header at offset at, in a column chunk that ends at
// offset end.
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
			err = thrift.Unmarshal(new(thrift.CompactProtocol), window[:w.at], &p.plainHeader)
		}
		if err == nil {
			err = p.describe()
		}
		return p, err
	}
}

// describe sets the fields of p from its header, and changes the header to that of an uncompressed page.
func (p *plainPage) describe() error {
	h := &p.plainHeader
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
			return errors.New("negative size of levels")
		}
		p.plain = int64(v.DefinitionLevelsByteLength) + int64(v.RepetitionLevelsByteLength)
		// Writers leave data uncompressed if compression would not make them smaller.
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

// thriftWalk traverses a structure in Thrift's compact protocol, in which
// Parquet stores its metadata, without decoding it. It checks what a decoder
// would trust: that lists and texts are no longer than the available bytes.
// (github.com/apache/thrift, doc/specs/thrift-compact-protocol.md)
type thriftWalk struct {
	b     []byte
	at    int
	depth int   // of nested lists, maps and structures
	err   error // the first error, which ends the walk

	structs int // number of structures so far
}

// errThriftShort means that the data end before the structure does.
var errThriftShort = errors.New("it is truncated")

// The types of the compact protocol.
const (
	thriftTrue, thriftFalse    = 1, 2
	thriftByte                 = 3
	thriftInt16                = 4
	thriftInt32, thriftInt64   = 5, 6
	thriftDouble, thriftBinary = 7, 8
	thriftList, thriftSet      = 9, 10
	thriftMap, thriftStruct    = 11, 12
	thriftUUID                 = 13
	thriftDepth                = 64 // largest nesting of values
)

func (w *thriftWalk) fail(err error) {
	w.err = cmp.Or(w.err, err)
	w.at = len(w.b)
}

// skip skips n bytes, and reports whether they exist.
func (w *thriftWalk) skip(n uint64) bool {
	if n > uint64(len(w.b)-w.at) {
		w.fail(errThriftShort)
		return false
	}
	w.at += int(n)
	return true
}

func (w *thriftWalk) byte() byte {
	if !w.skip(1) {
		return 0
	}
	return w.b[w.at-1]
}

func (w *thriftWalk) varint() uint64 {
	x, n := binary.Uvarint(w.b[w.at:])
	switch {
	case n == 0:
		w.fail(errThriftShort)
	case n < 0:
		w.fail(errors.New("unterminated number"))
	default:
		w.at += n
	}
	return x
}

// structure walks through the fields of a structure.
func (w *thriftWalk) structure() error {
	w.structs++
	for {
		head := w.byte()
		if head == 0 {
			return w.err
		}
		if head>>4 == 0 { // the field's number follows
			w.varint()
		}
		w.value(head&15, false)
	}
}

// value walks through a value. Booleans take no extra byte in a field, and one
// in a list.
func (w *thriftWalk) value(kind byte, inList bool) {
	if w.depth++; w.depth > thriftDepth {
		w.fail(fmt.Errorf("values nested deeper than %d levels", thriftDepth))
	}
	defer func() { w.depth-- }()
	switch kind {
	case thriftTrue, thriftFalse:
		if inList {
			w.skip(1)
		}
	case thriftByte:
		w.skip(1)
	case thriftInt16, thriftInt32, thriftInt64:
		w.varint()
	case thriftDouble:
		w.skip(8)
	case thriftUUID:
		w.skip(16)
	case thriftBinary:
		w.skip(w.varint())
	case thriftList, thriftSet:
		head := w.byte()
		n := uint64(head >> 4)
		if n == 15 {
			n = w.varint()
		}
		w.elements(n, head&15)
	case thriftMap:
		if n := w.varint(); n > 0 {
			kinds := w.byte()
			w.elements(n, kinds>>4, kinds&15)
		}
	case thriftStruct:
		w.structure()
	default:
		w.fail(fmt.Errorf("type %d", kind))
	}
}

// elements walks through n values, or n keys with their values. Each takes at
// least one byte.
func (w *thriftWalk) elements(n uint64, kinds ...byte) {
	if n > uint64(len(w.b)-w.at) {
		w.fail(errThriftShort)
	}
	for i := uint64(0); i < n && w.err == nil; i++ {
		for _, kind := range kinds {
			w.value(kind, true)
		}
	}
}

var errLZ4 = errors.New("its LZ4 data are damaged")

// unpack decompresses src into dst, which it must fill exactly: the header of
// a page states the size, and a page of another size is damaged. Nothing larger
// than dst is allocated.
func unpack(codec format.CompressionCodec, dst, src []byte) error {
	var n int
	var err error
	switch codec {
	case format.Uncompressed:
		n = len(src)
		copy(dst, src)
	case format.Lz4Raw: // the library does not distinguish the two errors
		if n, err = lz4.UncompressBlock(src, dst); err != nil {
			err = fmt.Errorf("%w, or it decompresses to more than the %d bytes stated in its header", errLZ4, len(dst))
		}
	case format.Snappy:
		if n, err = snappy.DecodedLen(src); err == nil && n == len(dst) {
			_, err = snappy.Decode(dst, src)
		}
	case format.Zstd:
		var out []byte
		out, err = zstdDecoder().DecodeAll(src, dst[:0:len(dst)])
		n = len(out)
		if errors.Is(err, zstd.ErrDecoderSizeExceeded) {
			err = tooLong(len(dst))
		}
	case format.Gzip:
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(src)); err == nil {
			n, err = unpackStream(dst, z)
		}
	case format.Brotli:
		n, err = unpackStream(dst, brotli.NewReader(bytes.NewReader(src)))
	default:
		err = fmt.Errorf("compression with %v is not supported: use snappy, gzip, zstd, brotli or LZ4_RAW", codec)
	}
	if err == nil && n != len(dst) {
		err = fmt.Errorf("expected %d bytes after decompression, as its header states, found %d", len(dst), n)
	}
	return err
}

// tooLong returns the error about a page that unpacks to more than n bytes.
func tooLong(n int) error {
	return fmt.Errorf("it decompresses to more than the %d bytes stated in its header", n)
}

// unpackStream fills dst from r and returns the number of bytes. Further data in r are an error.
func unpackStream(dst []byte, r io.Reader) (int, error) {
	n, err := io.ReadFull(r, dst)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return n, nil
	}
	if err != nil {
		return n, err
	}
	var more [1]byte
	switch k, err := io.ReadFull(r, more[:]); {
	case k > 0:
		return n, tooLong(n)
	case err != io.EOF:
		return n, err
	}
	return n, nil
}

// zstdDecoder returns a decoder that stops at the capacity of the destination. Its options are valid, so that there
// is no error.
var zstdDecoder = sync.OnceValue(func() *zstd.Decoder {
	d, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true))
	return d
})
