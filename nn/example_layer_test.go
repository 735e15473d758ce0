package nn_test

import (
	"fmt"

	"credence/nn"
)

// scale is a custom layer: y = s·x with a trained s, 2 at the start.
type scale struct{ s *nn.Param }

// Build returns the shape of the outputs and declares parameters.
func (l *scale) Build(b *nn.Builder, in nn.Shape) (nn.Shape, error) {
	l.s = b.Const("scale", nn.Shape{1}, 2)
	return in, nil
}

func (l *scale) Forward(_ *nn.Pass, y, x []float32) {
	for i, v := range x {
		y[i] = l.s.Value[0] * v
	}
}

// Backward gets the gradient dy of the outputs; dx is nil where the gradient of
// the inputs is not needed.
func (l *scale) Backward(_ *nn.Pass, dx, dy, _, x []float32) {
	l.s.Grad[0] = 0
	for i, g := range dy {
		l.s.Grad[0] += g * x[i]
		if dx != nil {
			dx[i] = l.s.Value[0] * g
		}
	}
}

// A layer is a type with three methods.
func ExampleLayer() {
	net, err := nn.New(nn.Seq(&scale{}, &nn.ReLU{}), nn.Shape{3}, nn.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	session, err := net.NewSession(1)
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := session.Forward([]float32{-1, 0.5, 3}, nn.Pass{})
	fmt.Println(out, net.Params[0].Name, err)
	// Output: [0 1 6] 0.scale <nil>
}

// half is a custom container: y = ½·(x + Inner(x)).
type half struct {
	Inner nn.Layer

	inner nn.Layer // the copy of Inner that this session works with
	y, dy []float32
}

// Build builds the layer inside, and asks for buffers: those of the backward pass
// are there only in training.
func (l *half) Build(b *nn.Builder, in nn.Shape) (out nn.Shape, err error) {
	if l.inner, out, err = b.Child("inner", l.Inner, in); err != nil {
		return nil, err
	}
	if out.Size() != in.Size() {
		return nil, fmt.Errorf("expected %v values from the layer inside, got %v", in, out)
	}
	b.OnForward(func(batch int) { l.y = make([]float32, batch*in.Size()) })
	b.OnBackward(func(batch int) { l.dy = make([]float32, batch*in.Size()) })
	return out, nil
}

func (l *half) Forward(p *nn.Pass, y, x []float32) {
	inner := l.y[:len(y)]
	l.inner.Forward(p, inner, x)
	for i, v := range inner {
		y[i] = 0.5 * (x[i] + v)
	}
}

func (l *half) Backward(p *nn.Pass, dx, dy, _, x []float32) {
	inner := l.dy[:len(dy)]
	for i, g := range dy {
		inner[i] = 0.5 * g
	}
	l.inner.Backward(p, dx, inner, l.y[:len(dy)], x)
	for i := range dx {
		dx[i] += 0.5 * dy[i]
	}
}

// A container builds what it holds. Sessions share the network's weights and
// nothing else.
func ExampleNetwork_NewSession() {
	net, err := nn.New(nn.Seq(&half{Inner: &scale{}}, &nn.Residual{Body: &scale{}}, &nn.GlobalPool{}), nn.Shape{1, 2}, nn.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		var session *nn.Session
		if session, err = net.NewSession(1); err != nil {
			fmt.Println(err)
			return
		}
		out, err := session.Forward([]float32{2, 4}, nn.Pass{Cores: 1})
		if err == nil {
			err = session.Backward(nil, []float32{1})
		}
		fmt.Println(out, net.Params[0].Name, net.Params[0].Grad, err)
	}
	// Output:
	// [13.5] 0.inner.scale [4.5] <nil>
	// [13.5] 0.inner.scale [4.5] <nil>
}
