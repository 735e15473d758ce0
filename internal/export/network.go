package export

import (
	"math"
	"slices"

	"credence/internal/onnx"
	"credence/nn"
)

// value is a tensor of a network with the shape of one item.
type value struct {
	name  string
	shape []int
}

// network adds a network with the inputs x, and returns its outputs [N, out].
func (b *builder) network(net *nn.Network, x string) (string, error) {
	list, err := net.Ops()
	if err != nil {
		return "", refused("%v: the network", err)
	}
	y, err := b.layers(list, value{x, net.In})
	if err != nil {
		return "", err
	}
	return b.as(y, net.Out.Size()), nil
}

// as returns a value with another shape of an item.
func (b *builder) as(x value, shape ...int) string {
	if slices.Equal(x.shape, shape) {
		return x.name
	}
	return b.reshape(x.name, shape...)
}

// layers adds operations that follow each other.
func (b *builder) layers(list []nn.Op, x value) (value, error) {
	var err error
	for i := range list {
		if x, err = b.layer(&list[i], x); err != nil {
			return x, err
		}
	}
	return x, nil
}

// layer adds one operation.
func (b *builder) layer(op *nn.Op, x value) (value, error) {
	flat := []int{op.Out}
	switch op.Kind {
	case nn.OpConv:
		return b.conv(op, x), nil
	case nn.OpDense:
		in := []string{b.as(x, op.In), b.param(op.Weight)}
		if op.Bias != nil {
			in = append(in, b.param(op.Bias))
		}
		return b.activation(op.Act, value{b.AddWith("Gemm", []onnx.Attr{{Name: "transB", Value: 1}}, in...), flat}), nil
	case nn.OpActivation:
		return b.activation(op.Act, x), nil
	case nn.OpPool:
		return b.pool(op.Pool, op.Max, x), nil
	case nn.OpGlobalPool:
		reduce := "ReduceMean"
		if op.Max {
			reduce = "ReduceMax"
		}
		attrs := []onnx.Attr{{Name: "axes", Value: []int{2}}, {Name: "keepdims", Value: 0}}
		return value{b.AddWith(reduce, attrs, b.as(x, op.Channels, op.In/op.Channels)), flat}, nil
	case nn.OpBatchNorm:
		if x.shape[0] != op.Channels {
			x = value{b.as(x, op.Channels, op.In/op.Channels), []int{op.Channels, op.In / op.Channels}}
		}
		y := b.AddWith("BatchNormalization", []onnx.Attr{{Name: "epsilon", Value: float32(op.Epsilon)}},
			x.name, b.param(op.Weight), b.param(op.Bias), b.param(op.Mean), b.param(op.Variance))
		return value{y, x.shape}, nil
	case nn.OpLayerNorm:
		attrs := []onnx.Attr{{Name: "axis", Value: 1}, {Name: "epsilon", Value: float32(op.Epsilon)}}
		y := b.AddWith("LayerNormalization", attrs, b.as(x, op.In), b.param(op.Weight), b.param(op.Bias))
		return value{b.as(value{y, []int{op.In}}, x.shape...), x.shape}, nil
	case nn.OpDropout:
		return x, nil
	case nn.OpEmbedding:
		return value{b.embedding(op, b.as(x, op.In)), flat}, nil
	case nn.OpResidual, nn.OpConcat:
		return b.branches(op, x)
	}
	return x, refused("operation %d of a network", op.Kind)
}

// param adds a tensor of a network.
func (b *builder) param(p *nn.Param) string { return b.Floats(p.Value, p.Shape...) }

// activation adds an elementwise function.
func (b *builder) activation(act nn.Activation, x value) value {
	y := x.name
	switch act {
	case nn.ActReLU:
		y = b.Add("Relu", y)
	case nn.ActTanh:
		y = b.Add("Tanh", y)
	case nn.ActSigmoid:
		y = b.Add("Sigmoid", y)
	case nn.ActGELU: // x Φ(x) = x (1 + erf(x/√2))/2
		erf := b.Add("Erf", b.mul(y, b.Floats([]float32{math.Sqrt2 / 2})))
		y = b.mul(b.mul(y, b.Floats([]float32{0.5})), b.add(erf, b.Floats([]float32{1})))
	}
	return value{y, x.shape}
}

// conv adds a convolution, and the pool and activation that follow it.
func (b *builder) conv(op *nn.Op, x value) value {
	s := op.Conv
	from := first(s.Size, s.Kernel, s.Pad)
	in := []string{b.as(x, append([]int{s.In}, s.Size[from:]...)...),
		b.Floats(op.Weight.Value, append([]int{s.Out, s.In}, s.Kernel[from:]...)...)}
	if op.Bias != nil {
		in = append(in, b.param(op.Bias))
	}
	y := b.AddWith("Conv", []onnx.Attr{
		{Name: "kernel_shape", Value: slices.Clone(s.Kernel[from:])}, {Name: "strides", Value: slices.Clone(s.Stride[from:])},
		{Name: "dilations", Value: slices.Clone(s.Dilation[from:])}, {Name: "pads", Value: slices.Repeat(s.Pad[from:], 2)},
	}, in...)
	out := s.OutSize()
	z := value{y, append([]int{s.Out}, out[from:]...)}
	if op.Pool.Window[0] > 0 {
		z = b.pool(op.Pool, true, z)
	}
	return b.activation(op.Act, z)
}

// first returns the first spatial dimension of a layer with the given input, windows and padding: images have no depth.
func first(size, window, pad [3]int) int {
	if size[0] == 1 && window[0] == 1 && pad[0] == 0 {
		return 1
	}
	return 0
}

// pool adds a pooling layer.
func (b *builder) pool(s nn.PoolShape, largest bool, x value) value {
	out, from := s.OutSize(), first(s.Size, s.Window, s.Pad)
	attrs := []onnx.Attr{{Name: "kernel_shape", Value: slices.Clone(s.Window[from:])},
		{Name: "strides", Value: slices.Clone(s.Stride[from:])}, {Name: "pads", Value: slices.Repeat(s.Pad[from:], 2)}}
	op := "MaxPool"
	if !largest {
		op = "AveragePool"
		attrs = append(attrs, onnx.Attr{Name: "count_include_pad", Value: 1})
	}
	return value{b.AddWith(op, attrs, b.as(x, append([]int{s.Channels}, s.Size[from:]...)...)), append([]int{s.Channels}, out[from:]...)}
}

// embedding returns the rows of a table for codes x [N, F]; those that are out of range or missing have a row of zeros.
func (b *builder) embedding(op *nn.Op, x string) string {
	rows := len(op.Weight.Value) / op.Width
	starts, sizes := make([]float32, len(op.Sizes)), make([]float32, len(op.Sizes))
	at := 0
	for f, n := range op.Sizes {
		starts[f], sizes[f] = float32(at), float32(n)
		at += n
	}
	known := b.Add("And", b.Add("GreaterOrEqual", x, b.Floats([]float32{0})), b.Add("Less", x, b.Floats(sizes, len(sizes))))
	row := b.Add("Where", known, b.add(b.Add("Floor", x), b.Floats(starts, len(starts))), b.Floats([]float32{float32(rows)}))
	table := b.Floats(append(slices.Clone(op.Weight.Value), make([]float32, op.Width)...), rows+1, op.Width)
	return b.reshape(b.Add("Gather", table, b.cast(row, onnx.Int64)), op.Out)
}

// branches adds the branches of a layer and joins their outputs.
func (b *builder) branches(op *nn.Op, x value) (value, error) {
	var outs []string
	shape := []int{op.Out}
	for i, list := range op.Branches {
		in := x
		if op.Kind == nn.OpConcat && op.Places[i].In < op.In {
			p := op.Places[i]
			in = value{b.slice(b.as(x, op.In), 1, p.At, p.At+p.In), []int{p.In}}
		}
		y, err := b.layers(list, in)
		if err != nil {
			return y, err
		}
		if op.Kind == nn.OpConcat {
			outs = append(outs, b.as(y, op.Places[i].Out))
			continue
		}
		if i == 0 {
			shape = y.shape
		}
		outs = append(outs, b.as(y, shape...))
	}
	if op.Kind == nn.OpConcat {
		return value{b.concat(1, outs), shape}, nil
	}
	return value{b.add(outs[0], outs[1]), shape}, nil
}
