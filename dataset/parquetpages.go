package dataset

import (
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"

	"credence/internal/words"
)

// The Parquet library allocates whatever sizes a file states, before it looks
// at the data. A file is therefore looked through first: its footer when it is
// opened, the headers of a row group's pages when their turn comes. What has
// then to be in memory at once is bounded by the size of the file.
const (
	// pageRatio is how far the data of a page may be compressed, beyond the
	// first pageSlack bytes. Deflate reaches 1032.
	pageRatio = 1100
	pageSlack = 64 << 20
	// pageValues is how many values a page may have beyond eight a byte: runs
	// of equal values take next to no space.
	pageValues = 1 << 24
	// groupRatio and groupSlack bound the memory of the largest pages of all
	// columns of a row group together, by the size of the file.
	groupRatio = 16
	groupSlack = 1 << 30
	// pageHeader bounds the header of a page, which may hold the least and the
	// greatest of its texts.
	pageHeader = 16 << 20
)

// checkMetadata walks through the footer, of n bytes, of a file.
func checkMetadata(file string, src io.ReaderAt, size, n int64) error {
	footer := make([]byte, n)
	if _, err := src.ReadAt(footer, size-8-n); err != nil && err != io.EOF {
		return failed(file, err)
	}
	w := thriftWalk{b: footer}
	if err := w.structure(); err != nil {
		return malformed(file, "the Parquet file is damaged: its footer: %v", err)
	}
	return nil
}

// pageSizes are those that the header of a page states.
type pageSizes struct {
	header, packed, unpacked, values int64
	plain                            int64 // of packed, bytes that are not compressed
}

// checkPages looks at the headers of all pages of a row group.
func (t *parquetTable) checkPages(group int) error {
	var most int64
	for i, c := range t.pq.Metadata().RowGroups[group].Columns {
		name := fmt.Sprintf("row group %d, column %d", group+1, i+1)
		largest, err := t.checkChunk(name, &c.MetaData)
		if err != nil {
			return err
		}
		most += largest
	}
	if most > groupSlack+groupRatio*t.size {
		return malformed(t.file, "row group %d would take %s bytes at a time, in a file of %s: write it with smaller pages",
			group+1, words.Thousands(int(most)), words.Thousands(int(t.size)))
	}
	return nil
}

// checkChunk looks at the pages of one column and returns the bytes that its
// largest page and its dictionary take.
func (t *parquetTable) checkChunk(name string, c *format.ColumnMetaData) (int64, error) {
	bad := func(format string, args ...any) (int64, error) {
		return 0, malformed(t.file, "the Parquet file is damaged: %s: %s", name, fmt.Sprintf(format, args...))
	}
	at := c.DataPageOffset
	if c.DictionaryPageOffset != 0 {
		at = c.DictionaryPageOffset
	}
	if at < 0 || c.TotalCompressedSize < 0 || at > t.size || c.TotalCompressedSize > t.size-at {
		return bad("%s bytes from byte %s on, in a file of %s", words.Thousands(int(c.TotalCompressedSize)), words.Thousands(int(at)), words.Thousands(int(t.size)))
	}
	end := at + c.TotalCompressedSize
	var data, dictionary int64
	for at < end {
		p, isDictionary, err := t.pageAt(at, end)
		switch {
		case err != nil:
			return bad("the page at byte %s: %v", words.Thousands(int(at)), err)
		case p.packed < 0 || p.unpacked < 0 || p.values < 0 || p.packed > end-at-p.header:
			return bad("the page at byte %s has %s bytes, more than are there", words.Thousands(int(at)), words.Thousands(int(p.packed)))
		case p.unpacked > pageSlack+pageRatio*p.packed, p.values > pageValues+8*p.unpacked:
			return bad("the page at byte %s claims %s values in %s bytes, packed in %s", words.Thousands(int(at)),
				words.Thousands(int(p.values)), words.Thousands(int(p.unpacked)), words.Thousands(int(p.packed)))
		}
		at += p.header
		if err := t.checkUnpacked(c.Codec, at, p); err != nil {
			return bad("the page at byte %s: %v", words.Thousands(int(at-p.header)), err)
		}
		at += p.packed
		// Values are decoded to at most eight bytes each, and levels to one.
		if takes := p.packed + p.unpacked + 10*p.values; isDictionary {
			dictionary = max(dictionary, takes)
		} else {
			data = max(data, takes)
		}
	}
	return data + dictionary, nil
}

// pageAt reads the header of the page at a byte of the file, of a column that
// ends at another.
func (t *parquetTable) pageAt(at, end int64) (p pageSizes, dictionary bool, err error) {
	window := make([]byte, min(end-at, 512))
	for {
		if _, err := t.bytes.ReadAt(window, at); err != nil && err != io.EOF {
			return p, false, err
		}
		p = pageSizes{}
		w := thriftWalk{b: window, visit: func(path []int, x int64) {
			switch {
			case slices.Equal(path, []int{2}):
				p.unpacked = x
			case slices.Equal(path, []int{3}):
				p.packed = x
			case slices.Equal(path, []int{5, 1}), slices.Equal(path, []int{8, 1}):
				p.values = x
			case slices.Equal(path, []int{7, 1}):
				p.values, dictionary = x, true
			case slices.Equal(path, []int{8, 5}), slices.Equal(path, []int{8, 6}):
				p.plain += max(0, x)
			}
		}}
		err := w.structure()
		if p.header = int64(w.at); err != errThriftShort || int64(len(window)) == min(end-at, pageHeader) {
			return p, dictionary, err
		}
		window = make([]byte, min(end-at, pageHeader, 8*int64(len(window))))
	}
}

// checkUnpacked refuses a page that unfolds to more than its header says. Where
// the little that is there could not take much memory, nothing is unpacked.
func (t *parquetTable) checkUnpacked(codec format.CompressionCodec, at int64, p pageSizes) error {
	if p.plain > p.packed {
		return fmt.Errorf("%s bytes of levels in a page of %s", words.Thousands(int(p.plain)), words.Thousands(int(p.packed)))
	}
	packed := io.NewSectionReader(t.bytes, at+p.plain, p.packed-p.plain)
	limit := p.unpacked - p.plain
	var r io.Reader
	switch codec {
	case format.Uncompressed, format.Lz4Raw: // at most 255 times as long
		return nil
	case format.Snappy: // which begins with the length that will be allocated
		var head [binary.MaxVarintLen64]byte
		n, _ := packed.ReadAt(head[:], 0)
		if x, _ := binary.Uvarint(head[:n]); n > 0 && x > uint64(max(limit, 0)) {
			return fmt.Errorf("it unpacks to %d bytes, but its header says %d", x, limit)
		}
		return nil
	case format.Gzip:
		if packed.Size()*pageRatio <= pageSlack {
			return nil
		}
		z, err := gzip.NewReader(packed)
		if err != nil {
			return err
		}
		r = z
	case format.Zstd:
		z, err := zstd.NewReader(packed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(pageSlack))
		if err != nil {
			return err
		}
		defer z.Close()
		r = z
	default:
		return fmt.Errorf("compression with %v is not read: use snappy, gzip or zstd", codec)
	}
	n, err := io.Copy(io.Discard, io.LimitReader(r, limit+1))
	if n > limit {
		return fmt.Errorf("it unpacks to more than the %d bytes that its header says", limit)
	}
	return err
}
