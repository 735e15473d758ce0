// Package onnx writes models in the ONNX format. A [Graph] collects inputs, constants and operations;
// [Graph.Marshal] returns the bytes of the file, which depend on nothing but the graph.
//
// The format is a message of Protocol Buffers (onnx.proto of the ONNX project). The few messages that are needed are
// written by hand: a field is a tag, field<<3 | type, and a value, and a message within another is its length and its
// bytes.
package onnx

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Type is the type of the elements of a tensor, with the numbers of TensorProto.DataType.
type Type int

// The types in use.
const (
	Float  Type = 1
	Int64  Type = 7
	String Type = 8
	Bool   Type = 9
	Double Type = 11
)

// String returns the name of the type in ONNX.
func (t Type) String() string {
	switch t {
	case Float:
		return "float"
	case Int64:
		return "int64"
	case String:
		return "string"
	case Bool:
		return "bool"
	case Double:
		return "double"
	}
	return fmt.Sprintf("Type(%d)", int(t))
}

// Versions of the operators and of the format.
const (
	Opset      = 17 // of the default domain
	mlOpset    = 3  // of ML
	irVersion  = 8  // the one of opset 17
	maxMessage = math.MaxInt32
)

// ML is the domain of operators for tables.
const ML = "ai.onnx.ml"

// Batch is the size of a dimension that may have any size, the number of items.
const Batch = -1

// ErrTooLarge is returned for a graph beyond the 2 GB that one message can have.
var ErrTooLarge = errors.New("the ONNX file would exceed 2 GB, the largest message of Protocol Buffers")

// Types of fields.
const (
	varint  = 0
	bytesOf = 2
	fixed32 = 5
)

// message is the encoded fields of a message.
type message []byte

func (m *message) tag(field, kind int) { *m = binary.AppendUvarint(*m, uint64(field<<3|kind)) }

// int adds a whole number; in this format a negative one would have ten bytes, and there are none.
func (m *message) int(field int, v int) {
	m.tag(field, varint)
	*m = binary.AppendUvarint(*m, uint64(v))
}

func (m *message) text(field int, s string) {
	m.tag(field, bytesOf)
	*m = binary.AppendUvarint(*m, uint64(len(s)))
	*m = append(*m, s...)
}

func (m *message) message(field int, inner message) {
	m.tag(field, bytesOf)
	*m = binary.AppendUvarint(*m, uint64(len(inner)))
	*m = append(*m, inner...)
}

// Marshal returns the file.
func (g *Graph) Marshal() ([]byte, error) {
	size := 0
	for _, t := range g.tensors {
		size += len(t.raw)
	}
	if size > maxMessage {
		return nil, ErrTooLarge
	}
	var graph message
	for _, n := range g.nodes {
		graph.message(1, n)
	}
	graph.text(2, g.Name)
	for i := range g.tensors {
		graph.message(5, g.tensors[i].proto())
	}
	for _, v := range g.Inputs {
		graph.message(11, v.proto())
	}
	for _, v := range g.Outputs {
		graph.message(12, v.proto())
	}
	var m message
	m.int(1, irVersion)
	m.text(2, g.Producer)
	m.text(3, g.Version)
	m.text(6, g.Doc)
	m.message(7, graph)
	m.message(8, operators("", Opset))
	if g.ml {
		m.message(8, operators(ML, mlOpset))
	}
	for _, pair := range g.Metadata {
		var entry message
		entry.text(1, pair[0])
		entry.text(2, pair[1])
		m.message(14, entry)
	}
	if len(m) > maxMessage {
		return nil, ErrTooLarge
	}
	return m, nil
}

// operators is the version of the operators of a domain.
func operators(domain string, version int) (m message) {
	m.text(1, domain)
	m.int(2, version)
	return m
}
