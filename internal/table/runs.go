package table

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/format"
)

// The library trusts the lengths of the runs in a page. Therefore they are checked here
// first, when a page is decompressed: a page must not have more levels and values than its
// header states.
//
// A stream of levels, or of indices into a dictionary, is a sequence of runs. Each begins
// with a number whose lowest bit is the kind of run and whose other bits are its length.
//
//	…1  groups of eight values, packed in width bits each
//	…0  one repeated value, in the smallest number of bytes that holds width bits

var errRuns = errors.New("a run of values that is longer than the page")

// pageLevels describes a column: the maximum levels of its values according to the schema,
// and the number of values that a row may have.
type pageLevels struct {
	definition, repetition int
	mostInRow              int64
	inRow                  int64 // values so far in the last row
}

// runs checks a stream of at most most values, rounded up to a group of eight. It calls
// each, if not nil, for every run.
func runs(src []byte, width int, most int64, each func(value uint32, n int64) error) error {
	if width > 32 {
		return fmt.Errorf("values of %d bits", width)
	}
	for total := int64(0); len(src) > 0; {
		u, k := binary.Uvarint(src)
		if k <= 0 {
			return errRuns
		}
		src = src[k:]
		n, size := u>>1, uint64((width+7)/8)
		if u&1 != 0 {
			if n > uint64(most+7)/8 {
				return errRuns
			}
			size = n * uint64(width)
			n *= 8
		}
		if n > uint64(most+7) || size > uint64(len(src)) || total+int64(n) > most+7 {
			return errRuns
		}
		total += int64(n)
		if each != nil {
			if err := eachRun(src[:size], width, u&1 != 0, int64(n), each); err != nil {
				return err
			}
		}
		src = src[size:]
	}
	return nil
}

// eachRun calls each with the values of a run.
func eachRun(src []byte, width int, packed bool, n int64, each func(value uint32, n int64) error) error {
	if !packed {
		var b [4]byte
		copy(b[:], src)
		return each(binary.LittleEndian.Uint32(b[:]), n)
	}
	for i := range int(n) {
		value := uint32(0)
		for bit := range width {
			at := i*width + bit
			value |= uint32(src[at/8]>>(at%8)&1) << bit
		}
		if err := each(value, 1); err != nil {
			return err
		}
	}
	return nil
}

// rows checks repetition levels. Level 0 begins a row.
func (l *pageLevels) rows(src []byte, most int64) error {
	return runs(src, bits.Len(uint(l.repetition)), most, func(value uint32, n int64) error {
		switch {
		case value > 0:
			l.inRow += n
		case n > 0:
			l.inRow = 1
		}
		if l.inRow > l.mostInRow {
			return fmt.Errorf("a list of more than %d values, which exceeds the memory limit", l.mostInRow)
		}
		return nil
	})
}

// check checks all runs of a page, and the sizes stated in other encodings.
func (l *pageLevels) check(h *format.PageHeader, data []byte, memory int64) error {
	var levels [2][]byte // of repetition and of definition
	var values int64
	var encoding format.Encoding
	switch {
	case h.Type == format.DataPage && h.DataPageHeader.Valid:
		v := &h.DataPageHeader.V
		values, encoding = int64(v.NumValues), v.Encoding
		for i, e := range []format.Encoding{v.RepetitionLevelEncoding, v.DefinitionLevelEncoding} {
			if most := []int{l.repetition, l.definition}[i]; most == 0 || e != format.RLE {
				continue
			}
			var err error
			if levels[i], data, err = prefixed(data); err != nil {
				return err
			}
		}
	case h.Type == format.DataPageV2 && h.DataPageHeaderV2.Valid:
		v := &h.DataPageHeaderV2.V
		values, encoding = int64(v.NumValues), v.Encoding
		for i, n := range []int{int(v.RepetitionLevelsByteLength), int(v.DefinitionLevelsByteLength)} {
			if n < 0 || n > len(data) {
				return errRuns
			}
			levels[i], data = data[:n], data[n:]
		}
	default:
		return nil
	}
	err := l.rows(levels[0], values)
	if err == nil {
		err = runs(levels[1], bits.Len(uint(l.definition)), values, nil)
	}
	if err == nil {
		err = checkValues(encoding, data, values, memory)
	}
	return err
}

// prefixed returns the bytes after a length prefix, and the rest.
func prefixed(b []byte) (data, rest []byte, err error) {
	if len(b) < 4 {
		return nil, nil, errRuns
	}
	n := int64(binary.LittleEndian.Uint32(b))
	if b = b[4:]; n > int64(len(b)) {
		return nil, nil, errRuns
	}
	return b[:n], b[n:], nil
}

// plainDictionary is the dictionary encoding in files from before 2013. The library marks it as
// deprecated, but such files exist.
const plainDictionary format.Encoding = 2

// checkValues checks the values of a page, after its levels.
func checkValues(encoding format.Encoding, data []byte, most, memory int64) error {
	if len(data) == 0 {
		return nil
	}
	switch encoding {
	case plainDictionary, format.RLEDictionary:
		return runs(data[1:], int(data[0]), most, nil)
	case format.RLE: // truth values
		src, _, err := prefixed(data)
		if err != nil {
			return err
		}
		return runs(src, 1, most, nil)
	case format.DeltaBinaryPacked, format.DeltaLengthByteArray:
		return deltaHeader(data, most)
	case format.DeltaByteArray:
		return checkPrefixes(data, most, memory)
	}
	return nil
}

// deltaHeader checks the number of values that a stream of differences announces, after
// the sizes of its blocks.
func deltaHeader(data []byte, most int64) error {
	var head [3]uint64
	_, err := takeNumbers(data, head[:])
	if err == nil && head[2] > uint64(most) {
		err = fmt.Errorf("%d values in a page of %d", head[2], most)
	}
	return err
}

// takeNumbers reads numbers from the beginning of data into list, and returns the rest.
func takeNumbers(data []byte, list []uint64) (rest []byte, err error) {
	for i := range list {
		u, k := binary.Uvarint(data)
		if k <= 0 {
			return nil, errRuns
		}
		list[i], data = u, data[k:]
	}
	return data, nil
}

// checkPrefixes limits the total size of texts that are stored as the length of the prefix
// shared with the previous text and a suffix: a short page can expand to long texts.
func checkPrefixes(data []byte, most, memory int64) error {
	if err := deltaHeader(data, most); err != nil {
		return err
	}
	suffixes, err := deltaRest(data)
	if err == nil {
		err = deltaHeader(suffixes, most)
	}
	if err != nil {
		return err
	}
	lengths, err := new(delta.BinaryPackedEncoding).DecodeInt32(nil, data)
	if err != nil {
		return err
	}
	total := int64(len(data))
	for _, n := range lengths {
		if n < 0 || int64(n) > memory {
			return fmt.Errorf("a text of %d bytes", n)
		}
		if total += int64(n); total > memory {
			return fmt.Errorf("texts of more than %d bytes", memory)
		}
	}
	return nil
}

// deltaRest returns the data after a stream of differences. The stream has the block size,
// the number of miniblocks per block, the number of values and the first value; then blocks,
// each with its minimum difference, the bit width of each miniblock, and the miniblocks.
func deltaRest(data []byte) ([]byte, error) {
	var head [4]uint64
	data, err := takeNumbers(data, head[:])
	if err != nil || head[0] > 1<<20 || head[1] == 0 || head[1] > head[0] || head[2] > 1<<31 {
		return nil, errRuns
	}
	miniblocks, each := int(head[1]), int(head[0]/head[1])
	for left := int(head[2]) - 1; left > 0; {
		_, k := binary.Uvarint(data)
		if k <= 0 || len(data) < k+miniblocks {
			return nil, errRuns
		}
		widths := data[k : k+miniblocks]
		data = data[k+miniblocks:]
		for _, width := range widths {
			size := each * int(width) / 8
			if left <= 0 {
				break
			}
			if size > len(data) {
				return nil, errRuns
			}
			data = data[size:]
			left -= each
		}
	}
	return data, nil
}
