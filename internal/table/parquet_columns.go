package table

import (
	"io"

	"github.com/parquet-go/parquet-go"

	"credence/internal/fault"
)

// A Parquet file stores columns, and its values are decoded fastest column by
// column. parquetBlocks does that for files without lists, where each row has one
// value of each column: a goroutine reads blocks of rows ahead of the caller, who
// gets them row by row. Columns that nobody wants are not read at all.

// blockRows is the number of rows of a block. The numbers of a hundred columns
// fit a second-level cache.
const blockRows = 128

// readAhead is how many blocks are read before they are asked for.
const readAhead = 4

type parquetBlocks struct {
	t       *parquetTable
	wanted  []bool                           // by column
	group   int                              // the next row group
	left    int64                            // rows left of the present one
	columns []parquet.ColumnChunkValueReader // nil if not wanted
	values  []parquet.Value

	free, ready chan *parquetBlock
	quit        chan struct{}
	hand        *parquetBlock // the caller's
	at          int           // its next row
}

// parquetBlock is some rows, or why there are no more.
type parquetBlock struct {
	columns []blockColumn
	rows    int
	err     error
}

// blockColumn is the cells of a column; of the values only those are set that
// the kind of a cell names.
type blockColumn struct {
	kinds  [blockRows]CellKind
	nums   [blockRows]float64
	wholes [blockRows]int64
	texts  [blockRows]string
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
	}
}

// newBlocks returns nil if the file has lists.
func newBlocks(t *parquetTable) *parquetBlocks {
	b := &parquetBlocks{t: t, wanted: make([]bool, len(t.leaves)), values: make([]parquet.Value, blockRows)}
	for i, l := range t.leaves {
		if l.list && l.unread == nil {
			return nil
		}
		b.wanted[i] = l.unread == nil
	}
	return b
}

// next sets cells to those of the next row. Cells of columns that are not wanted
// stay as they are.
func (b *parquetBlocks) next(cells []Cell) error {
	if b.ready == nil {
		b.start()
	}
	for b.hand == nil || b.at == b.hand.rows {
		if b.hand != nil {
			if b.hand.err != nil {
				return b.hand.err
			}
			b.free <- b.hand
		}
		b.hand, b.at = <-b.ready, 0
	}
	for i := range cells {
		if b.wanted[i] {
			b.hand.columns[i].get(b.at, &cells[i])
		}
	}
	b.at++
	return nil
}

func (b *parquetBlocks) start() {
	b.free, b.ready, b.quit = make(chan *parquetBlock, readAhead+1), make(chan *parquetBlock, readAhead), make(chan struct{})
	for range readAhead + 1 {
		b.free <- &parquetBlock{columns: make([]blockColumn, len(b.t.leaves))}
	}
	go b.run()
}

// run reads blocks until there are no more, or nobody wants them.
func (b *parquetBlocks) run() {
	defer close(b.ready)
	for {
		select {
		case <-b.quit:
			return
		case block := <-b.free:
			block.rows, block.err = b.fill(block.columns)
			b.ready <- block // there is room for all but one
			if block.err != nil {
				return
			}
		}
	}
}

// fill reads the next rows of the file. With the last of them, or none, comes
// io.EOF.
func (b *parquetBlocks) fill(columns []blockColumn) (rows int, err error) {
	defer guard(b.t.file, &err)
	for b.left == 0 {
		if b.group == len(b.t.pq.RowGroups()) {
			return 0, io.EOF
		}
		if err := b.open(); err != nil {
			return 0, err
		}
	}
	rows = int(min(b.left, blockRows))
	for i, c := range b.columns {
		if c == nil {
			continue
		}
		if err := b.fillColumn(&columns[i], i, rows); err != nil {
			return 0, err
		}
	}
	b.left -= int64(rows)
	return rows, nil
}

// open begins the next row group.
func (b *parquetBlocks) open() error {
	if err := b.closeColumns(); err != nil {
		return fault.Of(b.t.file, err)
	}
	g := b.t.pq.RowGroups()[b.group]
	b.group++
	b.left = g.NumRows()
	b.columns = make([]parquet.ColumnChunkValueReader, len(b.wanted))
	for i, chunk := range g.ColumnChunks() {
		if i < len(b.wanted) && b.wanted[i] {
			b.columns[i] = parquet.NewColumnChunkValueReader(chunk)
		}
	}
	return nil
}

// read reads some of the next rows' values of column i, at least one, and no more than there is room for.
func (b *parquetBlocks) read(i, rows int) (n int, err error) {
	n, err = b.columns[i].ReadValues(b.values[:min(rows, len(b.values))])
	switch {
	case b.t.plain.err != nil:
		return 0, b.t.plain.err
	case n == 0 && (err == nil || err == io.EOF):
		return 0, damaged(b.t.file, "column %s has fewer values than rows", b.t.names[i])
	case err != nil && err != io.EOF:
		return 0, fault.Of(b.t.file, err)
	}
	return n, nil
}

// fillColumn reads one value of column i for each row.
func (b *parquetBlocks) fillColumn(to *blockColumn, i, rows int) error {
	leaf := &b.t.leaves[i]
	var cell Cell
	for at := 0; at < rows; {
		n, err := b.read(i, rows-at)
		if err != nil {
			return err
		}
		for j, v := range b.values[:n] {
			switch v.Kind() {
			case parquet.Float:
				to.kinds[at+j], to.nums[at+j] = NumberCell, float64(v.Float())
			case parquet.Double:
				to.kinds[at+j], to.nums[at+j] = NumberCell, v.Double()
			default:
				cell.Kind = MissingCell
				if !v.IsNull() {
					leaf.scalar(&cell, v)
				}
				to.put(at+j, &cell)
			}
		}
		at += n
	}
	return nil
}

func (b *parquetBlocks) closeColumns() (err error) {
	defer guard(b.t.file, &err)
	for i, c := range b.columns {
		if c != nil {
			b.columns[i] = nil
			if e := c.Close(); e != nil {
				err = e
			}
		}
	}
	return err
}

// close ends reading.
func (b *parquetBlocks) close() {
	b.pause()
	b.closeColumns()
}

// pause ends reading ahead, and returns how many rows were read but not handed out, which are lost, and why there would
// have been no more.
func (b *parquetBlocks) pause() (rows int, err error) {
	if b.ready == nil {
		return 0, nil
	}
	if b.hand != nil {
		rows, err = b.hand.rows-b.at, b.hand.err
	}
	close(b.quit)
	for block := range b.ready {
		rows, err = rows+block.rows, block.err
	}
	b.ready, b.hand = nil, nil
	return rows, err
}

// only has columns read that the caller names, if reading has not begun.
func (b *parquetBlocks) only(columns []int) {
	if b.ready != nil {
		return
	}
	keep := make([]bool, len(b.wanted))
	for _, i := range columns {
		keep[i] = b.wanted[i]
	}
	b.wanted = keep
}
