package nn_test

import (
	"fmt"

	"credence/nn"
)

// scale is a layer of one's own: y = s·x with a trained s, 2 at the start.
type scale struct{ s *nn.Param }

// Build tells the shape of the outputs and asks for parameters.
func (l *scale) Build(b *nn.Builder, in nn.Shape) (nn.Shape, error) {
	l.s = b.Const("scale", nn.Shape{1}, 2)
	return in, nil
}

func (l *scale) Forward(_ *nn.Pass, y, x []float32) {
	for i, v := range x {
		y[i] = l.s.Value[0] * v
	}
}

// Backward has the gradient dy of the outputs; dx is nil where nobody asks for
// that of the inputs.
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
