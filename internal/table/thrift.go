package table

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
)

// thriftWalk goes through a structure in Thrift's compact protocol, in which
// Parquet keeps its metadata, without storing it. It checks what a decoder
// would trust: that lists and texts are no longer than the bytes that are there.
// (github.com/apache/thrift, doc/specs/thrift-compact-protocol.md)
type thriftWalk struct {
	b     []byte
	at    int
	depth int   // of lists, maps and structures in each other
	err   error // the first, which ends the walk

	structs int // found so far
}

// errThriftShort means that the bytes end before the structure does.
var errThriftShort = errors.New("it is cut short")

// The types of the compact protocol.
const (
	thriftTrue, thriftFalse    = 1, 2
	thriftByte                 = 3
	thriftInt16                = 4
	thriftInt32, thriftInt64   = 5, 6
	thriftDouble, thriftBinary = 7, 8
	thriftList, thriftSet      = 9, 10
	thriftMap, thriftStruct    = 11, 12
	thriftUUID                 = 13
	thriftDepth                = 64 // of values in values
)

func (w *thriftWalk) fail(err error) {
	w.err = cmp.Or(w.err, err)
	w.at = len(w.b)
}

// skip goes on by n bytes, and reports whether they are there.
func (w *thriftWalk) skip(n uint64) bool {
	if n > uint64(len(w.b)-w.at) {
		w.fail(errThriftShort)
		return false
	}
	w.at += int(n)
	return true
}

func (w *thriftWalk) byte() byte {
	if !w.skip(1) {
		return 0
	}
	return w.b[w.at-1]
}

func (w *thriftWalk) varint() uint64 {
	x, n := binary.Uvarint(w.b[w.at:])
	switch {
	case n == 0:
		w.fail(errThriftShort)
	case n < 0:
		w.fail(errors.New("a number that does not end"))
	default:
		w.at += n
	}
	return x
}

// structure walks through the fields of a structure.
func (w *thriftWalk) structure() error {
	w.structs++
	for {
		head := w.byte()
		if head == 0 {
			return w.err
		}
		if head>>4 == 0 { // the field's number follows
			w.varint()
		}
		w.value(head&15, false)
	}
}

// value walks through a value. Truth values take no byte of their own in a
// field, and one in a list.
func (w *thriftWalk) value(kind byte, inList bool) {
	if w.depth++; w.depth > thriftDepth {
		w.fail(fmt.Errorf("values more than %d deep in each other", thriftDepth))
	}
	defer func() { w.depth-- }()
	switch kind {
	case thriftTrue, thriftFalse:
		if inList {
			w.skip(1)
		}
	case thriftByte:
		w.skip(1)
	case thriftInt16, thriftInt32, thriftInt64:
		w.varint()
	case thriftDouble:
		w.skip(8)
	case thriftUUID:
		w.skip(16)
	case thriftBinary:
		w.skip(w.varint())
	case thriftList, thriftSet:
		head := w.byte()
		n := uint64(head >> 4)
		if n == 15 {
			n = w.varint()
		}
		w.elements(n, head&15)
	case thriftMap:
		if n := w.varint(); n > 0 {
			kinds := w.byte()
			w.elements(n, kinds>>4, kinds&15)
		}
	case thriftStruct:
		w.structure()
	default:
		w.fail(fmt.Errorf("type %d", kind))
	}
}

// elements walks through n values, or n keys with their values; each takes a
// byte at least.
func (w *thriftWalk) elements(n uint64, kinds ...byte) {
	if n > uint64(len(w.b)-w.at) {
		w.fail(errThriftShort)
	}
	for i := uint64(0); i < n && w.err == nil; i++ {
		for _, kind := range kinds {
			w.value(kind, true)
		}
	}
}
