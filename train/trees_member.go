package train

import (
	"fmt"

	"credence/dataset"
	"credence/internal/safetensors"
	"credence/tree"
)

// outputs returns the vectors of a forest next to its trees.
func (f *forest) outputs() []safetensors.Tensor {
	list := []safetensors.Tensor{vector("forest.held", f.held)}
	if f.cross != nil {
		list = append(list, vector("forest.cross", f.cross.kept))
	}
	return list
}

// trained returns the tensors of a forest for the result of a member. A nil forest has none.
func (f *forest) trained() []safetensors.Tensor {
	if f == nil {
		return nil
	}
	list := f.outputs()
	for _, a := range f.Arrays() {
		a.Name = "forest." + a.Name
		list = append(list, safetensors.Tensor(a))
	}
	return list
}

// takeForest returns the forest of a run that another process has trained.
func (r *run) takeForest(t *trainedRun) (*forest, error) {
	f := r.newForest()
	f.held = make([]float32, len(r.held)*len(r.in.ds.Classes))
	if name := fill(f.outputs(), t.tensors); name != "" {
		return nil, fmt.Errorf("tensor %q of its result is missing or of another size", name)
	}
	var err error
	f.Forest, err = tree.FromArrays(r.transform.Columns(), len(r.in.ds.Classes), func(name string) *dataset.Array {
		return (*dataset.Array)(t.tensors["forest."+name])
	})
	return f, err
}
