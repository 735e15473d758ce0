package table

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

var errLZ4 = errors.New("its LZ4 data are damaged")

// unpack decompresses src into dst, which it has to fill exactly: the header of
// a page states the size, and a page of another size is damaged. Nothing larger
// than dst is allocated.
func unpack(codec format.CompressionCodec, dst, src []byte) error {
	var n int
	var err error
	switch codec {
	case format.Uncompressed:
		n = len(src)
		copy(dst, src)
	case format.Lz4Raw: // the library does not report which of the two it is
		if n, err = lz4.UncompressBlock(src, dst); err != nil {
			err = fmt.Errorf("%w, or it unpacks to more than the %d bytes that its header says", errLZ4, len(dst))
		}
	case format.Snappy:
		if n, err = snappy.DecodedLen(src); err == nil && n == len(dst) {
			_, err = snappy.Decode(dst, src)
		}
	case format.Zstd:
		n, err = unpackZstd(dst, src)
	case format.Gzip:
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(src)); err == nil {
			n, err = unpackStream(dst, z)
		}
	case format.Brotli:
		n, err = unpackStream(dst, brotli.NewReader(bytes.NewReader(src)))
	default:
		err = fmt.Errorf("compression with %v is not read: use snappy, gzip, zstd, brotli or LZ4_RAW", codec)
	}
	if err == nil && n != len(dst) {
		err = fmt.Errorf("it unpacks to %d bytes, but its header says %d", n, len(dst))
	}
	return err
}

// tooLong is what is wrong with a page that unpacks to more than n bytes.
func tooLong(n int) error {
	return fmt.Errorf("it unpacks to more than the %d bytes that its header says", n)
}

// unpackStream fills dst from r, which may not go on behind it, and returns the number of bytes.
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

// zstdDecoder decodes no further than the capacity that it is given.
var zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true))
})

func unpackZstd(dst, src []byte) (int, error) {
	d, err := zstdDecoder()
	if err != nil {
		return 0, err
	}
	out, err := d.DecodeAll(src, dst[:0:len(dst)])
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		err = tooLong(len(dst))
	}
	return len(out), err
}
