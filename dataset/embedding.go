package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"

	"credence/internal/backbone"
	"credence/internal/fault"
	"credence/internal/words"
)

// BackboneOptions specify a pretrained network that turns images or texts into vectors, which are then the features. It is
// an ONNX graph, run by the library of ONNX Runtime, which only some builds can load.
type BackboneOptions struct {
	// Path is an ONNX file, or a folder with model.onnx. Next to it may be tokenizer.json, for texts, and
	// preprocessor_config.json, for images. "" means that there is no backbone.
	Path string
	// Library is the path of the library; "" finds the one of the Python package onnxruntime, or one that is installed.
	Library string
	// Worker is the path and the arguments of a program that calls [ServeBackbone], so that a graph cannot crash this one; nil runs
	// graphs in this process.
	Worker []string
	// Shared, if not nil, is used instead of opening Path.
	Shared *Backbone

	// The following options replace what the files next to the graph say, or the defaults, which [Embedding.String] describes.

	// Output is the output of the graph that is used, and Pool how an output with a vector per position becomes one vector:
	// none, mean, first or max.
	Output, Pool string
	// Resize is the length of the shorter side of images, such as 256, or height and width, such as 224x224; Crop the
	// height and width around their center; Filter that of resizing: bilinear, bicubic or lanczos.
	Resize, Crop, Filter string
	// Mean and SD are those of red, green and blue, for pixels from 0 to 1.
	Mean, SD []float64
	// Layout is the order of axes, NCHW or NHWC.
	Layout string
	// Tokens is the largest number of tokens of a text.
	Tokens int
}

// Embedding describes how the vectors of a feature were computed. It is stored in a trained model, so that other items are
// treated in the same way, by the same graph.
type Embedding struct {
	Name   string `json:"name"`   // of the file of the graph, or of its folder
	SHA256 string `json:"sha256"` // of the file
	Items  string `json:"items"`  // images or texts
	Output string `json:"output"`
	Pool   string `json:"pool"`

	Resize []int     `json:"resize,omitempty"` // the shorter side, or height and width
	Crop   []int     `json:"crop,omitempty"`   // height and width
	Filter string    `json:"filter,omitempty"`
	Scale  float64   `json:"scale,omitempty"` // factor of pixels from 0 to 255
	Mean   []float64 `json:"mean,omitempty"`
	SD     []float64 `json:"sd,omitempty"`
	Layout string    `json:"layout,omitempty"`

	Tokenizer string `json:"tokenizer,omitempty"` // SHA-256 of tokenizer.json
	Tokens    int    `json:"tokens,omitempty"`
}

// String describes the embedding in a line.
func (e *Embedding) String() string {
	s := backbone.Settings(*e)
	return fmt.Sprintf("%s (SHA-256 %.12s…)", s.String(), e.SHA256)
}

// settings returns the settings that the options give.
func (o *BackboneOptions) settings() (s backbone.Settings, err error) {
	s.Output, s.Pool, s.Filter, s.Layout, s.Tokens, s.Mean, s.SD = o.Output, o.Pool, o.Filter, o.Layout, o.Tokens, o.Mean, o.SD
	if s.Resize, err = lengths(o.Resize); err != nil {
		return s, fmt.Errorf("expected a number of pixels or HEIGHTxWIDTH to resize images to, found %q", o.Resize)
	}
	if s.Crop, err = lengths(o.Crop); err != nil {
		return s, fmt.Errorf("expected HEIGHTxWIDTH to crop images to, found %q", o.Crop)
	}
	if len(s.Crop) == 1 {
		s.Crop = append(s.Crop, s.Crop[0])
	}
	return s, nil
}

// lengths reads "256" or "224x224".
func lengths(text string) ([]int, error) {
	if text == "" {
		return nil, nil
	}
	var list []int
	for part := range strings.SplitSeq(text, "x") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 1 || len(list) == 2 {
			return nil, errors.New("not a size")
		}
		list = append(list, n)
	}
	return list, nil
}

// set reports whether an option other than the files is given.
func (o BackboneOptions) set() bool {
	o.Path, o.Library, o.Worker, o.Shared = "", "", nil, nil
	return !reflect.ValueOf(o).IsZero()
}

// checkBackbone returns an error if the options of training name a file that does not exist, or no backbone, but describe one.
func (o *FeatureOptions) checkBackbone() error {
	b := &o.Backbone
	switch {
	case o.Schema != nil || b.Shared != nil:
	case b.Path != "":
		if _, err := os.Stat(b.Path); err != nil {
			return fault.Of(b.Path, err)
		}
	case b.set():
		return errors.New("options of a backbone are given, but no backbone")
	}
	return nil
}

// checkEmbedding returns an error if the feature is not one that a backbone makes.
func (p *Feature) checkEmbedding() error {
	e := p.Embedding
	if e == nil {
		return nil
	}
	want := map[Kind]string{Tensor: backbone.Images, Text: backbone.Texts}[p.Kind]
	if want == "" || e.Items != want || len(p.Shape) != 1 || p.Shape[0] < 1 || p.Shape[0] > backbone.MostValues {
		return fmt.Errorf("feature %q: expected a vector of images or texts, found %v of shape %v from %s", p.Name, p.Kind, p.Shape, e.Items)
	}
	if len(e.SHA256) != 64 || e.Name == "" || e.Output == "" {
		return fmt.Errorf("feature %q: expected name, SHA-256 and output of a backbone, found %q, %q and %q", p.Name, e.Name, e.SHA256, e.Output)
	}
	return nil
}

// document reports whether the feature is text that is learned from word by word.
func (p *Feature) document() bool { return p.Kind == Text && p.Embedding == nil }

// numbers returns the part of the raw values of a feature that are numbers: of an embedded text, all but its index.
func (p *Feature) numbers(raw []float32) []float32 {
	if p.Kind == Text && p.Embedding != nil {
		return raw[1:]
	}
	return raw
}

// withoutVector returns the feature as it is read from a table: an embedded text is a text, until its vector is added.
func (p Feature) withoutVector() Feature {
	if p.Kind == Text {
		p.Shape, p.Embedding = nil, nil
	}
	return p
}

// errNoBackbone returns the error if a model needs a backbone that is not given.
func errNoBackbone(p *Feature) error {
	return &caused{fmt.Sprintf("feature %q is a vector from the backbone %s with SHA-256 %s: expected that file, or its vectors in an array",
		p.Name, p.Embedding.Name, p.Embedding.SHA256), &Advice{Settings: []Setting{SetBackbone}}}
}

// vectorsOf is the warning about vectors that were computed elsewhere.
func vectorsOf(p *Feature, file string) error {
	return fmt.Errorf("%s: the vectors are taken for those of the backbone %s (SHA-256 %.12s…)", cmp.Or(file, "the array"), p.Embedding.Name, p.Embedding.SHA256)
}

// unusedBackbone returns an error if no feature was made by the backbone that the options of training name.
func (o *FeatureOptions) unusedBackbone(schema []Feature) error {
	if o.Schema != nil || o.Backbone.Path == "" {
		return nil
	}
	for _, p := range schema {
		if p.Embedding != nil {
			return nil
		}
	}
	return &caused{fmt.Sprintf("the backbone %s has nothing to read: expected images or columns of text, found %s",
		o.Backbone.Path, words.Few(words.Each(schema, Feature.String))), &Advice{Settings: []Setting{SetText, SetImages}}}
}
