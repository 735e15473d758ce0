package backbone

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"credence/internal/onnxruntime"
	"credence/internal/words"
)

// Settings describe how items become vectors. Those of a trained model are complete; in options, zero values stand for
// what the files next to the graph say, or else for defaults.
type Settings struct {
	Name   string // of the file, or of its folder
	SHA256 string // of the file
	Items  string // Images or Texts
	Output string // name of the output that is used
	Pool   string // how an output with several vectors becomes one

	// Of images, in the order in which they are applied.
	Resize []int     // nothing, the length of the shorter side, or height and width
	Crop   []int     // height and width around the center; nothing if the image is not cropped
	Filter string    // of resizing
	Scale  float64   // factor of pixels from 0 to 255
	Mean   []float64 // of red, green and blue, subtracted after scaling
	SD     []float64 // divides the difference
	Layout string    // order of the axes

	// Of texts.
	Tokenizer string // SHA-256 of tokenizer.json
	Tokens    int    // largest number of tokens
}

// The kinds of items.
const (
	Images = "images"
	Texts  = "texts"
)

// The values of Pool.
const (
	None  = "none"  // the output is the vector
	Mean  = "mean"  // of all positions
	First = "first" // the vector of the first position
	Max   = "max"   // the largest value over all positions
)

// Pools are the values of Pool, Layouts those of Layout.
var (
	Pools   = []string{None, Mean, First, Max}
	Layouts = []string{"NCHW", "NHWC"}
)

// The mean and standard deviation of the photographs of ImageNet, with which most networks for images were trained.
var imageNet = [2][]float64{{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}}

// String describes the settings in a line, without the hash.
func (s *Settings) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: output %q", s.Name, s.Output)
	switch s.Pool {
	case Mean:
		b.WriteString(", mean over its positions")
	case First:
		b.WriteString(", its first position")
	case Max:
		b.WriteString(", largest value over its positions")
	}
	if s.Items == Texts {
		fmt.Fprintf(&b, "; texts of at most %s", words.Plural(s.Tokens, "token"))
		return b.String()
	}
	b.WriteString("; images")
	var steps []string
	switch len(s.Resize) {
	case 1:
		steps = append(steps, fmt.Sprintf(" resized to %d pixels on the shorter side (%s)", s.Resize[0], s.Filter))
	case 2:
		steps = append(steps, fmt.Sprintf(" resized to %s pixels (%s)", words.Shape(s.Resize), s.Filter))
	}
	if len(s.Crop) > 0 {
		steps = append(steps, " cropped to "+words.Shape(s.Crop))
	}
	steps = append(steps, fmt.Sprintf(" scaled by %.4g, mean %s, sd %s, %s", s.Scale, numbers(s.Mean), numbers(s.SD), s.Layout))
	b.WriteString(strings.Join(steps, ","))
	return b.String()
}

func numbers(list []float64) string {
	return strings.Join(words.Each(list, func(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }), "/")
}

// complete sets what is not given from the graph and from the files next to it.
func (s Settings) complete(g onnxruntime.Graph, f *files) (Settings, error) {
	if len(g.Inputs) == 0 || len(g.Outputs) == 0 {
		return s, fmt.Errorf("expected a graph with inputs and outputs, found %d and %d", len(g.Inputs), len(g.Outputs))
	}
	if slices.ContainsFunc(g.Inputs, func(v onnxruntime.Value) bool { return v.Name == "input_ids" }) {
		return s.completeTexts(g, f)
	}
	return s.completeImages(g, f)
}

// completeOutput chooses the output and how it is pooled. tokens is the default for an output with a vector per position.
func (s *Settings) completeOutput(g onnxruntime.Graph, preferred []string, tokens string) error {
	names := words.Each(g.Outputs, func(v onnxruntime.Value) string { return v.Name })
	for _, name := range preferred {
		if s.Output == "" && slices.Contains(names, name) {
			s.Output = name
		}
	}
	if s.Output == "" {
		s.Output = names[0]
	}
	i := slices.Index(names, s.Output)
	if i < 0 {
		return fmt.Errorf("the graph has no output %q: expected one of [%s]", s.Output, words.Few(names))
	}
	out := g.Outputs[i]
	if out.Type != onnxruntime.Float32 {
		return fmt.Errorf("output %q: expected numbers of type float32, found %v", s.Output, out.Type)
	}
	if s.Pool == "" {
		s.Pool = map[int]string{3: tokens, 4: Mean}[len(out.Shape)]
		if s.Pool == "" {
			s.Pool = None
		}
	}
	if !slices.Contains(Pools, s.Pool) {
		return fmt.Errorf("expected a way of pooling among %s, found %q", strings.Join(Pools, ", "), s.Pool)
	}
	return nil
}

// completeTexts completes the settings of a graph that reads tokens.
func (s Settings) completeTexts(g onnxruntime.Graph, f *files) (Settings, error) {
	s.Items = Texts
	for _, in := range g.Inputs {
		if !slices.Contains([]string{"input_ids", "attention_mask", "token_type_ids"}, in.Name) {
			return s, fmt.Errorf("input %q is not supported: expected input_ids, attention_mask and token_type_ids", in.Name)
		}
		if in.Type != onnxruntime.Int64 && in.Type != onnxruntime.Int32 || len(in.Shape) != 2 || in.Shape[0] > 1 {
			return s, fmt.Errorf("input %q: expected whole numbers of shape [1, tokens], found %v of shape %v", in.Name, in.Type, in.Shape)
		}
	}
	if f.tokenizer == nil {
		return s, fmt.Errorf("expected %s next to the graph, found none", tokenizerFile)
	}
	if s.Tokenizer != "" && s.Tokenizer != f.tokenizerSum {
		return s, fmt.Errorf("%s has SHA-256 %s, but the model was trained with %s", tokenizerFile, f.tokenizerSum, s.Tokenizer)
	}
	s.Tokenizer = f.tokenizerSum
	if s.Tokens == 0 {
		if s.Tokens = f.tokenizer.Limit(); s.Tokens == 0 {
			s.Tokens = defaultTokens
		}
	}
	if n := fixedLength(g); n > 0 {
		s.Tokens = min(s.Tokens, n)
	}
	if least := f.tokenizer.Least() + 1; s.Tokens < least || s.Tokens > mostTokens {
		return s, fmt.Errorf("expected texts of %d to %d tokens, found %d", least, mostTokens, s.Tokens)
	}
	if len(s.Resize)+len(s.Crop)+len(s.Mean)+len(s.SD) > 0 || s.Filter != "" || s.Layout != "" {
		return s, fmt.Errorf("%s reads texts: expected no settings of images", s.Name)
	}
	return s, s.completeOutput(g, []string{"sentence_embedding", "last_hidden_state", "token_embeddings"}, Mean)
}

const (
	defaultTokens = 512
	mostTokens    = 1 << 15
)

// fixedLength returns the number of tokens that a graph reads, or 0 if any.
func fixedLength(g onnxruntime.Graph) int { return int(max(0, g.Inputs[0].Shape[1])) }

// completeImages completes the settings of a graph that reads images.
func (s Settings) completeImages(g onnxruntime.Graph, f *files) (Settings, error) {
	s.Items = Images
	in := g.Inputs[0]
	if len(g.Inputs) > 1 {
		return s, fmt.Errorf("input %q is not supported: expected one input of pixels, or input_ids of texts", g.Inputs[1].Name)
	}
	if in.Type != onnxruntime.Float32 || len(in.Shape) != 4 || in.Shape[0] > 1 {
		return s, fmt.Errorf("input %q: expected pixels of type float32 and shape [1, 3, height, width], found %v of shape %v", in.Name, in.Type, in.Shape)
	}
	if s.Tokens != 0 {
		return s, fmt.Errorf("%s reads images: expected no settings of texts", s.Name)
	}
	if s.Layout == "" {
		if s.Layout = Layouts[0]; in.Shape[3] == 3 && in.Shape[1] != 3 {
			s.Layout = Layouts[1]
		}
	}
	channel := map[string]int{Layouts[0]: 1, Layouts[1]: 3}[s.Layout]
	if channel == 0 {
		return s, fmt.Errorf("expected a layout among %s, found %q", strings.Join(Layouts, ", "), s.Layout)
	}
	if c := in.Shape[channel]; c > 0 && c != 3 {
		return s, fmt.Errorf("input %q, layout %s: expected 3 channels, found %d", in.Name, s.Layout, c)
	}
	size := slices.Delete(slices.Clone(in.Shape), channel, channel+1)[1:]
	if err := s.completeSteps(f.images, [2]int{int(size[0]), int(size[1])}); err != nil {
		return s, err
	}
	return s, s.completeOutput(g, []string{"image_embeds", "pooler_output", "last_hidden_state"}, First)
}

// completeSteps completes how pixels are made. fixed is the size of the graph's input, −1 where it is not fixed. Steps that
// are given replace those of the configuration.
func (s *Settings) completeSteps(config *Settings, fixed [2]int) error {
	if s.Scale == 0 { // not those of a trained model
		base := Settings{Filter: "bilinear", Scale: 1. / 255, Mean: imageNet[0], SD: imageNet[1]}
		if config != nil {
			base = *config
		} else {
			base.Crop = []int{224, 224}
			if fixed[0] > 0 && fixed[1] > 0 {
				base.Crop = fixed[:]
			}
			base.Resize = []int{(max(base.Crop[0], base.Crop[1])*256 + 112) / 224}
		}
		if s.Crop != nil && s.Resize == nil && config == nil {
			base.Resize = []int{(slices.Max(s.Crop)*256 + 112) / 224}
		}
		s.Scale = base.Scale
		for _, list := range [][2]*[]int{{&s.Resize, &base.Resize}, {&s.Crop, &base.Crop}} {
			if *list[0] == nil {
				*list[0] = *list[1]
			}
		}
		for _, list := range [][2]*[]float64{{&s.Mean, &base.Mean}, {&s.SD, &base.SD}} {
			if *list[0] == nil {
				*list[0] = *list[1]
			}
		}
		if s.Filter == "" {
			s.Filter = base.Filter
		}
	}
	return s.checkSteps(fixed)
}

// checkSteps returns an error if pixels cannot be made by the settings, or do not fit the graph.
func (s *Settings) checkSteps(fixed [2]int) error {
	for _, n := range slices.Concat(s.Resize, s.Crop) {
		if n < 1 || n > mostPixels {
			return fmt.Errorf("expected images of 1 to %d pixels, found %d", mostPixels, n)
		}
	}
	if len(s.Resize) > 2 || len(s.Crop) != 0 && len(s.Crop) != 2 {
		return fmt.Errorf("expected one or two lengths to resize to and two to crop to, found %v and %v", s.Resize, s.Crop)
	}
	if filters[s.Filter].at == nil {
		return fmt.Errorf("expected a filter among %s, found %q", strings.Join(Filters, ", "), s.Filter)
	}
	if len(s.Mean) != 3 || len(s.SD) != 3 || slices.ContainsFunc(s.SD, func(x float64) bool { return !(x > 0) }) {
		return fmt.Errorf("expected 3 means and 3 standard deviations above 0, found %v and %v", s.Mean, s.SD)
	}
	size := s.Crop
	if len(size) == 0 && len(s.Resize) == 2 {
		size = s.Resize
	}
	if len(size) == 0 {
		return fmt.Errorf("expected a size that all images are cropped or resized to, found %v on the shorter side alone", s.Resize)
	}
	if len(s.Resize) == 1 && slices.Max(size) > s.Resize[0] || len(s.Resize) == 2 && (size[0] > s.Resize[0] || size[1] > s.Resize[1]) {
		return fmt.Errorf("expected images to be resized to at least the %s pixels that they are cropped to, found %v", words.Shape(size), s.Resize)
	}
	for i, n := range fixed {
		if n > 0 && n != size[i] {
			return fmt.Errorf("the graph reads images of %s pixels, but they are cropped or resized to %s", words.Shape(fixed[:]), words.Shape(size))
		}
	}
	return nil
}

// mostPixels limits the sides of an image.
const mostPixels = 1 << 12

// size returns the height and width of the pixels that the graph reads.
func (s *Settings) size() (h, w int) {
	if len(s.Crop) == 2 {
		return s.Crop[0], s.Crop[1]
	}
	return s.Resize[0], s.Resize[1]
}
