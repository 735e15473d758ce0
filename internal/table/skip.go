package table

import (
	"errors"
	"io"
)

// Skip passes over up to n records, of which nothing is wanted, and returns how many there were: fewer than n at the end.
// Row groups and files of Parquet are not read at all where they are passed over whole, and no values become cells.
func Skip(t Table, n int) (skipped int, err error) {
	switch t := t.(type) {
	case *folder:
		return t.skip(n)
	case *parquetTable:
		if t.blocks != nil {
			n = min(n, t.Rows()-t.line)
			if err := t.blocks.skip(n); err != nil {
				return 0, err
			}
			t.line += n
			return n, nil
		}
	}
	for ; skipped < n; skipped++ {
		if _, err := t.Next(); err == io.EOF {
			break
		} else if err != nil && !errors.Is(err, ErrRagged) {
			return skipped, err
		}
	}
	return skipped, nil
}

// skip passes over records of any number of files.
func (f *folder) skip(n int) (skipped int, err error) {
	for {
		p := &f.parts[f.at]
		if f.now == nil && (n-skipped < p.rows || f.at+1 == len(f.parts)) {
			if err := f.open(); err != nil {
				return skipped, err
			}
		}
		k := p.rows // of a file that is passed over whole, unless it is the last
		if f.now != nil {
			if k, err = Skip(f.now, n-skipped); err != nil {
				return skipped, err
			}
		}
		skipped, f.line = skipped+k, f.line+k
		if skipped == n || f.at+1 == len(f.parts) {
			return skipped, nil
		}
		if f.now != nil {
			if err := f.now.Close(); err != nil {
				return skipped, err
			}
			f.now = nil
		}
		f.at++
	}
}

// farSkip is how many rows are worth to stop reading ahead for. It is more than are ever read ahead.
const farSkip = 4 * (readAhead + 1) * blockRows

// skip passes over n rows, which there are.
func (b *parquetBlocks) skip(n int) (err error) {
	defer guard(b.t.file, &err)
	if n < farSkip {
		for range n {
			if err := b.next(b.t.cells); err != nil {
				return err
			}
		}
		return nil
	}
	ahead, err := b.pause()
	if err != nil {
		return err
	}
	for left := int64(n - ahead); left > 0; {
		groups := b.t.pq.RowGroups()
		if b.left == 0 && b.group == len(groups) {
			return io.ErrUnexpectedEOF
		}
		if b.left == 0 && groups[b.group].NumRows() <= left {
			left -= groups[b.group].NumRows()
			b.group++
			continue
		}
		if b.left == 0 {
			if err := b.open(); err != nil {
				return err
			}
		}
		rows := min(left, b.left)
		for i, c := range b.columns {
			for at := int64(0); c != nil && at < rows; {
				k, err := b.read(i, int(rows-at))
				if err != nil {
					return err
				}
				at += int64(k)
			}
		}
		b.left -= rows
		left -= rows
	}
	return nil
}
