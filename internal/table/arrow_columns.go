package table

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strconv"
	"unsafe"

	"credence/internal/array"
)

// arrowLeaf is a leaf column of an Arrow stream, or the elements of a column of lists.
type arrowLeaf struct {
	name    string
	typ     int
	node    int   // index of its field
	first   int   // index of its first buffer
	valid   []int // validity bitmaps of the values and of the structures around them
	width   int   // bytes per number
	signed  bool
	scale   float64    // of a decimal
	texts   bool       // values are texts
	step    int        // bytes per offset
	size    int        // of the lists, if all have the same size
	element *arrowLeaf // of the lists, or nil
	unread  error      // why values cannot be read, or nil
}

// Types of Arrow, by their numbers in the format. Others are defined with the writer.
const (
	arrowNull          = 1
	arrowBinary        = 4
	arrowDecimal       = 7
	arrowDate          = 8
	arrowTime          = 9
	arrowTimestamp     = 10
	arrowInterval      = 11
	arrowList          = 12
	arrowStruct        = 13
	arrowFixedBinary   = 15
	arrowFixedList     = 16
	arrowMap           = 17
	arrowDuration      = 18
	arrowLargeBinary   = 19
	arrowLargeUtf8     = 20
	arrowLargeList     = 21
	arrowDeepest       = 64 // largest nesting of fields
	arrowMostFields    = 100_000
	arrowMostListItems = 1 << 24
)

// arrowBuffers is the number of buffers of a field, without its children, by type.
var arrowBuffers = map[int]int{arrowNull: 0, arrowInt: 2, arrowFloat: 2, arrowBinary: 3, arrowUtf8: 3, arrowBool: 2, arrowDecimal: 2,
	arrowDate: 2, arrowTime: 2, arrowTimestamp: 2, arrowInterval: 2, arrowList: 2, arrowStruct: 1, arrowFixedBinary: 2, arrowFixedList: 1,
	arrowMap: 2, arrowDuration: 2, arrowLargeBinary: 3, arrowLargeUtf8: 3, arrowLargeList: 2}

// add adds the columns of a field. prefix has the names of the structures around it, above their validity bitmaps.
func (t *arrowTable) add(field flatTable, prefix string, above []int, depth int) error {
	l := arrowLeaf{name: prefix + field.text(0), typ: field.byte(2), node: t.fields, first: t.slots, valid: above, step: 4}
	if _, ok := field.table(4); ok {
		return t.malformed("column %s is dictionary-encoded, which is not supported: write plain values", strconv.Quote(l.name))
	}
	buffers, ok := arrowBuffers[l.typ]
	switch {
	case field.buffer.damaged:
		return t.damaged()
	case !ok:
		return t.malformed("column %s has the unknown type %d", strconv.Quote(l.name), l.typ)
	case depth > arrowDeepest, t.fields == arrowMostFields:
		return t.malformed("more than %d fields, or fields nested deeper than %d levels", arrowMostFields, arrowDeepest)
	}
	// Fields may share the strings they refer to, so a few bytes could define many long names.
	if err := t.Keep(len(l.name)); err != nil {
		return err
	}
	t.fields++
	t.slots += buffers
	if buffers > 0 {
		l.valid = append(slices.Clone(above), l.first)
	}
	l.texts = buffers == 3 // validity, offsets and bytes
	children := field.tables(5)
	if l.typ == arrowStruct {
		for _, child := range children {
			if err := t.add(child, l.name+".", l.valid, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	details, _ := field.table(3)
	l.describe(details)
	from := len(t.leaves)
	for _, child := range children {
		if err := t.add(child, l.name+".", nil, depth+1); err != nil {
			return err
		}
	}
	l.setElement(t.leaves[from:])
	t.leaves = append(t.leaves[:from], l)
	return nil
}

// describe sets the fields that depend on the details of the type.
func (l *arrowLeaf) describe(details flatTable) {
	switch l.typ {
	case arrowInt:
		l.width, l.signed = details.int32(0, 0)/8, details.byte(1) != 0
	case arrowFloat:
		l.width = 2 << min(details.int16(0), 8)
	case arrowDecimal:
		l.width, l.scale = details.int32(2, 128)/8, math.Pow10(-details.int32(1, 0))
	case arrowDate: // days or, by default, milliseconds
		l.width, l.signed = 8, true
		if details.field(0) > 0 && details.int16(0) == 0 {
			l.width = 4
		}
	case arrowTime:
		l.width, l.signed = details.int32(1, 32)/8, true
	case arrowTimestamp, arrowDuration:
		l.width, l.signed = 8, true
	case arrowLargeBinary, arrowLargeUtf8, arrowLargeList:
		l.step = 8
	case arrowFixedList:
		l.size = details.int32(0, 0)
	case arrowInterval, arrowFixedBinary, arrowMap:
		l.unread = errors.New("values of its type are not supported")
	}
	if widths := arrowWidths[l.typ]; widths != nil && !slices.Contains(widths, l.width) || l.size < 0 || l.size > arrowMostListItems {
		l.unread = errors.New("values of its type are not supported")
	}
}

// arrowWidths lists the supported sizes of numbers by type, in bytes.
var arrowWidths = map[int][]int{arrowInt: {1, 2, 4, 8}, arrowFloat: {2, 4, 8}, arrowDecimal: {4, 8, 16, 32}, arrowDate: {4, 8}, arrowTime: {4, 8}}

// setElement sets the element of a column of lists, given the columns within it.
func (l *arrowLeaf) setElement(inner []arrowLeaf) {
	if l.typ != arrowList && l.typ != arrowLargeList && l.typ != arrowFixedList {
		return
	}
	if len(inner) != 1 || inner[0].node != l.node+1 {
		l.unread = errors.New("lists of structures are not supported")
		return
	}
	e := inner[0]
	l.element = &e
	switch {
	case e.unread != nil:
		l.unread = e.unread
	case e.element != nil:
		l.unread = errors.New("lists of lists are not supported")
	case e.texts:
		l.unread = errors.New("lists of text are not supported")
	}
}

// fits reports whether buffers have n values, and whether lists stay within the given number of elements.
func (l *arrowLeaf) fits(buffers [][]byte, n int, elements int64) bool {
	for _, b := range l.valid {
		if size := len(buffers[b]); size > 0 && size < (n+7)/8 {
			return false
		}
	}
	switch {
	case l.typ == arrowNull:
		return true
	case l.typ == arrowFixedList:
		return int64(n)*int64(l.size) <= elements && l.element.fits(buffers, int(elements), 0)
	case l.element != nil:
		return elements >= 0 && elements < math.MaxInt32 && l.ascending(buffers[l.first+1], n, elements) && l.element.fits(buffers, int(elements), 0)
	case l.texts:
		return l.ascending(buffers[l.first+1], n, int64(len(buffers[l.first+2])))
	case l.typ == arrowBool:
		return len(buffers[l.first+1]) >= (n+7)/8
	}
	return len(buffers[l.first+1])/l.width >= n
}

// ascending reports whether the offsets of n ranges do not decrease and end within the limit.
func (l *arrowLeaf) ascending(offsets []byte, n int, limit int64) bool {
	if n == 0 {
		return true
	}
	if len(offsets)/l.step <= n {
		return false
	}
	last := int64(0)
	for i := range n + 1 {
		at := l.offset(offsets, i)
		if at < last {
			return false
		}
		last = at
	}
	return last <= limit
}

func (l *arrowLeaf) offset(offsets []byte, i int) int64 {
	if l.step == 8 {
		return int64(binary.LittleEndian.Uint64(offsets[8*i:]))
	}
	return int64(int32(binary.LittleEndian.Uint32(offsets[4*i:])))
}

// bitSet reports whether bit i is set.
func bitSet(bits []byte, i int) bool { return bits[i/8]>>(i%8)&1 != 0 }

// has reports whether row i has a value, not a null. An empty bitmap means that all have.
func (l *arrowLeaf) has(buffers [][]byte, i int) bool {
	for _, b := range l.valid {
		if len(buffers[b]) > 0 && !bitSet(buffers[b], i) {
			return false
		}
	}
	return l.typ != arrowNull
}

// cell sets a cell to the value of row i.
func (l *arrowLeaf) cell(buffers [][]byte, i int, c *Cell) {
	c.Kind = MissingCell
	if !l.has(buffers, i) {
		return
	}
	switch {
	case l.element != nil:
		from, to := int64(i*l.size), int64((i+1)*l.size)
		if l.typ != arrowFixedList {
			from, to = l.offset(buffers[l.first+1], i), l.offset(buffers[l.first+1], i+1)
		}
		c.Vec = c.Vec[:0]
		for j := from; j < to; j++ {
			var one Cell
			l.element.cell(buffers, int(j), &one)
			c.Vec = append(c.Vec, listNumber(&one))
		}
		if to > from {
			c.Kind = VectorCell
		}
	case l.texts:
		from, to := l.offset(buffers[l.first+1], i), l.offset(buffers[l.first+1], i+1)
		c.Kind, c.Text = TextCell, ""
		if to > from {
			c.Text = unsafe.String(&buffers[l.first+2][from], to-from)
		}
	case l.typ == arrowBool:
		c.Kind, c.Text = TextCell, strconv.FormatBool(bitSet(buffers[l.first+1], i))
	default:
		l.scalar(buffers[l.first+1][i*l.width:][:l.width], c)
	}
}

// scalar sets a cell to a number.
func (l *arrowLeaf) scalar(b []byte, c *Cell) {
	switch l.typ {
	case arrowFloat:
		c.Kind = NumberCell
		switch l.width {
		case 2:
			c.Num = float64(array.Half(binary.LittleEndian.Uint16(b)))
		case 4:
			c.Num = float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
		default:
			c.Num = math.Float64frombits(binary.LittleEndian.Uint64(b))
		}
		return
	case arrowDecimal:
		var high [32]byte
		slices.Reverse(high[:copy(high[:], b)])
		c.Kind, c.Num = NumberCell, decimal(high[:len(b)])*l.scale
		return
	}
	var x uint64
	for i, v := range b {
		x |= uint64(v) << (8 * i)
	}
	c.Kind, c.Whole = WholeCell, int64(x)
	switch shift := 64 - 8*len(b); {
	case l.signed:
		c.Whole = int64(x<<shift) >> shift
	case c.Whole < 0: // as text it keeps all digits, which ids need
		c.Kind, c.Text = TextCell, strconv.FormatUint(x, 10)
	}
}
