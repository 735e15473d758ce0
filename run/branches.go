package run

import (
	"encoding/json"
	"fmt"

	"credence/model"
	"credence/nn"
)

// Branch is a part of a network that sees some of the features.
type Branch struct {
	Features []string `json:"features"` // names of columns' blocks, vectors, images and volumes
	Shape    []int    `json:"shape"`    // of what it takes
	Layers   []string `json:"layers"`   // in order: "dense 64", "relu"
}

// branchesOf describes the branches that the networks of a model begin with; nil if
// there is one path for all features.
func branchesOf(m *model.Model) []Branch {
	root, ok := m.Members[0].Layers().(*nn.Sequential)
	if !ok || len(root.Layers) == 0 {
		return nil
	}
	c, ok := root.Layers[0].(*nn.Concat)
	if !ok || len(c.Inputs) < 2 {
		return nil
	}
	blocks := m.Transform.Blocks()
	var list []Branch
	at := 0
	for i, shape := range c.Inputs {
		b := Branch{Shape: shape, Layers: layerNames(c.Branches[i])}
		for _, in := range blocks {
			if in.Offset < at+shape.Size() && at < in.Offset+in.Width {
				b.Features = append(b.Features, in.Name)
			}
		}
		at += shape.Size()
		list = append(list, b)
	}
	return list
}

// layerNames lists the layers of a branch, with their widths where they have one.
func layerNames(l nn.Layer) []string {
	names := []string{}
	switch l := l.(type) {
	case *nn.Sequential:
		for _, one := range l.Layers {
			names = append(names, layerNames(one)...)
		}
		return names
	case *nn.Dense:
		return []string{fmt.Sprint("dense ", l.Out)}
	case *nn.Conv:
		return []string{fmt.Sprint("conv ", l.Out)}
	case *nn.Embedding:
		return []string{fmt.Sprint("embedding ", l.Width)}
	case *nn.Dropout:
		return []string{fmt.Sprint("dropout ", l.Rate)}
	}
	var list []struct{ Type string }
	if text, err := nn.Describe(l); err == nil && json.Unmarshal(text, &list) == nil && len(list) == 1 {
		return []string{list[0].Type}
	}
	return names
}
