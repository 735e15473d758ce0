package dataset

import "slices"

// Blocks describes the network input as [Transform.Inputs] does, with the numbers
// cut where vectors begin and end, in order: each vector of a tensor is a Dense
// block under its own name, and the columns between vectors are one called "table".
func (t *Transform) Blocks() []Input {
	inputs := t.Inputs()
	if len(inputs) == 0 || inputs[0].Kind != Dense {
		return inputs
	}
	var blocks []Input
	at, features := 0, inputs[0].Features
	add := func(name string, width int) {
		if n := len(blocks); n > 0 && name == tableBlock && blocks[n-1].Name == tableBlock {
			blocks[n-1].Width += width
			blocks[n-1].Features = features[blocks[n-1].Offset : at+width]
		} else {
			blocks = append(blocks, Input{Name: name, Kind: Dense, Offset: at, Width: width, Features: features[at : at+width]})
		}
		at += width
	}
	for i := range t.parts {
		switch p := &t.parts[i]; {
		case p.input() != Dense:
		case p.Kind == Tensor:
			add(p.Name, p.width())
			blocks[len(blocks)-1].Shape = slices.Clone(p.Shape)
		default:
			add(tableBlock, p.width())
		}
	}
	return append(blocks, inputs[1:]...)
}

// tableBlock is the name of a block of columns.
const tableBlock = "table"
