package table

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"credence/internal/budget"
	"credence/internal/fault"
)

// onePage returns a Parquet file with a column x of numbers and one page, whose
// header and metadata can be falsified.
func onePage(t *testing.T, codec format.CompressionCodec, data []byte, page func(*format.PageHeader), meta func(*format.ColumnMetaData)) []byte {
	t.Helper()
	header := format.PageHeader{Type: format.DataPage, UncompressedPageSize: 16, CompressedPageSize: int32(len(data))}
	header.DataPageHeader = thrift.New(format.DataPageHeader{NumValues: 2, Encoding: format.Plain,
		DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE})
	if page != nil {
		page(&header)
	}
	marshal := func(v any) []byte {
		b, err := thrift.Marshal(new(thrift.CompactProtocol), v)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	file := append([]byte("PAR1"), marshal(header)...)
	file = append(file, data...)
	column := format.ColumnMetaData{Type: format.Double, Encoding: []format.Encoding{format.Plain}, PathInSchema: []string{"x"},
		Codec: codec, NumValues: 2, TotalUncompressedSize: 16, TotalCompressedSize: int64(len(file) - 4), DataPageOffset: 4}
	if meta != nil {
		meta(&column)
	}
	footer := marshal(format.FileMetaData{Version: 1, NumRows: column.NumValues,
		Schema: []format.SchemaElement{{Name: "root", NumChildren: thrift.New(int32(1))},
			{Name: "x", Type: thrift.New(format.Double), RepetitionType: thrift.New(format.Required)}},
		RowGroups: []format.RowGroup{{Columns: []format.ColumnChunk{{MetaData: column}}, NumRows: column.NumValues}}})
	file = append(file, footer...)
	file = binary.LittleEndian.AppendUint32(file, uint32(len(footer)))
	return append(file, "PAR1"...)
}

// readParquet reads a whole file and returns its rows and the bytes allocated.
func readParquet(t *testing.T, b []byte) (rows int, allocated uint64, err error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	table, err := newParquet(t.Context(), "x.parquet", bytes.NewReader(b), int64(len(b)), budget.Default)
	if err == nil {
		err = Records(t.Context(), table, func([]Cell) error { rows++; return nil })
		err = errors.Join(err, table.Close())
	}
	runtime.ReadMemStats(&after)
	return rows, after.TotalAlloc - before.TotalAlloc, err
}

// TestParquetBombs checks that a small file that claims, or unpacks to, gigabytes is rejected
// before they are allocated.
func TestParquetBombs(t *testing.T) {
	plain := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, math.Float64bits(1)), math.Float64bits(2))
	if rows, _, err := readParquet(t, onePage(t, format.Uncompressed, plain, nil, nil)); rows != 2 || err != nil {
		t.Fatalf("an honest file: %d rows, %v", rows, err)
	}
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	// The first block of a frame, repeated, unpacks to any size.
	zeros := z.EncodeAll(make([]byte, 64<<20), nil)
	bomb := bytes.Repeat(zeros, 64)
	packed := func(codec format.CompressionCodec, n int) []byte {
		b, err := parquet.LookupCompressionCodec(codec).Encode(nil, make([]byte, n))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	snappy := append(binary.AppendUvarint(nil, 1<<32-1), plain...)
	list := []byte{0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07} // field 1, a list of 2³¹−1 structures
	badFooter := append(append([]byte("PAR1"), list...), 0)
	badFooter = append(binary.LittleEndian.AppendUint32(badFooter, uint32(len(list)+1)), "PAR1"...)
	for _, c := range []struct {
		name, want string
		file       []byte
	}{
		{"unpacked size", "the page at byte 4 claims 2 values in 2,147,483,647 bytes, packed in 16",
			onePage(t, format.Gzip, plain, func(h *format.PageHeader) { h.UncompressedPageSize = math.MaxInt32 }, nil)},
		{"packed size", "the page at byte 4 has 2,147,483,647 bytes, more than the rest of the chunk",
			onePage(t, format.Uncompressed, plain, func(h *format.PageHeader) { h.CompressedPageSize = math.MaxInt32 }, nil)},
		{"negative size", "the page at byte 4 has -1 bytes, more than the rest of the chunk",
			onePage(t, format.Uncompressed, plain, func(h *format.PageHeader) { h.CompressedPageSize = -1 }, nil)},
		{"values", "the page at byte 4 claims 2,147,483,647 values in 16 bytes",
			onePage(t, format.Uncompressed, plain, func(h *format.PageHeader) { h.DataPageHeader.V.NumValues = math.MaxInt32 }, nil)},
		{"snappy", "the page at byte 4: expected 16 bytes after decompression, as its header states, found 4294967295",
			onePage(t, format.Snappy, snappy, nil, nil)},
		{"zstd", "the page at byte 4: it decompresses to more than the 16 bytes stated in its header",
			onePage(t, format.Zstd, bomb, nil, nil)},
		{"gzip", "the page at byte 4: it decompresses to more than the 16 bytes stated in its header",
			onePage(t, format.Gzip, packed(format.Gzip, 64<<20), nil, nil)},
		{"brotli", "the page at byte 4: it decompresses to more than the 16 bytes stated in its header",
			onePage(t, format.Brotli, packed(format.Brotli, 64<<20), nil, nil)},
		{"lz4", "the page at byte 4: its LZ4 data are damaged, or it decompresses to more than the 16 bytes stated in its header",
			onePage(t, format.Lz4Raw, packed(format.Lz4Raw, 64<<20), nil, nil)},
		{"damaged lz4", "the page at byte 4: its LZ4 data are damaged",
			onePage(t, format.Lz4Raw, []byte("\x10a\x02\x00"), nil, nil)},
		{"lzo", "compression with LZO is not supported: use snappy, gzip, zstd, brotli or LZ4_RAW",
			onePage(t, format.LZO, plain, nil, nil)},
		{"checksum", "the page at byte 4: wrong checksum",
			onePage(t, format.Zstd, packed(format.Zstd, 16), func(h *format.PageHeader) { h.CRC = 1 }, nil)},
		{"column", "in a file of ",
			onePage(t, format.Uncompressed, plain, nil, func(c *format.ColumnMetaData) { c.TotalCompressedSize = 1 << 40 })},
		{"text in the header", "the page at byte 4: it is truncated",
			bytes.Replace(onePage(t, format.Uncompressed, plain, func(h *format.PageHeader) {
				h.DataPageHeader.V.Statistics.MaxValue = []byte("0123456789abcdef")
			}, nil), []byte("\x100123456789abcdef"), []byte("\xff\xff\xff\xff\x07\x31\x32\x33\x34\x35\x36\x37\x38\x39abc"), 1)},
		{"footer", "the Parquet file is damaged: its footer: it is truncated", badFooter},
	} {
		_, allocated, err := readParquet(t, c.file)
		if err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, fault.ErrFormat) {
			t.Errorf("%s: error %v\nwant %s", c.name, err, c.want)
		}
		if allocated > 100<<20 {
			t.Errorf("%s: a file of %d bytes made the reader allocate %d", c.name, len(c.file), allocated)
		}
	}
}

// TestParquetConstant reads equal values, which take almost no space.
func TestParquetConstant(t *testing.T) {
	type row struct {
		X float64 `parquet:"x,zstd"`
		Y string  `parquet:"y,gzip,dict"`
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[row](&b, parquet.PageBufferSize(4<<20))
	rows := make([]row, 1000)
	for i := range rows {
		rows[i] = row{1, "same"}
	}
	const n = 300_000
	for range n / len(rows) {
		if _, err := w.Write(rows); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got, _, err := readParquet(t, b.Bytes()); got != n || err != nil {
		t.Errorf("%d rows of %d in %d bytes: %v", got, n, b.Len(), err)
	}
}

func TestThriftDepth(t *testing.T) {
	w := thriftWalk{b: bytes.Repeat([]byte{0x19}, 1<<20)} // a list of a list of a list …
	if err := w.structure(); err == nil || err.Error() != "values nested deeper than 64 levels" {
		t.Error(err)
	}
}

func FuzzThrift(f *testing.F) {
	b, err := os.ReadFile("../../dataset/testdata/none.parquet")
	if err != nil {
		f.Fatal(err)
	}
	n := binary.LittleEndian.Uint32(b[len(b)-8:])
	f.Add(b[len(b)-8-int(n) : len(b)-8])
	f.Fuzz(func(t *testing.T, b []byte) {
		w := thriftWalk{b: b}
		if err := w.structure(); err == nil && w.at > len(b) {
			t.Errorf("%d bytes of %d", w.at, len(b))
		}
	})
}

// TestParquetLZ4 reads a page that LZ4 does not shorten, which the library used to
// return as zeros.
func TestParquetLZ4(t *testing.T) {
	const n = 600
	var plain []byte
	for i := range n {
		plain = binary.LittleEndian.AppendUint64(plain, math.Float64bits(float64(i)+0.5))
	}
	packed := []byte{0xf0} // only literals
	left := len(plain) - 15
	for ; left >= 255; left -= 255 {
		packed = append(packed, 255)
	}
	packed = append(append(packed, byte(left)), plain...)
	file := onePage(t, format.Lz4Raw, packed, func(h *format.PageHeader) {
		h.UncompressedPageSize, h.DataPageHeader.V.NumValues = int32(len(plain)), n
	}, func(c *format.ColumnMetaData) { c.NumValues = n })
	table, err := newParquet(t.Context(), "x.parquet", bytes.NewReader(file), int64(len(file)), budget.Default)
	if err != nil {
		t.Fatal(err)
	}
	got := 0
	err = Records(t.Context(), table, func(rec []Cell) error {
		if want := float64(got) + 0.5; rec[0].Num != want {
			return table.ErrorAt(0, "%v, want %v", rec[0].Num, want)
		}
		got++
		return nil
	})
	if got != n || err != nil {
		t.Errorf("%d rows, %v", got, err)
	}
}
