package onnx

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Graph is a model in the making. Values are known by their names: methods return the name of the value that they add.
type Graph struct {
	Name, Producer, Version, Doc string
	Inputs, Outputs              []Value
	Metadata                     [][2]string // names and values

	nodes   []message
	tensors []tensor
	names   map[string]bool
	known   map[string]string // names of results by operation, and of tensors by content
	ml      bool              // whether an operator of ML is used
}

// Value describes an input or an output.
type Value struct {
	Name string
	Type Type
	Dims []int
}

// String writes a value as age float[N,1].
func (v Value) String() string {
	text := ""
	for i, d := range v.Dims {
		if i > 0 {
			text += ","
		}
		if d == Batch {
			text += "N"
		} else {
			text += fmt.Sprint(d)
		}
	}
	return fmt.Sprintf("%s %v[%s]", v.Name, v.Type, text)
}

func (v Value) proto() message {
	var shape, kind, typ, m message
	for _, d := range v.Dims {
		var dim message
		if d == Batch {
			dim.text(2, "N")
		} else {
			dim.int(1, d)
		}
		shape.message(1, dim)
	}
	kind.int(1, int(v.Type))
	kind.message(2, shape)
	typ.message(1, kind)
	m.text(1, v.Name)
	m.message(2, typ)
	return m
}

// tensor is a constant. Numbers are little-endian; strings are fields of their own.
type tensor struct {
	name    string
	kind    Type
	dims    []int
	raw     []byte
	strings []string
}

func (t *tensor) proto() (m message) {
	for _, d := range t.dims {
		m.int(1, d)
	}
	m.int(2, int(t.kind))
	for _, s := range t.strings {
		m.text(6, s)
	}
	m.text(8, t.name)
	if t.kind != String {
		m.message(9, t.raw)
	}
	return m
}

// NewGraph returns a graph without operations. No input, constant or intermediate value gets one of the names of the
// outputs.
func NewGraph(name string, outputs ...string) *Graph {
	g := &Graph{Name: name, names: map[string]bool{"": true}, known: map[string]string{}}
	for _, o := range outputs {
		g.names[o] = true
	}
	return g
}

// unique returns a name that is not in use, and uses it.
func (g *Graph) unique(name, format string) string {
	taken := name
	for i := 0; g.names[taken]; i++ {
		taken = fmt.Sprintf(format, name, i)
	}
	g.names[taken] = true
	return taken
}

// Input adds an input, and returns its name: the given one, or input_NAME if that is the name of an output.
func (g *Graph) Input(name string, t Type, dims ...int) string {
	if g.names[name] {
		name = "input_" + name
	}
	name = g.unique(name, "%s_%d")
	g.Inputs = append(g.Inputs, Value{name, t, dims})
	return name
}

// Output names a value as an output.
func (g *Graph) Output(name, from string, t Type, dims ...int) {
	g.nodes = append(g.nodes, node("Identity", "", []string{from}, name, nil))
	g.Outputs = append(g.Outputs, Value{name, t, dims})
}

// Attr is an attribute of an operation: a whole number, a float32, a text, or a list of whole numbers, or of texts.
type Attr struct {
	Name  string
	Value any
}

// Add adds an operation with one result.
func (g *Graph) Add(op string, inputs ...string) string { return g.AddWith(op, nil, inputs...) }

// AddWith adds an operation with attributes. Equal operations on equal inputs are added once.
func (g *Graph) AddWith(op string, attrs []Attr, inputs ...string) string {
	domain := ""
	if op == "LabelEncoder" {
		domain, g.ml = ML, true
	}
	key := string(node(op, domain, inputs, "", attrs))
	if name, ok := g.known[key]; ok {
		return name
	}
	name := g.unique(fmt.Sprintf("%s_%d", op, len(g.nodes)), "%s_%d")
	g.nodes = append(g.nodes, node(op, domain, inputs, name, attrs))
	g.known[key] = name
	return name
}

func node(op, domain string, inputs []string, output string, attrs []Attr) (m message) {
	for _, x := range inputs {
		m.text(1, x)
	}
	m.text(2, output)
	m.text(3, output)
	m.text(4, op)
	for _, a := range attrs {
		m.message(5, a.proto())
	}
	if domain != "" {
		m.text(7, domain)
	}
	return m
}

func (a Attr) proto() (m message) {
	m.text(1, a.Name)
	kind := 0
	switch v := a.Value.(type) {
	case float32:
		kind = 1
		m.tag(2, fixed32)
		m = binary.LittleEndian.AppendUint32(m, math.Float32bits(v))
	case int:
		kind = 2
		m.tag(3, varint)
		m = binary.AppendUvarint(m, uint64(v)) // two's complement of 64 bits if it is negative
	case []int:
		kind = 7
		for _, x := range v {
			m.tag(8, varint)
			m = binary.AppendUvarint(m, uint64(x))
		}
	case []string:
		kind = 8
		for _, s := range v {
			m.text(9, s)
		}
	default:
		panic(fmt.Sprintf("onnx: attribute %s of type %T", a.Name, a.Value))
	}
	m.int(20, kind)
	return m
}

// Floats adds a tensor of float32.
func (g *Graph) Floats(values []float32, dims ...int) string {
	raw := make([]byte, 0, 4*len(values))
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	return g.constant(tensor{kind: Float, dims: dims, raw: raw})
}

// Doubles adds a tensor of float64.
func (g *Graph) Doubles(values []float64, dims ...int) string {
	raw := make([]byte, 0, 8*len(values))
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(v))
	}
	return g.constant(tensor{kind: Double, dims: dims, raw: raw})
}

// Ints adds a list of whole numbers.
func (g *Graph) Ints(values ...int) string {
	raw := make([]byte, 0, 8*len(values))
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(v))
	}
	return g.constant(tensor{kind: Int64, dims: []int{len(values)}, raw: raw})
}

// Strings adds a list of texts.
func (g *Graph) Strings(values []string) string {
	return g.constant(tensor{kind: String, dims: []int{len(values)}, strings: values})
}

// constant adds a tensor. Equal ones, such as the number 1, are stored once.
func (g *Graph) constant(t tensor) string {
	key := ""
	if len(t.raw) <= 1024 && t.kind != String {
		key = fmt.Sprintf("%d %v %s", t.kind, t.dims, t.raw)
		if name, ok := g.known[key]; ok {
			return name
		}
	}
	t.name = g.unique(fmt.Sprintf("constant_%d", len(g.tensors)), "%s_%d")
	g.tensors = append(g.tensors, t)
	if key != "" {
		g.known[key] = t.name
	}
	return t.name
}
