package table

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
)

// The metadata of an Arrow stream are FlatBuffers: tables whose fields are numbered and optional. A table begins with
// the distance back to its vtable, which lists the offset of each field in the table, 0 for absent ones. Strings,
// vectors and nested tables are stored elsewhere, at a distance that the field contains. This file implements the
// subset that Arrow needs, following the format's description (flatbuffers.dev, "FlatBuffer Internals").

// flatBuffer is a buffer to read. Reading outside of it returns 0 and sets damaged.
type flatBuffer struct {
	b       []byte
	damaged bool
}

// flatTable is a table at an offset of a buffer.
type flatTable struct {
	buffer *flatBuffer
	at     int
}

// bytes returns n bytes at an offset, or nil if they are not in the buffer.
func (f *flatBuffer) bytes(at, n int) []byte {
	if at < 0 || n < 0 || at > len(f.b) || n > len(f.b)-at {
		f.damaged = true
		return nil
	}
	return f.b[at : at+n]
}

// number returns the integer of n bytes at an offset, signed if it has four or more.
func (f *flatBuffer) number(at, n int) int64 {
	var b [8]byte
	copy(b[:], f.bytes(at, n))
	u := binary.LittleEndian.Uint64(b[:])
	if n == 4 {
		return int64(int32(u))
	}
	return int64(u)
}

func (f *flatBuffer) uint16(at int) int  { return int(f.number(at, 2)) }
func (f *flatBuffer) int32(at int) int   { return int(f.number(at, 4)) }
func (f *flatBuffer) int64(at int) int64 { return f.number(at, 8) }

// field returns the offset of a field, or 0 if it is absent.
func (t flatTable) field(id int) int {
	if t.buffer == nil { // the table is absent
		return 0
	}
	vtable := t.at - t.buffer.int32(t.at)
	if size := t.buffer.uint16(vtable); 4+2*id+2 > size {
		return 0
	}
	if offset := t.buffer.uint16(vtable + 4 + 2*id); offset > 0 {
		return t.at + offset
	}
	return 0
}

// number returns a field of n bytes, or the default if it is absent.
func (t flatTable) number(id, n int, absent int64) int64 {
	if at := t.field(id); at > 0 {
		return t.buffer.number(at, n)
	}
	return absent
}

func (t flatTable) byte(id int) int          { return int(t.number(id, 1, 0)) }
func (t flatTable) int16(id int) int         { return int(t.number(id, 2, 0)) }
func (t flatTable) int32(id, absent int) int { return int(t.number(id, 4, int64(absent))) }
func (t flatTable) int64(id int) int64       { return t.number(id, 8, 0) }

// table returns a field that is a table, and reports whether it is present.
func (t flatTable) table(id int) (flatTable, bool) {
	at := t.field(id)
	if at == 0 {
		return flatTable{}, false
	}
	return flatTable{t.buffer, at + t.buffer.int32(at)}, true
}

// vector returns the offset and number of the elements of a vector, given the size of each.
func (t flatTable) vector(id, size int) (at, n int) {
	if at = t.field(id); at == 0 {
		return 0, 0
	}
	at += t.buffer.int32(at)
	n = t.buffer.int32(at)
	if n < 0 || n > len(t.buffer.b)/size || t.buffer.bytes(at+4, n*size) == nil {
		t.buffer.damaged = true
		return 0, 0
	}
	return at + 4, n
}

// tables returns a vector of tables.
func (t flatTable) tables(id int) []flatTable {
	at, n := t.vector(id, 4)
	list := make([]flatTable, n)
	for i := range list {
		list[i] = flatTable{t.buffer, at + 4*i + t.buffer.int32(at+4*i)}
	}
	return list
}

func (t flatTable) text(id int) string {
	at, n := t.vector(id, 1)
	return string(t.buffer.bytes(at, n))
}

// flatFields is a table to write, as fields by number. A field is an int8, int16, int32, int64, string,
// flatFields, []flatFields or flatStructs.
type flatFields map[int]any

// flatStructs is a vector of pairs of numbers.
type flatStructs [][2]int64

// flatten returns a buffer with a table as its root.
func flatten(root flatFields) []byte {
	b := append(make([]byte, 0, 1024), 0, 0, 0, 0)
	return linkTable(b, 0, root)
}

// flatSize returns the size of a field within its table.
func flatSize(field any) int {
	switch field.(type) {
	case int8, int16, int64:
		return binary.Size(field)
	}
	return 4
}

// linkTable appends a table, and stores its distance at offset from. Its fields are ordered by size, the
// largest first, and start at a multiple of 8, so that each is aligned to its size.
func linkTable(b []byte, from int, fields flatFields) []byte {
	ids := slices.SortedFunc(maps.Keys(fields), func(i, j int) int {
		return cmp.Or(flatSize(fields[j])-flatSize(fields[i]), i-j)
	})
	last := -1
	size := 4
	offsets := map[int]int{}
	for _, id := range ids {
		offsets[id] = size
		size += flatSize(fields[id])
		last = max(last, id)
	}
	vtable := 4 + 2*(last+1)
	for (len(b)+vtable)%8 != 4 {
		b = append(b, 0)
	}
	b = binary.LittleEndian.AppendUint16(b, uint16(vtable))
	b = binary.LittleEndian.AppendUint16(b, uint16(size))
	for id := range last + 1 {
		b = binary.LittleEndian.AppendUint16(b, uint16(offsets[id]))
	}
	at := len(b)
	binary.LittleEndian.PutUint32(b[from:], uint32(at-from))
	b = append(b, make([]byte, size)...)
	binary.LittleEndian.PutUint32(b[at:], uint32(vtable))
	for _, id := range ids {
		place := at + offsets[id]
		switch v := fields[id].(type) {
		case int8, int16, int32, int64:
			binary.Encode(b[place:], binary.LittleEndian, v)
		default:
			b = linkField(b, place, v)
		}
	}
	return b
}

// linkField appends the value that a field refers to, and stores its distance at offset from.
func linkField(b []byte, from int, field any) []byte {
	vector := func(n, align int) {
		for (len(b)+4)%align != 0 {
			b = append(b, 0)
		}
		binary.LittleEndian.PutUint32(b[from:], uint32(len(b)-from))
		b = binary.LittleEndian.AppendUint32(b, uint32(n))
	}
	switch v := field.(type) {
	case flatFields:
		return linkTable(b, from, v)
	case string:
		vector(len(v), 4)
		return append(append(b, v...), 0)
	case []flatFields:
		vector(len(v), 4)
		at := len(b)
		b = append(b, make([]byte, 4*len(v))...)
		for i, t := range v {
			b = linkTable(b, at+4*i, t)
		}
	case flatStructs:
		vector(len(v), 8)
		b, _ = binary.Append(b, binary.LittleEndian, v)
	}
	return b
}
