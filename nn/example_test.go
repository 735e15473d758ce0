package nn_test

import (
	"fmt"

	"credence/nn"
)

func ExampleNew() {
	net, err := nn.New(nn.Seq(
		&nn.Conv{Out: 6, Kernel: nn.Ints{5}, Pad: nn.Ints{2}}, &nn.ReLU{}, &nn.MaxPool{Size: nn.Ints{2}},
		&nn.Flatten{}, &nn.Dense{Out: 10},
	), nn.Shape{1, 28, 28}, nn.Options{Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	session, err := net.NewSession(3)
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := session.Forward(make([]float32, 3*28*28), nn.Pass{})
	fmt.Println(net.Size(), "parameters,", len(out), "outputs of 3 images", err)

	_, err = nn.New(nn.Seq(&nn.ReLU{}, &nn.Dense{Out: 10}), nn.Shape{1, 28, 28}, nn.Options{})
	fmt.Println(err)
	// Output:
	// 11926 parameters, 30 outputs of 3 images <nil>
	// layer 1 (dense): expected a flat input, found 1×28×28: put a flatten before it
}

func ExampleParse() {
	root, err := nn.Parse([]byte(`
- {type: conv2d, out: 8, kernel: 3, pad: 1}
- type: relu
- {type: globalpool}
- type: dense
`), 9)
	if err != nil {
		fmt.Println(err)
		return
	}
	net, err := nn.New(root, nn.Shape{3, 32, 32}, nn.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(net.In, "to", net.Out)

	_, err = nn.Parse([]byte("- {type: dense, units: 9}"), 9)
	fmt.Println(err)
	// Output:
	// 3×32×32 to 9
	// layers: line 1, column 17: dense has no key "units"; it has [out in nobias]
}
