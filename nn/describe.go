package nn

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

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
	v := reflect.ValueOf(l).Elem()
	for _, name := range keysOf(v.Type()) {
		f := field(v, name)
		if f.IsZero() && f.Type() != reflect.TypeFor[[]Layer]() && name != "body" {
			continue
		}
		fmt.Fprintf(b, ",%q:", name)
		var err error
		switch inside := f.Addr().Interface().(type) {
		case *Layer:
			err = describeList(b, *inside)
		case *[]Layer:
			if _, list := l.(*Sequential); list {
				err = describeEach(b, *inside, describe1)
			} else {
				err = describeEach(b, *inside, describeList)
			}
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
	if k, ok := kinds[name]; ok && reflect.TypeOf(k) == reflect.TypeOf(l) {
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
	if _, taken := kinds[t.Type()]; taken || t.Type() == "" {
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

// Tensors returns the parameters and states that a network of root would have
// for items of shape in, with names and shapes but without values: no memory of a
// size that the layers determine is allocated, so that a reader can first compare
// them with the contents of a file.
func Tensors(root Layer, in Shape) (params, states []*Param, err error) {
	b, _, err := infer(Complete(root, 0), in, false)
	if err != nil {
		return nil, nil, err
	}
	return b.params, b.states, nil
}
