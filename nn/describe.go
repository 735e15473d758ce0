package nn

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// Describe writes a tree of layers as the JSON that [Parse] reads back: a list
// of layers, each with its type first and the fields that are not zero. A layer
// that is not a Sequential is read back inside one, so that the names of its
// parameters are one step longer. Layers of a type that Parse does not know are
// an error.
func Describe(root Layer) ([]byte, error) {
	var b bytes.Buffer
	err := describeList(&b, root)
	return b.Bytes(), err
}

// describeList writes a layer as a list: a Sequential as its layers, any other
// as a list of one.
func describeList(b *bytes.Buffer, l Layer) error {
	layers := []Layer{l}
	if s, ok := l.(*Sequential); ok {
		layers = s.Layers
	}
	b.WriteByte('[')
	for i, l := range layers {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := describe1(b, l); err != nil {
			return err
		}
	}
	b.WriteByte(']')
	return nil
}

// describe1 writes one layer as an object.
func describe1(b *bytes.Buffer, l Layer) error {
	list := func(key string, l Layer) error {
		fmt.Fprintf(b, ",%q:", key)
		return describeList(b, l)
	}
	switch l := l.(type) {
	case *Sequential:
		b.WriteString(`{"type":"sequential"`)
		if err := list("layers", l); err != nil {
			return err
		}
	case *Residual:
		b.WriteString(`{"type":"residual"`)
		if err := list("body", l.Body); err != nil {
			return err
		}
		if l.Shortcut != nil {
			if err := list("shortcut", l.Shortcut); err != nil {
				return err
			}
		}
	case *Concat:
		b.WriteString(`{"type":"concat"`)
		if len(l.Inputs) > 0 {
			text, _ := json.Marshal(l.Inputs)
			fmt.Fprintf(b, `,"inputs":%s`, text)
		}
		b.WriteString(`,"branches":[`)
		for i, branch := range l.Branches {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := describeList(b, branch); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	default:
		kind := kindOf(l)
		if kind == "" {
			return fmt.Errorf("a layer of type %T cannot be written to a file", l)
		}
		fmt.Fprintf(b, `{"type":%q`, kind)
		v := reflect.ValueOf(l).Elem()
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if !f.IsExported() || f.Name == "Dims" || v.Field(i).IsZero() {
				continue
			}
			text, err := json.Marshal(v.Field(i).Interface())
			if err != nil {
				return fmt.Errorf("layer %s: %s: %w", kind, f.Name, err)
			}
			fmt.Fprintf(b, ",%q:%s", strings.ToLower(f.Name), text)
		}
	}
	b.WriteByte('}')
	return nil
}

// kindOf returns the name under which Parse knows a layer, or "".
func kindOf(l Layer) string {
	name := strings.ToLower(typeName(l))
	if c, ok := l.(*Conv); ok && c.Dims > 0 {
		name = fmt.Sprintf("conv%dd", c.Dims)
	}
	if fresh := kinds[name]; fresh == nil || reflect.TypeOf(fresh()) != reflect.TypeOf(l) {
		return ""
	}
	return name
}

// Tensors returns the parameters and states that a network of root would have
// for items of shape in, with names and shapes but without values: nothing whose
// size the layers decide is allocated, so that a reader can first compare them
// with what a file holds. The tree cannot be built again afterwards.
func Tensors(root Layer, in Shape) (params, states []*Param, err error) {
	b, _, err := infer(root, in, false)
	if err != nil {
		return nil, nil, err
	}
	return b.params, b.states, nil
}
