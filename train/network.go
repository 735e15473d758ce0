package train

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"credence/dataset"
	"credence/head"
	"credence/nn"
)

// defaultNetwork is the name of the network that suits the inputs: the largest
// image or volume decides.
func defaultNetwork(t *dataset.Transform) string {
	for _, dims := range []int{3, 2} {
		for _, in := range gridInputs(t) {
			if name := gridNetwork(in.Shape); len(in.Shape) == dims+1 && name != "mlp" {
				return name
			}
		}
	}
	return "mlp"
}

// gridInputs are the images and volumes among the inputs.
func gridInputs(t *dataset.Transform) []dataset.Input {
	return slices.DeleteFunc(slices.Clone(t.Inputs()), func(in dataset.Input) bool { return in.Kind != dataset.Grid })
}

// gridNetwork is the name of the network that suits an image or a volume.
func gridNetwork(shape []int) string {
	dims, side := len(shape)-1, slices.Min(shape[1:])
	switch {
	case dims == 3 && side >= 24:
		return "cnn3d"
	case dims == 2 && shape[0] == 1 && side >= 16 && slices.Max(shape[1:]) <= 40:
		return "lenet5"
	case dims == 2 && side >= 8:
		return "cnn2d"
	}
	return "mlp"
}

// layers returns the layers of a network for what t gives, with so many outputs.
func layers(o *Options, traits head.Traits, t *dataset.Transform, outputs int) (nn.Layer, error) {
	root, err := tree(o, traits, t, outputs)
	if err != nil {
		return nil, fmt.Errorf("network: %w", err)
	}
	text, err := nn.Describe(root) // also for what could not be saved
	if err == nil && traits.Passes > 0 && !bytes.Contains(text, []byte(`"type":"dropout"`)) {
		return nil, fmt.Errorf("network: method %s needs layers of type dropout, found none", o.Head.Name())
	}
	return nn.Complete(root, outputs), err
}

func tree(o *Options, traits head.Traits, t *dataset.Transform, outputs int) (nn.Layer, error) {
	if o.Layers != nil {
		return o.Layers, nil
	}
	if strings.ContainsAny(o.Network, "[-\n{") || strings.Contains(o.Network, "type:") { // a list of layers
		return nn.Parse([]byte(o.Network), outputs)
	}
	inputs := t.Inputs()
	if err := suits(o.Network, inputs); err != nil {
		return nil, err
	}
	if len(inputs) == 1 && inputs[0].Kind == dataset.Grid && o.Network != "mlp" {
		return grid(o, traits, o.Network, inputs[0].Shape, outputs)
	}
	widths := o.Widths
	if o.Network != "mlp" || len(widths) == 0 {
		widths = []int{64, 64}
	}
	blocks := t.Blocks()
	vectors := len(blocks) > 1 && slices.ContainsFunc(blocks, isVector)
	if !vectors {
		blocks = inputs
	}
	first, err := front(o, traits, blocks, vectors, widths[0])
	if err != nil {
		return nil, err
	}
	if vectors && o.Network == "mlp" && len(widths) > 1 {
		widths = widths[1:] // the first is that of the vectors
	}
	return nn.Seq(append(first, hidden(widths, outputs, o.Dropout)...)...), nil
}

// gridDims are the spatial dimensions of what a named network takes; mlp takes
// anything.
var gridDims = map[string]int{"mlp": 0, "lenet5": 2, "cnn2d": 2, "resnet": 2, "cnn3d": 3}

// suits refuses names that no network has, or whose network needs an image or
// volume that is not there.
func suits(name string, inputs []dataset.Input) error {
	dims, known := gridDims[name]
	if !known {
		return fmt.Errorf("%q is not one of [%s], nor a list of layers", name, strings.Join(nn.Names, " "))
	}
	for _, in := range inputs {
		if dims == 0 || in.Kind == dataset.Grid && len(in.Shape) == dims+1 {
			return nil
		}
	}
	return fmt.Errorf("%s takes items with %d spatial dimensions: the features have none such", name, dims)
}

// hidden are dense layers with ReLU and dropout, then the outputs.
func hidden(widths []int, outputs int, rate float64) []nn.Layer {
	var list []nn.Layer
	for _, w := range widths {
		list = append(append(list, &nn.Dense{Out: w}, &nn.ReLU{}), dropout(rate)...)
	}
	return append(list, &nn.Dense{Out: outputs})
}

// leastVector is how many numbers a vector has to have for a branch of its own; those of
// fewer are columns like others.
const leastVector = 16

// isVector reports whether a block is a vector, such as an embedding.
func isVector(in dataset.Input) bool {
	return in.Kind == dataset.Dense && in.Shape != nil && in.Width >= leastVector
}

// front brings the blocks of the input to one vector: numbers as they are, codes by embeddings,
// images and volumes by a network of their own.
//
// A table next to a vector of hundreds of numbers would be lost if all went into one layer,
// and left out with them by the dropout that so many numbers need. So a vector has a layer
// of its own with the given width, normalized to the scale of the standardized columns; these, and
// the logits of texts, go on as they are.
//
// On 1,000 photographs with features of 512 numbers, the loss per held-out vote was 0.687
// by the features alone; with five columns of noise beside them 0.683, in one layer and in
// branches; with what another person said, 0.676 in one layer and 0.658 in branches (means of
// three seeds).
func front(o *Options, traits head.Traits, blocks []dataset.Input, vectors bool, width int) ([]nn.Layer, error) {
	if len(blocks) == 1 && blocks[0].Kind == dataset.Dense {
		return dropout(o.InputDropout), nil
	}
	if len(blocks) == 1 && blocks[0].Kind == dataset.Grid {
		return []nn.Layer{&nn.Flatten{}}, nil
	}
	c := &nn.Concat{}
	numbers := 0
	for _, in := range blocks {
		if in.Kind == dataset.Dense {
			numbers += in.Width
		}
	}
	for _, in := range blocks {
		rate := o.InputDropout
		switch {
		case vectors && isVector(in):
			layers := append(dropout(rate), &nn.Dense{Out: width}, &nn.LayerNorm{}, &nn.ReLU{})
			addBranch(c, nn.Shape{in.Width}, append(layers, dropout(o.Dropout)...)...)
		case in.Kind == dataset.Dense:
			// As much as the columns are of all numbers, of which there are too many.
			if share := round(rate * float64(in.Width) / float64(numbers)); vectors && share >= 0.1 {
				rate = share
			} else if vectors {
				rate = 0
			}
			addBranch(c, nn.Shape{in.Width}, dropout(rate)...)
		default:
			if err := branch(c, o, traits, in); err != nil {
				return nil, err
			}
		}
	}
	return []nn.Layer{c}, nil
}

// branch adds that of a column of codes, an image or a volume.
func branch(c *nn.Concat, o *Options, traits head.Traits, in dataset.Input) error {
	if in.Kind == dataset.Codes {
		width := min(16, int(math.Ceil(math.Sqrt(float64(in.Levels)))))
		addBranch(c, nn.Shape{1}, &nn.Embedding{Sizes: nn.Ints{in.Levels}, Width: width})
		return nil
	}
	name := o.Network
	if name != "mlp" && gridDims[name] != len(in.Shape)-1 {
		name = gridNetwork(in.Shape) // an image beside a volume
	}
	layer, err := grid(o, traits, name, in.Shape, 64)
	if err != nil {
		return fmt.Errorf("%s: %w", in.Name, err)
	}
	addBranch(c, in.Shape, layer, &nn.ReLU{})
	return nil
}

// grid is the network of that name for one image or volume.
func grid(o *Options, traits head.Traits, name string, shape nn.Shape, outputs int) (nn.Layer, error) {
	var widths []int
	if name == o.Network {
		widths = o.Widths
	}
	if name == "mlp" {
		return nn.ByName("mlp", shape, outputs, widths...)
	}
	var stem []nn.Layer
	if name == "resnet" || name == "cnn2d" {
		if slices.Max(shape[1:]) > 64 {
			stem, shape = quarter(shape)
		}
	} else {
		widths = nil
	}
	net, err := nn.ByName(name, shape, outputs, widths...)
	if err != nil {
		return nil, err
	}
	if s, ok := net.(*nn.Sequential); ok && traits.Passes > 0 {
		// Before the last layer, as in the convolutional networks of Gal and
		// Ghahramani (2016).
		s.Layers = slices.Insert(s.Layers, len(s.Layers)-1, nn.Layer(&nn.Dropout{Rate: o.Dropout}))
	}
	if stem == nil {
		return net, nil
	}
	return nn.Seq(append(stem, net)...), nil
}

// quarter are layers that reduce a large image to a quarter of its height and
// width, and the shape they give. A side of one pixel stays.
func quarter(shape nn.Shape) ([]nn.Layer, nn.Shape) {
	const channels = 16
	h, w := (shape[1]+1)/2, (shape[2]+1)/2
	window := nn.Ints{2}
	if h < 2 || w < 2 {
		window = nn.Ints{min(h, 2), min(w, 2)}
	}
	return []nn.Layer{
		&nn.Conv{Out: channels, Kernel: nn.Ints{5}, Stride: nn.Ints{2}, Pad: nn.Ints{2}}, &nn.ReLU{}, &nn.MaxPool{Size: window},
	}, nn.Shape{channels, h / min(h, 2), w / min(w, 2)}
}

// addBranch adds one that takes a shape.
func addBranch(c *nn.Concat, in nn.Shape, layers ...nn.Layer) {
	c.Inputs, c.Branches = append(c.Inputs, in), append(c.Branches, nn.Seq(layers...))
}

// dropout is a layer of that rate, or none.
func dropout(rate float64) []nn.Layer {
	if rate <= 0 {
		return nil
	}
	return []nn.Layer{&nn.Dropout{Rate: rate}}
}

// paceImages chooses how cnn2d learns from n items. The learning rate falls to
// nothing over a number of epochs that is fixed beforehand, so that the time a
// fit takes is known once its first epoch is done; docs/performance.md has what
// was measured.
//
// Batch norm bears a high rate, the higher the more items are averaged over.
// Shifts by a sixteenth of the shorter side help, and do no harm where left and
// right differ, as flips would.
func (o *Options) paceImages(n int, t *dataset.Transform) {
	o.Rate = cmp.Or(o.Rate, math.Round(1000*min(0.01, 0.005*math.Sqrt(float64(o.Batch)/16)))/1000)
	o.Schedule = cmp.Or(o.Schedule, "cosine")
	o.Epochs = cmp.Or(o.Epochs, imageEpochs(n))
	o.Patience = cmp.Or(o.Patience, max(5, o.Epochs/2))
	if o.Augment == (Augment{}) {
		for _, in := range gridInputs(t) {
			if len(in.Shape) == 3 {
				o.Augment.Shift = max(o.Augment.Shift, slices.Min(in.Shape[1:])/16)
			}
		}
	}
}

// imageEpochs is 20, more of them where an epoch has few steps, fewer where a
// few epochs have many; between 10 and 60.
func imageEpochs(n int) int {
	epochs := 20.0
	switch {
	case n < 2000:
		epochs *= math.Sqrt(2000 / float64(n))
	case n > 10000:
		epochs *= math.Sqrt(10000 / float64(n))
	}
	return int(min(60, max(10, math.Round(epochs))))
}
