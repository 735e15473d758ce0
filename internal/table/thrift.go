package table

import (
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
	depth int // of lists, maps and structures in each other

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

func (w *thriftWalk) byte() (byte, error) {
	if w.at >= len(w.b) {
		return 0, errThriftShort
	}
	w.at++
	return w.b[w.at-1], nil
}

func (w *thriftWalk) varint() (uint64, error) {
	var x uint64
	for shift := 0; shift < 64; shift += 7 {
		c, err := w.byte()
		if err != nil {
			return 0, err
		}
		x |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return x, nil
		}
	}
	return 0, errors.New("a number that does not end")
}

func (w *thriftWalk) skip(n uint64) error {
	if n > uint64(len(w.b)-w.at) {
		return errThriftShort
	}
	w.at += int(n)
	return nil
}

// structure walks through the fields of a structure.
func (w *thriftWalk) structure() error {
	w.structs++
	for {
		head, err := w.byte()
		if err != nil || head == 0 {
			return err
		}
		if head>>4 == 0 { // the field's number follows
			if _, err := w.varint(); err != nil {
				return err
			}
		}
		if err := w.value(head&15, false); err != nil {
			return err
		}
	}
}

// value walks through a value. Truth values take no byte of their own in a
// field, and one in a list.
func (w *thriftWalk) value(kind byte, inList bool) error {
	if w.depth++; w.depth > thriftDepth {
		return fmt.Errorf("values more than %d deep in each other", thriftDepth)
	}
	defer func() { w.depth-- }()
	switch kind {
	case thriftTrue, thriftFalse:
		if inList {
			return w.skip(1)
		}
		return nil
	case thriftByte:
		return w.skip(1)
	case thriftInt16, thriftInt32, thriftInt64:
		_, err := w.varint()
		return err
	case thriftDouble:
		return w.skip(8)
	case thriftUUID:
		return w.skip(16)
	case thriftBinary:
		n, err := w.varint()
		if err != nil {
			return err
		}
		return w.skip(n)
	case thriftList, thriftSet:
		head, err := w.byte()
		if err != nil {
			return err
		}
		n := uint64(head >> 4)
		if n == 15 {
			if n, err = w.varint(); err != nil {
				return err
			}
		}
		return w.elements(n, head&15)
	case thriftMap:
		n, err := w.varint()
		if err != nil || n == 0 {
			return err
		}
		kinds, err := w.byte()
		if err != nil {
			return err
		}
		return w.elements(n, kinds>>4, kinds&15)
	case thriftStruct:
		return w.structure()
	}
	return fmt.Errorf("type %d", kind)
}

// elements walks through n values, or n keys with their values; each takes a
// byte at least.
func (w *thriftWalk) elements(n uint64, kinds ...byte) error {
	if n > uint64(len(w.b)-w.at) {
		return errThriftShort
	}
	for range n {
		for _, kind := range kinds {
			if err := w.value(kind, true); err != nil {
				return err
			}
		}
	}
	return nil
}
