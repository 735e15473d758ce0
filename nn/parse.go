package nn

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"credence/internal/yamltext"
)

// kinds are the layers a file may name, a value of each. A layer with a number of
// dimensions also has a name for each of these, such as conv2d.
var kinds = sync.OnceValue(func() map[string]Layer {
	return named(&Dense{}, &Conv{}, &MaxPool{}, &AvgPool{}, &GlobalPool{}, &ReLU{}, &GELU{}, &Tanh{}, &Sigmoid{},
		&Dropout{}, &LayerNorm{}, &BatchNorm{}, &Flatten{}, &Embedding{}, &Sequential{}, &Residual{}, &Concat{})
})

func named(layers ...Layer) map[string]Layer {
	names := map[string]Layer{}
	for _, l := range layers {
		name := strings.ToLower(typeName(l))
		names[name] = l
		for dims := range 3 {
			c := instance(l)
			if f := reflect.ValueOf(c).Elem().FieldByName("Dims"); f.IsValid() {
				f.SetInt(int64(dims + 1))
				names[fmt.Sprintf("%s%dd", name, dims+1)] = c
			}
		}
	}
	return names
}

// Parse reads a list of layers from YAML or JSON:
//
//	# a comment
//	- {type: conv2d, out: 6, kernel: 5, pad: 2}
//	- type: relu
//	- {type: maxpool, size: 2}
//	- type: residual
//	  body: [{type: conv, out: 6, kernel: 3, pad: 1}]
//	- type: flatten
//	- type: dense
//
// The keys of a layer are the fields of its Go type in lower case. A dense layer
// without out gets the given number of outputs, those of the head. An unknown
// key or type is an error with its position. own are zero values of custom layers,
// such as &Scale{}, which the text may then name.
func Parse(data []byte, out int, own ...Typed) (layer Layer, err error) {
	defer func() {
		if e, ok := errors.AsType[*yamltext.Error](err); ok {
			err = fmt.Errorf("layers: %w", e)
		}
	}()
	defer yamltext.Recover(&err)
	bodies, err := yamltext.Parse(data, false)
	if err != nil {
		return nil, err
	}
	if len(bodies) != 1 || bodies[0] == nil {
		return nil, fmt.Errorf("layers: expected one document with a list of layers")
	}
	r := layerReader(maps.Clone(kinds()))
	for _, l := range own {
		if err := checkTyped(l); err != nil {
			return nil, err
		}
		r[l.Type()] = l
	}
	layers, err := r.list(bodies[0])
	if err != nil {
		return nil, err
	}
	return Complete(Seq(layers...), out), nil
}

// layerReader reads layers, given a value of each kind by its name.
type layerReader map[string]Layer

// at returns an error with the position of a node.
func at(n ast.Node, format string, a ...any) error {
	p := n.GetToken().Position
	return fmt.Errorf("layers: line %d, column %d: %s", p.Line, p.Column, fmt.Sprintf(format, a...))
}

// key is the name before the colon, with or without quotes.
func key(v *ast.MappingValueNode) string {
	if s, ok := v.Key.(*ast.StringNode); ok {
		return s.Value
	}
	return v.Key.String()
}

// list reads a list of layers. The result is not nil.
func (r layerReader) list(n ast.Node) ([]Layer, error) {
	return each(n, "a list of layers, each on a line such as - {type: relu}", r.layer)
}

// sequence reads a list of layers as one layer.
func (r layerReader) sequence(n ast.Node) (Layer, error) {
	layers, err := r.list(n)
	return Seq(layers...), err
}

// each reads the elements of a list with the function one. The result is not nil.
func each(n ast.Node, expected string, one func(ast.Node) (Layer, error)) ([]Layer, error) {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		return nil, at(n, "expected %s", expected)
	}
	layers := []Layer{}
	for _, v := range seq.Values {
		l, err := one(v)
		if err != nil {
			return nil, err
		}
		layers = append(layers, l)
	}
	return layers, nil
}

// layer reads one layer: a mapping with the key type.
func (r layerReader) layer(n ast.Node) (Layer, error) {
	m, ok := n.(*ast.MappingNode)
	if !ok {
		return nil, at(n, "expected a layer such as {type: relu}")
	}
	var kind string
	for _, v := range m.Values {
		if key(v) != "type" {
			continue
		}
		s, ok := v.Value.(*ast.StringNode)
		if !ok {
			return nil, at(v.Value, "expected the name of a layer")
		}
		kind = s.Value
		if r[kind] == nil {
			return nil, at(v.Value, "layer %q is not one of [%s]", kind, strings.Join(slices.Sorted(maps.Keys(r)), " "))
		}
	}
	if kind == "" {
		if len(m.Values) > 0 {
			n = m.Values[0].Key
		}
		return nil, at(n, "layer without a type: expected one such as {type: dense, out: 32}")
	}
	l := instance(r[kind])
	return l, r.fields(l, kind, m.Values)
}

// fields sets the exported fields of a layer from the keys of a mapping, except its type.
func (r layerReader) fields(l Layer, kind string, values []*ast.MappingValueNode) (err error) {
	keys, fields := fieldsOf(l)
	for _, k := range values {
		name := key(k)
		if name == "type" {
			continue
		}
		f, ok := fields[name]
		if !ok {
			return at(k.Key, "%s has no key %q; it has [%s]", kind, name, strings.Join(keys, " "))
		}
		switch to := f.Addr().Interface().(type) {
		case *Layer:
			*to, err = r.sequence(k.Value)
		case *[]Layer:
			if _, list := l.(*Sequential); list {
				*to, err = r.list(k.Value)
			} else {
				*to, err = each(k.Value, "a list of lists of layers", r.sequence)
			}
		case *[]Shape:
			if yaml.NodeToValue(k.Value, to, yaml.Strict()) != nil {
				err = at(k.Value, "expected a list of shapes such as [[1, 28, 28], [5]]")
			}
		default:
			if yaml.NodeToValue(k.Value, to, yaml.Strict()) != nil {
				err = at(k.Value, "%s.%s: expected %s, found %s", kind, name, cmp.Or(expected[f.Kind()], "a number"),
					strings.TrimSpace(k.Value.String()))
			}
		}
		if err != nil {
			return err
		}
	}
	s, list := l.(*Sequential)
	res, residual := l.(*Residual)
	if list && s.Layers == nil || residual && res.Body == nil {
		return fmt.Errorf("layers: %s without layers", kind)
	}
	return nil
}

// fieldsOf returns the exported fields of a layer by key, the name in lower case, and the keys in order. Dims
// is given by the layer's name.
func fieldsOf(l Layer) (keys []string, fields map[string]reflect.Value) {
	v := reflect.ValueOf(l).Elem()
	fields = map[string]reflect.Value{}
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() && f.Name != "Dims" {
			key := strings.ToLower(f.Name)
			keys, fields[key] = append(keys, key), v.Field(i)
		}
	}
	return keys, fields
}

// expected describes the values of fields of other kinds than numbers.
var expected = map[reflect.Kind]string{
	reflect.Bool: "true or false", reflect.Int: "a whole number", reflect.Slice: "a whole number or a list of them",
}

// UnmarshalYAML reads a list of numbers, or a single one.
func (v *Ints) UnmarshalYAML(read func(any) error) error {
	var one int
	if err := read(&one); err == nil {
		*v = Ints{one}
		return nil
	}
	var list []int
	if err := read(&list); err != nil {
		return fmt.Errorf("expected a whole number or a list of them: %w", err)
	}
	*v = list
	return nil
}

// Typed is a custom layer that can be saved with its network: Type returns its
// name in files. Like the layers of this package it is written with its exported
// fields that are not zero, under their names in lower case. [Parse] can read it if
// it gets a value of its type.
type Typed interface {
	Layer
	Type() string
}

// Describe writes a tree of layers as the JSON that [Parse] reads back: a list
// of layers, each with its type first and the fields that are not zero. Parse returns
// the tree in the form of [Complete]. Layers that are neither of this package nor
// [Typed] are an error.
func Describe(root Layer) ([]byte, error) {
	var b bytes.Buffer
	err := describeList(&b, root)
	return b.Bytes(), err
}

// describeList writes a layer as a list: a Sequential as its layers, any other
// as a list of one.
func describeList(b *bytes.Buffer, l Layer) error {
	if s, ok := l.(*Sequential); ok {
		return describeEach(b, s.Layers, describe1)
	}
	return describeEach(b, []Layer{l}, describe1)
}

// describeEach writes layers as a list, each with the function one.
func describeEach(b *bytes.Buffer, layers []Layer, one func(*bytes.Buffer, Layer) error) error {
	b.WriteByte('[')
	for i, l := range layers {
		if l == nil {
			return fmt.Errorf("layer %d is nil", i)
		}
		if i > 0 {
			b.WriteByte(',')
		}
		if err := one(b, l); err != nil {
			return err
		}
	}
	b.WriteByte(']')
	return nil
}

// describe1 writes one layer as an object: its type, the layers inside and the fields
// that are not zero.
func describe1(b *bytes.Buffer, l Layer) error {
	kind := kindOf(l)
	if kind == "" {
		return fmt.Errorf("a layer of type %T cannot be written to a file", l)
	}
	fmt.Fprintf(b, `{"type":%q`, kind)
	keys, fields := fieldsOf(l)
	for _, name := range keys {
		f := fields[name]
		if f.IsZero() && f.Type() != reflect.TypeFor[[]Layer]() && name != "body" {
			continue
		}
		fmt.Fprintf(b, ",%q:", name)
		var err error
		switch inside := f.Addr().Interface().(type) {
		case *Layer:
			err = describeList(b, *inside)
		case *[]Layer:
			one := describeList
			if _, list := l.(*Sequential); list {
				one = describe1
			}
			err = describeEach(b, *inside, one)
		default:
			text, jsonErr := json.Marshal(inside)
			if jsonErr != nil {
				err = fmt.Errorf("layer %s: %s: %w", kind, name, jsonErr)
			}
			b.Write(text)
		}
		if err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}

// kindOf returns the name of a layer in files, or "".
func kindOf(l Layer) string {
	name := strings.ToLower(typeName(l))
	if c, ok := l.(*Conv); ok && c.Dims > 0 {
		name = fmt.Sprintf("conv%dd", c.Dims)
	}
	if k, ok := kinds()[name]; ok && reflect.TypeOf(k) == reflect.TypeOf(l) {
		return name
	}
	if t, ok := l.(Typed); ok && checkTyped(t) == nil {
		return t.Type()
	}
	return ""
}

// checkTyped returns an error unless a custom layer is a pointer to a struct with a type name of its own.
func checkTyped(t Typed) error {
	if v := reflect.TypeOf(t); v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("layer %T is not a pointer to a struct", t)
	}
	if _, taken := kinds()[t.Type()]; taken || t.Type() == "" {
		return fmt.Errorf("layer %T has the type %q, which is empty or taken", t, t.Type())
	}
	return nil
}

// Complete returns a tree in which dense layers without Out have out outputs. It
// has the form in which trees are saved, and to which [New] converts every tree:
// containers hold lists of layers, so that a tensor has the same name in memory and
// in files. The argument is not changed.
func Complete(root Layer, out int) Layer {
	var one func(l Layer) Layer
	list := func(l Layer) Layer {
		if l == nil {
			return nil
		}
		s, ok := l.(*Sequential)
		if !ok {
			s = Seq(l)
		}
		c := &Sequential{}
		for _, l := range s.Layers {
			c.Layers = append(c.Layers, one(l))
		}
		return c
	}
	one = func(l Layer) Layer {
		switch l := l.(type) {
		case *Sequential:
			return list(l)
		case *Residual:
			return &Residual{Body: list(l.Body), Shortcut: list(l.Shortcut)}
		case *Concat:
			c := &Concat{Inputs: l.Inputs}
			for _, b := range l.Branches {
				c.Branches = append(c.Branches, list(b))
			}
			return c
		case *Dense:
			if l.Out == 0 {
				return &Dense{Out: out, In: l.In, NoBias: l.NoBias}
			}
		}
		return l
	}
	return list(root)
}
