package model

import (
	"math"

	"credence/head"
	"credence/nn"
)

// Answers returns what networks with the given head together say of the items with inputs
// x [N, width].
func Answers(h head.Head, members []*Member, x []float32) ([]head.Answer, error) {
	n := len(x) / members[0].Net.In.Size()
	return head.Decode(h, raw(members, x, n, h.Traits().Passes), n)
}

// raw returns the outputs of each member, or of each of so many passes with dropout on.
func raw(members []*Member, x []float32, n, passes int) []head.Output {
	var outputs []head.Output
	add := func(m *Member, out []float32) {
		o := head.Output{Raw: append([]float32(nil), out...)}
		for _, p := range m.Net.Own {
			o.Own = append(o.Own, p.Value)
		}
		outputs = append(outputs, o)
	}
	if passes == 0 {
		for _, m := range members {
			add(m, m.Net.Forward(x, false, nn.Step{}))
		}
		return outputs
	}
	keys := make([]uint64, n)
	width := len(x) / max(1, n)
	for j := range keys {
		keys[j] = contentKey(x[j*width : (j+1)*width])
	}
	for i, m := range members {
		for pass := range passes {
			add(m, m.Net.Sample(x, keys, nn.Step{Member: uint64(i), Step: uint64(pass)}))
		}
	}
	return outputs
}

// contentKey is a number for the content of an item, FNV-1a of its bits, so that
// equal inputs lose the same units to dropout wherever they stand.
func contentKey(x []float32) uint64 {
	key := uint64(14695981039346656037)
	for _, v := range x {
		key = (key ^ uint64(math.Float32bits(v))) * 1099511628211
	}
	return key
}
