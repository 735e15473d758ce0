package table

import (
	"io"

	"github.com/parquet-go/parquet-go"

	"credence/internal/fault"
	"credence/record"
)

// A Parquet file stores columns, and decoding is fastest column by column. A goroutine reads blocks of rows ahead
// of the caller, which gets them row by row. Columns that were not requested are not read.

const (
	// blockRows is the number of rows in a block. The numbers of a hundred columns
	// fit into a second-level cache.
	blockRows = 128
	// listRows is the same for a file with lists, which may be long.
	listRows = 16
	// readAhead is the number of blocks read in advance.
	readAhead = 4
	// farSkip is the number of rows from which a skip stops reading ahead. It is more than are ever read ahead.
	farSkip = 4 * (readAhead + 1) * blockRows
)

// parquetBlock is a number of rows and the error after them, io.EOF at the end.
type parquetBlock struct {
	columns []blockColumn
	rows    int
	err     error
}

// blockColumn holds the cells of a column. Only the value that belongs to the
// kind of a cell is set.
type blockColumn struct {
	kinds  [blockRows]record.CellKind
	nums   [blockRows]float64
	wholes [blockRows]int64
	texts  [blockRows]string
	lists  [][]float32 // nil if the column has no lists
}

// put sets cell j.
func (c *blockColumn) put(j int, cell *Cell) {
	c.kinds[j] = cell.Kind
	switch cell.Kind {
	case NumberCell:
		c.nums[j] = cell.Num
	case WholeCell:
		c.wholes[j] = cell.Whole
	case TextCell:
		c.texts[j] = cell.Text
	}
}

// get reads cell j.
func (c *blockColumn) get(j int, cell *Cell) {
	cell.Kind = c.kinds[j]
	switch cell.Kind {
	case NumberCell:
		cell.Num = c.nums[j]
	case WholeCell:
		cell.Whole = c.wholes[j]
	case TextCell:
		cell.Text = c.texts[j]
	case VectorCell:
		cell.Vec = c.lists[j]
	}
}

// columnReader reads the values of a column in a row group.
type columnReader struct {
	parquet.ColumnChunkValueReader
	buf, left []parquet.Value // for lists: a buffer, and the values in it that were not used yet
}

// Next returns the next row. Cells of columns that were not requested are unchanged.
func (t *parquetTable) Next() ([]Cell, error) {
	if t.ready == nil {
		t.start()
	}
	for t.current == nil || t.at == t.current.rows {
		if t.current != nil {
			if t.current.err != nil {
				return nil, t.current.err
			}
			t.free <- t.current
		}
		t.current, t.at = <-t.ready, 0
	}
	for i := range t.cells {
		if t.wanted[i] {
			t.current.columns[i].get(t.at, &t.cells[i])
		}
	}
	t.at++
	t.line++
	return t.cells, nil
}

func (t *parquetTable) start() {
	t.free, t.ready, t.quit = make(chan *parquetBlock, readAhead+1), make(chan *parquetBlock, readAhead), make(chan struct{})
	for range readAhead + 1 {
		t.free <- &parquetBlock{columns: make([]blockColumn, len(t.leaves))}
	}
	go t.run()
}

// run reads blocks until the end of the file, or until quit is closed.
func (t *parquetTable) run() {
	defer close(t.ready)
	for {
		select {
		case <-t.quit:
			return
		case block := <-t.free:
			block.rows, block.err = t.fill(block.columns, t.blockRows)
			t.ready <- block // there is room for all but one
			if block.err != nil {
				return
			}
		}
	}
}

// fill reads the next rows of the file, at most most of them. If columns is nil, they are discarded. It returns
// io.EOF if there are no more.
func (t *parquetTable) fill(columns []blockColumn, most int64) (rows int, err error) {
	defer guard(t.file, &err)
	for t.left == 0 {
		if t.group == len(t.pq.RowGroups()) {
			return 0, io.EOF
		}
		if err := t.open(); err != nil {
			return 0, err
		}
	}
	rows = int(min(t.left, t.blockRows, most))
	var to *blockColumn
	for i, c := range t.columns {
		if columns != nil {
			to = &columns[i]
		}
		if c == nil {
			continue
		}
		if err := t.fillColumn(to, i, rows); err != nil {
			return 0, err
		}
	}
	t.left -= int64(rows)
	return rows, nil
}

// open opens the next row group.
func (t *parquetTable) open() error {
	if err := t.closeColumns(); err != nil {
		return fault.Of(t.file, err)
	}
	g := t.pq.RowGroups()[t.group]
	t.group++
	t.left = g.NumRows()
	t.columns = make([]*columnReader, len(t.wanted))
	for i, chunk := range g.ColumnChunks() {
		if i < len(t.wanted) && t.wanted[i] {
			t.columns[i] = &columnReader{ColumnChunkValueReader: parquet.NewColumnChunkValueReader(chunk)}
		}
	}
	return nil
}

// read reads values of column i into buf, at least one if there are more.
func (t *parquetTable) read(i int, buf []parquet.Value) ([]parquet.Value, error) {
	n, err := t.columns[i].ReadValues(buf)
	if t.plain.err != nil {
		return nil, t.plain.err
	}
	if err != nil && err != io.EOF {
		return nil, fault.Of(t.file, err)
	}
	return buf[:n], nil
}

func (t *parquetTable) tooFew(i int) error {
	return damaged(t.file, "column %s has fewer values than rows", t.names[i])
}

// fillColumn reads one value, or one list, of column i for each row. If to is nil, they are discarded.
func (t *parquetTable) fillColumn(to *blockColumn, i, rows int) error {
	leaf := &t.leaves[i]
	if leaf.list {
		return t.fillLists(to, i, rows)
	}
	var cell Cell
	for at := 0; at < rows; {
		values, err := t.read(i, t.values[:min(rows-at, blockRows)])
		if err == nil && len(values) == 0 {
			err = t.tooFew(i)
		}
		if err != nil {
			return err
		}
		if to == nil {
			at += len(values)
			continue
		}
		for j, v := range values {
			switch v.Kind() {
			case parquet.Float:
				to.kinds[at+j], to.nums[at+j] = NumberCell, float64(v.Float())
			case parquet.Double:
				to.kinds[at+j], to.nums[at+j] = NumberCell, v.Double()
			default:
				leaf.scalar(&cell, v)
				to.put(at+j, &cell)
			}
		}
		at += len(values)
	}
	return nil
}

// fillLists reads one list of column i for each row: the value that starts the list and the repeated ones.
func (t *parquetTable) fillLists(to *blockColumn, i, rows int) error {
	leaf, c := &t.leaves[i], t.columns[i]
	if c.buf == nil {
		c.buf = make([]parquet.Value, 1024)
	}
	if to == nil {
		to = &blockColumn{}
	}
	if to.lists == nil {
		to.lists = make([][]float32, blockRows)
	}
	var one Cell
	for at := range rows {
		to.kinds[at], to.lists[at] = MissingCell, to.lists[at][:0]
		for begun := false; ; begun = true {
			if len(c.left) == 0 {
				var err error
				if c.left, err = t.read(i, c.buf); err != nil {
					return err
				}
			}
			if len(c.left) == 0 && !begun {
				return t.tooFew(i)
			}
			if len(c.left) == 0 || begun && c.left[0].RepetitionLevel() == 0 {
				break
			}
			v := c.left[0]
			c.left = c.left[1:]
			if v.IsNull() && v.DefinitionLevel() < leaf.listed { // no list, or an empty one
				continue
			}
			to.kinds[at] = VectorCell
			leaf.scalar(&one, v)
			to.lists[at] = append(to.lists[at], listNumber(&one))
		}
	}
	return nil
}

func (t *parquetTable) closeColumns() (err error) {
	defer guard(t.file, &err)
	for i, c := range t.columns {
		if c != nil {
			t.columns[i] = nil
			if e := c.Close(); e != nil {
				err = e
			}
		}
	}
	return err
}

// pause stops reading ahead and discards the rows that were read but not returned. It returns their number and the
// error after them, if any.
func (t *parquetTable) pause() (rows int, err error) {
	if t.ready == nil {
		return 0, nil
	}
	if t.current != nil {
		rows, err = t.current.rows-t.at, t.current.err
	}
	close(t.quit)
	for block := range t.ready {
		rows, err = rows+block.rows, block.err
	}
	t.ready, t.current = nil, nil
	return rows, err
}

// only restricts reading to the given columns, unless reading has begun.
func (t *parquetTable) only(columns []bool) {
	if t.ready != nil {
		return
	}
	for i := range t.wanted {
		t.wanted[i] = t.wanted[i] && columns[i]
	}
}

// skip skips up to n rows, and returns the number skipped.
func (t *parquetTable) skip(n int) (_ int, err error) {
	defer guard(t.file, &err)
	n = min(n, t.Rows()-t.line)
	if n < farSkip {
		for range n {
			if _, err := t.Next(); err != nil {
				return 0, err
			}
		}
		return n, nil
	}
	ahead, err := t.pause()
	if err != nil {
		return 0, err
	}
	for left := int64(n - ahead); left > 0; {
		groups := t.pq.RowGroups()
		if t.left == 0 && t.group < len(groups) && groups[t.group].NumRows() <= left {
			left -= groups[t.group].NumRows()
			t.group++
			continue
		}
		rows, err := t.fill(nil, left)
		if err == io.EOF {
			return 0, io.ErrUnexpectedEOF
		}
		if err != nil {
			return 0, err
		}
		left -= int64(rows)
	}
	t.line += n
	return n, nil
}
