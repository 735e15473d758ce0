package nn

// Bind, Forward, Sample and Backward run the network in a session of its own, for
// one caller at a time.

// Bind allocates buffers for batches of up to the given number of items.
func (n *Network) Bind(batch int) {
	s, err := n.NewSession(batch)
	if err != nil {
		panic(err)
	}
	n.own = s
}

// Forward returns the outputs [N, Out] for the inputs x [N, In].
func (n *Network) Forward(x []float32, train bool, at Step) []float32 {
	return n.run(x, Pass{Train: train, At: at})
}

// Sample is Forward for prediction with dropout on.
func (n *Network) Sample(x []float32, keys []uint64, at Step) []float32 {
	return n.run(x, Pass{At: at, Sample: keys})
}

func (n *Network) run(x []float32, p Pass) []float32 {
	if n.own == nil {
		n.Bind(1)
	}
	y, err := n.own.Forward(x, p)
	if err != nil {
		panic(err)
	}
	return y
}

// Backward sets Grads.
func (n *Network) Backward(dx, dy []float32) {
	if err := n.own.Backward(dx, dy); err != nil {
		panic(err)
	}
}
