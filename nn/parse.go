package nn

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"credence/internal/yamltext"
)

// kinds are the layers a file may name and a fresh value of each.
var kinds = map[string]func() Layer{
	"dense":      func() Layer { return &Dense{} },
	"conv":       func() Layer { return &Conv{} },
	"conv1d":     func() Layer { return &Conv{Dims: 1} },
	"conv2d":     func() Layer { return &Conv{Dims: 2} },
	"conv3d":     func() Layer { return &Conv{Dims: 3} },
	"maxpool":    func() Layer { return &MaxPool{} },
	"maxpool1d":  func() Layer { return &MaxPool{Dims: 1} },
	"maxpool2d":  func() Layer { return &MaxPool{Dims: 2} },
	"maxpool3d":  func() Layer { return &MaxPool{Dims: 3} },
	"avgpool":    func() Layer { return &AvgPool{} },
	"avgpool1d":  func() Layer { return &AvgPool{Dims: 1} },
	"avgpool2d":  func() Layer { return &AvgPool{Dims: 2} },
	"avgpool3d":  func() Layer { return &AvgPool{Dims: 3} },
	"globalpool": func() Layer { return &GlobalPool{} },
	"relu":       func() Layer { return &ReLU{} },
	"gelu":       func() Layer { return &GELU{} },
	"tanh":       func() Layer { return &Tanh{} },
	"sigmoid":    func() Layer { return &Sigmoid{} },
	"dropout":    func() Layer { return &Dropout{} },
	"layernorm":  func() Layer { return &LayerNorm{} },
	"batchnorm":  func() Layer { return &BatchNorm{} },
	"flatten":    func() Layer { return &Flatten{} },
	"embedding":  func() Layer { return &Embedding{} },
	"sequential": nil, "residual": nil, "concat": nil,
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
// key or type is an error with its position. own are zero values of layers of
// one's own, such as &Scale{}, which the text may then name.
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
	r := &layerReader{kinds: kinds}
	if len(own) > 0 {
		r.kinds = maps.Clone(kinds)
	}
	for _, l := range own {
		if err := checkTyped(l); err != nil {
			return nil, err
		}
		r.kinds[l.Type()] = func() Layer { return instance(l) }
	}
	if layer, err = r.list(bodies[0]); err != nil {
		return nil, err
	}
	return Complete(layer, out), nil
}

type layerReader struct{ kinds map[string]func() Layer }

// at is an error with the position of a node.
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

// list reads a sequence of layers.
func (r *layerReader) list(n ast.Node) (Layer, error) {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		return nil, at(n, "expected a list of layers, each on a line such as - {type: relu}")
	}
	s := &Sequential{}
	for _, v := range seq.Values {
		l, err := r.layer(v)
		if err != nil {
			return nil, err
		}
		s.Layers = append(s.Layers, l)
	}
	return s, nil
}

// layer reads one layer: a mapping with the key type.
func (r *layerReader) layer(n ast.Node) (Layer, error) {
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
			if _, ok := r.kinds[kind]; !ok {
				return nil, at(v.Value, "layer %q is not one of [%s]", kind, strings.Join(slices.Sorted(maps.Keys(r.kinds)), " "))
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
	switch kind {
	case "sequential", "residual", "concat":
		return r.container(kind, rest)
	}
	l := r.kinds[kind]()
	if err := fields(l, kind, rest); err != nil {
		return nil, err
	}
	return l, nil
}

// container reads the layers inside a layer.
func (r *layerReader) container(kind string, rest []*ast.MappingValueNode) (Layer, error) {
	var (
		seq *Sequential
		res = &Residual{}
		cat = &Concat{}
		err error
	)
	for _, v := range rest {
		switch kind + "." + key(v) {
		case "sequential.layers":
			var l Layer
			if l, err = r.list(v.Value); err == nil {
				seq = l.(*Sequential)
			}
		case "residual.body":
			res.Body, err = r.list(v.Value)
		case "residual.shortcut":
			res.Shortcut, err = r.list(v.Value)
		case "concat.inputs":
			if err = yaml.NodeToValue(v.Value, &cat.Inputs, yaml.Strict()); err != nil {
				err = at(v.Value, "expected a list of shapes such as [[1, 28, 28], [5]]")
			}
		case "concat.branches":
			branches, ok := v.Value.(*ast.SequenceNode)
			if !ok {
				return nil, at(v.Value, "expected a list of lists of layers")
			}
			for _, n := range branches.Values {
				l, err := r.list(n)
				if err != nil {
					return nil, err
				}
				cat.Branches = append(cat.Branches, l)
			}
		default:
			return nil, at(v.Key, "%s has no key %q", kind, key(v))
		}
		if err != nil {
			return nil, err
		}
	}
	switch {
	case kind == "concat":
		return cat, nil
	case kind == "sequential" && seq != nil:
		return seq, nil
	case kind == "residual" && res.Body != nil:
		return res, nil
	}
	return nil, fmt.Errorf("layers: %s without layers", kind)
}
