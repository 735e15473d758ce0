package array

import (
	"io"

	"credence/internal/fault"
)

// blockBytes is how much is read at a time of rows that follow each other, and blockGap how many of these others
// may have read in between.
const blockBytes, blockGap = 1 << 16, 64

// rowBlock is what one goroutine has read of a file: whoever goes from row to row, alone or beside others, reads
// many at a time, whoever picks rows at random reads each alone.
type rowBlock struct {
	buf      []byte
	from, to int // the rows in buf
	next     int // the one after that which was asked for last
}

// read returns row i, of n bytes.
func (b *rowBlock) read(a *Array, i, n int) ([]byte, error) {
	if i < b.from || i >= b.to {
		rows := 1
		if i >= b.next && i < b.next+blockGap && b.next > 0 {
			rows = max(1, min(blockBytes/max(1, n), a.Len()-i))
		}
		if cap(b.buf) < rows*n {
			b.buf = make([]byte, rows*n)
		}
		b.from, b.to = i, i
		k, err := a.src.ReadAt(b.buf[:rows*n], a.offset+int64(i)*int64(n))
		if k < n {
			if err == io.EOF {
				return nil, fault.Malformed(a.file, "row %d is cut short", i)
			}
			return nil, fault.Of(a.file, err)
		}
		b.to = i + k/max(1, n)
	}
	b.next = i + 1
	return b.buf[(i-b.from)*n:][:n], nil
}
