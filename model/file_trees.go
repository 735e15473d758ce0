package model

import (
	"encoding/json"
	"fmt"

	"credence/dataset"
	"credence/internal/safetensors"
	"credence/tree"
)

// treeTensor is the name of an array of a forest in the file.
func treeTensor(member int, name string) string { return fmt.Sprintf("trees%d.%s", member, name) }

// encodeTrees returns the tensors of all forests.
func encodeTrees(b *tree.Blend) []safetensors.Tensor {
	var list []safetensors.Tensor
	if b != nil {
		for i, f := range b.Forests {
			for _, a := range f.Arrays() {
				a.Name = treeTensor(i, a.Name)
				list = append(list, safetensors.Tensor(a))
			}
		}
	}
	return list
}

// readTrees sets the trees of a model with the given share from tensors, and removes those that it uses.
func (m *Model) readTrees(share string, tensors map[string]*safetensors.Tensor) error {
	if share == "" {
		return nil
	}
	m.Trees = &tree.Blend{}
	if err := json.Unmarshal([]byte(share), &m.Trees.Share); err != nil {
		return fmt.Errorf("%s: %w", keyTrees, err)
	}
	columns := m.Transform.Columns()
	for i := range m.Members {
		f, err := tree.FromArrays(columns, len(m.Classes), func(name string) *dataset.Array {
			t := tensors[treeTensor(i, name)]
			delete(tensors, treeTensor(i, name))
			return (*dataset.Array)(t)
		})
		if err != nil {
			return fmt.Errorf("forest %d: %w", i, err)
		}
		m.Trees.Forests = append(m.Trees.Forests, f)
	}
	return nil
}
