package nn

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"credence/internal/yamltext"
)

// kinds are the layers a file may name, a value of each. A layer with a number of
// dimensions also has a name for each of these, such as conv2d.
var kinds = named(&Dense{}, &Conv{}, &MaxPool{}, &AvgPool{}, &GlobalPool{}, &ReLU{}, &GELU{}, &Tanh{}, &Sigmoid{},
	&Dropout{}, &LayerNorm{}, &BatchNorm{}, &Flatten{}, &Embedding{}, &Sequential{}, &Residual{}, &Concat{})

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
	r := layerReader(maps.Clone(kinds))
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
	var rest []*ast.MappingValueNode
	for _, v := range m.Values {
		if key(v) == "type" {
			s, ok := v.Value.(*ast.StringNode)
			if !ok {
				return nil, at(v.Value, "expected the name of a layer")
			}
			kind = s.Value
			if r[kind] == nil {
				return nil, at(v.Value, "layer %q is not one of [%s]", kind, strings.Join(slices.Sorted(maps.Keys(r)), " "))
			}
		} else {
			rest = append(rest, v)
		}
	}
	if kind == "" {
		if len(m.Values) > 0 {
			n = m.Values[0].Key
		}
		return nil, at(n, "layer without a type: expected one such as {type: dense, out: 32}")
	}
	l := instance(r[kind])
	return l, r.fields(l, kind, rest)
}

// fields sets the exported fields of a layer from the keys of a mapping; a key
// is the name of a field in lower case. Dims is given by the layer's name.
func (r layerReader) fields(l Layer, kind string, keys []*ast.MappingValueNode) (err error) {
	v := reflect.ValueOf(l).Elem()
	for _, k := range keys {
		name := key(k)
		f := field(v, name)
		if !f.IsValid() {
			return at(k.Key, "%s has no key %q; it has [%s]", kind, name, strings.Join(keysOf(v.Type()), " "))
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
				err = at(k.Value, "%s.%s: expected %s, found %s", kind, name, describe(f.Type()), strings.TrimSpace(k.Value.String()))
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

// field returns the exported field that a key stands for.
func field(v reflect.Value, key string) reflect.Value {
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() && f.Name != "Dims" && strings.ToLower(f.Name) == key {
			return v.Field(i)
		}
	}
	return reflect.Value{}
}

func keysOf(t reflect.Type) []string {
	var keys []string
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() && f.Name != "Dims" {
			keys = append(keys, strings.ToLower(f.Name))
		}
	}
	return keys
}

func describe(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int:
		return "a whole number"
	case reflect.Slice:
		return "a whole number or a list of them"
	}
	return "a number"
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
