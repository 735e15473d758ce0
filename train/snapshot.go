package train

import "credence/nn"

// snapshot is a copy of a network's parameters and states.
type snapshot struct {
	values []float32
	states [][]float32
}

func (s *snapshot) take(net *nn.Network) {
	s.values = append(s.values[:0], net.Values...)
	if s.states == nil {
		s.states = make([][]float32, len(net.States))
	}
	for i, p := range net.States {
		s.states[i] = append(s.states[i][:0], p.Value...)
	}
}

func (s *snapshot) restore(net *nn.Network) {
	copy(net.Values, s.values)
	for i, p := range net.States {
		copy(p.Value, s.states[i])
	}
}
