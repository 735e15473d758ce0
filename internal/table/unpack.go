package table

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
)

// unpack decompresses src into dst, which it has to fill exactly: the header of
// a page states the size, and a page of another size is damaged. Nothing larger
// than dst is allocated.
func unpack(codec format.CompressionCodec, dst, src []byte) error {
	switch codec {
	case format.Uncompressed:
		if len(src) != len(dst) {
			return sizeError(len(src), len(dst))
		}
		copy(dst, src)
		return nil
	case format.Lz4Raw:
		return unpackLZ4(dst, src)
	case format.Snappy:
		n, err := snappy.DecodedLen(src)
		if err == nil && n != len(dst) {
			return sizeError(n, len(dst))
		}
		if err == nil {
			_, err = snappy.Decode(dst, src)
		}
		return err
	case format.Zstd:
		return unpackZstd(dst, src)
	case format.Gzip:
		z, err := gzip.NewReader(bytes.NewReader(src))
		if err != nil {
			return err
		}
		return unpackStream(dst, z)
	case format.Brotli:
		return unpackStream(dst, brotli.NewReader(bytes.NewReader(src)))
	}
	return fmt.Errorf("compression with %v is not read: use snappy, gzip, zstd, brotli or LZ4_RAW", codec)
}

func sizeError(got, want int) error {
	return fmt.Errorf("it unpacks to %d bytes, but its header says %d", got, want)
}

// tooLong is what is wrong with a page that unpacks to more than n bytes.
func tooLong(n int) error {
	return fmt.Errorf("it unpacks to more than the %d bytes that its header says", n)
}

// unpackStream fills dst from r, which has to end there.
func unpackStream(dst []byte, r io.Reader) error {
	n, err := io.ReadFull(r, dst)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return sizeError(n, len(dst))
	}
	if err != nil {
		return err
	}
	var more [1]byte
	switch n, err := io.ReadFull(r, more[:]); {
	case n > 0:
		return tooLong(len(dst))
	case err != io.EOF:
		return err
	}
	return nil
}

// zstdDecoder decodes no further than the capacity that it is given.
var zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true))
})

func unpackZstd(dst, src []byte) error {
	d, err := zstdDecoder()
	if err != nil {
		return err
	}
	out, err := d.DecodeAll(src, dst[:0:len(dst)])
	switch {
	case errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return tooLong(len(dst))
	case err != nil:
		return err
	case len(out) != len(dst):
		return sizeError(len(out), len(dst))
	}
	return nil
}

var errLZ4 = errors.New("its LZ4 data are damaged")

// unpackLZ4 decodes an LZ4 block: sequences of a token, literals, and a match
// that repeats earlier output; the last has literals alone. A token holds two
// lengths of four bits; 15 means that bytes follow which add to it.
// (github.com/lz4/lz4, doc/lz4_Block_format.md)
func unpackLZ4(dst, src []byte) error {
	const minMatch = 4
	d, s := 0, 0
	length := func(n int) int {
		if n < 15 {
			return n
		}
		for s < len(src) {
			b := src[s]
			s++
			if n += int(b); b != 255 {
				return n
			}
		}
		return -1
	}
	for s < len(src) {
		token := src[s]
		s++
		n := length(int(token >> 4))
		switch {
		case n < 0 || n > len(src)-s:
			return errLZ4
		case n > len(dst)-d:
			return tooLong(len(dst))
		}
		copy(dst[d:], src[s:s+n])
		d, s = d+n, s+n
		if s == len(src) {
			break
		}
		if len(src)-s < 2 {
			return errLZ4
		}
		back := int(binary.LittleEndian.Uint16(src[s:]))
		s += 2
		n = length(int(token & 15))
		if n < 0 || back == 0 || back > d {
			return errLZ4
		}
		if n += minMatch; n > len(dst)-d {
			return tooLong(len(dst))
		}
		// A match may reach into itself: what is copied doubles with each turn.
		for from, end := d-back, d+n; d < end; {
			d += copy(dst[d:end], dst[from:d])
		}
	}
	if d != len(dst) {
		return sizeError(d, len(dst))
	}
	return nil
}
