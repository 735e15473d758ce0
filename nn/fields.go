package nn

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// fields sets the exported fields of a layer from the keys of a mapping; a key
// is the name of a field in lower case. Dims is given by the layer's name.
func (r *layerReader) fields(l Layer, kind string, keys []*ast.MappingValueNode) (err error) {
	v := reflect.ValueOf(l).Elem()
	for _, k := range keys {
		name := key(k)
		f := field(v, name)
		if !f.IsValid() {
			return at(k.Key, "%s has no key %q; it has [%s]", kind, name, strings.Join(keysOf(v.Type()), " "))
		}
		switch to := f.Addr().Interface().(type) {
		case *Layer:
			var layers []Layer
			layers, err = r.list(k.Value)
			*to = Seq(layers...)
		case *[]Layer:
			if _, list := l.(*Sequential); list {
				*to, err = r.list(k.Value)
			} else {
				*to, err = r.branches(k.Value)
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

// branches reads a list of lists of layers.
func (r *layerReader) branches(n ast.Node) (branches []Layer, err error) {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		return nil, at(n, "expected a list of lists of layers")
	}
	for _, v := range seq.Values {
		layers, err := r.list(v)
		if err != nil {
			return nil, err
		}
		branches = append(branches, Seq(layers...))
	}
	return branches, nil
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
