// Package backbone turns images and texts into vectors by a pretrained network in an ONNX file: it prepares the inputs as
// the network expects them, has package onnxruntime run the graph, pools the output, and keeps the vectors in a file, by the
// content of the items, so that each is computed once.
package backbone

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"credence/internal/atomicfile"
	"credence/internal/budget"
	"credence/internal/onnxruntime"
	"credence/internal/par"
)

// MostValues limits the length of a vector.
const MostValues = 1 << 20

// ErrOther is the error if a backbone is not the one that a model was trained with.
var ErrOther = errors.New("the model was trained with another backbone")

// Options name the files of a backbone and the library that runs it.
type Options struct {
	Path    string   // an ONNX file, or a folder with one
	Library string   // path of the library of ONNX Runtime; "" finds it
	Worker  []string // program and arguments that call [onnxruntime.Serve]; nil runs graphs in this process
	Memory  int64    // bytes that graphs may take next to a multiple of their size; 0 for the default of package budget
	Cache   string   // folder of vectors; "" keeps none
	// Settings of a trained model, or those that replace what the files next to the graph say.
	Settings
}

// Backbone is a pretrained network. It may be used by several goroutines.
type Backbone struct {
	opts  Options
	files *files
	Settings
	graph onnxruntime.Graph
	mu    sync.Mutex
	run   onnxruntime.Runner // nil until something has to be computed
	store *store             // nil if vectors are not kept
	width int                // of the vectors; 0 until it is known
}

// Open reads the files of a backbone. The library is loaded when it is needed. The caller closes it.
func Open(ctx context.Context, o Options) (*Backbone, error) {
	f, err := readFiles(ctx, o.Path)
	if err != nil {
		return nil, err
	}
	b := &Backbone{opts: o, files: f}
	if o.SHA256 != "" && o.SHA256 != f.sum {
		return nil, fmt.Errorf("%w: expected %s with SHA-256 %s, found %s with %s", ErrOther, o.Name, o.SHA256, f.path, f.sum)
	}
	if o.SHA256 == "" {
		o.Name, o.SHA256 = filepath.Base(o.Path), f.sum
		if path, err := filepath.Abs(o.Path); err == nil { // which may be "."
			o.Name = filepath.Base(path)
		}
	}
	if err := b.describe(); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	if b.Settings, err = o.Settings.complete(b.graph, f); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", f.path, err), b.Close())
	}
	if o.Cache != "" {
		key, err := json.Marshal(struct {
			Version int
			Settings
		}{storeVersion, b.keyed()})
		if err == nil {
			b.store, err = openStore(o.Cache, storeName(sha256.Sum256(key)))
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("opening the cache of vectors: %w", err), b.Close())
		}
		b.width = b.store.width
	}
	return b, nil
}

// storeVersion changes when the same settings give other vectors.
const storeVersion = 1

// keyed returns the settings that vectors depend on: all but the name of the file.
func (b *Backbone) keyed() Settings {
	s := b.Settings
	s.Name = ""
	return s
}

// describe sets the inputs and outputs of the graph: those that were found before, if vectors are kept, so that the library is
// needed only to compute new vectors.
func (b *Backbone) describe() error {
	path := filepath.Join(b.opts.Cache, "graph-"+b.files.sum[:32]+".json")
	if b.opts.Cache != "" {
		text, err := os.ReadFile(path)
		if err == nil && json.Unmarshal(text, &b.graph) == nil && len(b.graph.Inputs) > 0 {
			return nil
		}
	}
	if err := b.start(); err != nil {
		return err
	}
	if b.opts.Cache == "" {
		return nil
	}
	text, err := json.Marshal(b.graph)
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("writing a cache: %w", err)
	}
	return nil
}

// start loads the library and the graph, unless that was done before.
func (b *Backbone) start() (err error) {
	if b.run != nil {
		return nil
	}
	if b.opts.Worker == nil {
		b.run, err = opened(onnxruntime.Open(b.opts.Library, b.files.graph))
	} else {
		memory := budget.Of(b.opts.Memory) + 4*int64(len(b.files.graph)) + 1<<30
		b.run, err = opened(onnxruntime.Start(b.opts.Worker, b.opts.Library, b.files.graph, memory))
	}
	if errors.Is(err, onnxruntime.ErrBuild) || errors.Is(err, onnxruntime.ErrNoLibrary) {
		return err
	}
	if err != nil {
		return fmt.Errorf("%s: %w", b.files.path, err)
	}
	b.files.graph = nil // the runner has it
	b.graph = b.run.Graph()
	return nil
}

// opened returns a runner as an interface that is nil after an error.
func opened[T onnxruntime.Runner](r T, err error) (onnxruntime.Runner, error) {
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Close ends the process that runs the graph, if there is one.
func (b *Backbone) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	err := b.store.close()
	if b.run != nil {
		err = errors.Join(err, b.run.Close())
	}
	return err
}

// Input is an item: the key of its content, and a function that returns what the graph reads, called if the vector is not known.
type Input struct {
	Key  Key
	Make func() (onnxruntime.Tensor, error) // of an image
	Text string                             // of a text, without Make
}

// Image returns the input of an image with the given content, which decode turns into pixels.
func (b *Backbone) Image(content []byte, decode func() (Picture, error)) Input {
	return Input{Key: sha256.Sum256(content), Make: func() (onnxruntime.Tensor, error) {
		p, err := decode()
		if err != nil {
			return onnxruntime.Tensor{}, err
		}
		return b.pixels(p)
	}}
}

// Text returns the input of a text.
func Text(text string) Input { return Input{Key: sha256.Sum256([]byte(text)), Text: text} }

// BatchSize is the number of items to compute at a time.
func (b *Backbone) BatchSize() int {
	if b.Items == Texts {
		return 64
	}
	h, w := b.size()
	return max(1, min(64, (256<<20)/(12*h*w)))
}

// Width returns the length of the vectors, 0 if none has been computed yet.
func (b *Backbone) Width() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.width
}

// Embed returns the vectors of items, of at most BatchSize at a time, and nil with its error for an item that cannot be read.
func (b *Backbone) Embed(ctx context.Context, items []Input) (out [][]float32, errs []error, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	out, errs = make([][]float32, len(items)), make([]error, len(items))
	first := map[Key]int{} // where the vector of a new item will be
	var missing []int
	for i, item := range items {
		if _, again := first[item.Key]; again {
			continue
		}
		if b.store != nil {
			out[i] = b.store.read(item.Key)
		}
		if out[i] == nil {
			missing = append(missing, i)
		}
		first[item.Key] = i
	}
	if len(missing) > 0 {
		if err := b.compute(ctx, items, missing, out, errs); err != nil {
			return nil, nil, err
		}
	}
	for i, item := range items {
		out[i], errs[i] = out[first[item.Key]], errs[first[item.Key]]
	}
	return out, errs, nil
}

// compute fills in the vectors of the missing items, or their errors, and keeps them.
func (b *Backbone) compute(ctx context.Context, items []Input, missing []int, out [][]float32, errs []error) error {
	made, positions := make([][]onnxruntime.Tensor, len(items)), make([]int, len(items))
	par.For(len(missing), func(k int) {
		if i := missing[k]; ctx.Err() == nil {
			made[i], positions[i], errs[i] = b.inputs(&items[i])
		}
	})
	if err := ctx.Err(); err != nil {
		return err
	}
	missing = slices.DeleteFunc(missing, func(i int) bool { return errs[i] != nil })
	if len(missing) == 0 {
		return nil
	}
	if err := b.start(); err != nil {
		return err
	}
	inputs := make([][]onnxruntime.Tensor, len(missing))
	for k, i := range missing {
		inputs[k] = made[i]
	}
	tensors, err := b.run.Run(ctx, b.Output, inputs)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("%s: %w", b.files.path, err)
	}
	keys, vectors := make([]Key, len(missing)), make([][]float32, len(missing))
	for k, i := range missing {
		if out[i], err = b.vector(tensors[k], positions[i]); err != nil {
			return fmt.Errorf("%s: %w", b.files.path, err)
		}
		keys[k], vectors[k] = items[i].Key, out[i]
	}
	if b.store == nil {
		return nil
	}
	if err := b.store.add(keys, vectors); err != nil {
		if _, held := errors.AsType[*atomicfile.HeldError](err); !held { // another process is writing
			return fmt.Errorf("writing the cache of vectors: %w", err)
		}
	}
	return nil
}

// vector pools an output, whose length must be that of all others.
func (b *Backbone) vector(t onnxruntime.Tensor, positions int) ([]float32, error) {
	v, err := b.pool(t, positions)
	switch {
	case err != nil:
		return nil, err
	case !finite(v):
		return nil, fmt.Errorf("output %q has values that are not finite", b.Output)
	case b.width != 0 && len(v) != b.width:
		return nil, fmt.Errorf("output %q: expected vectors of %d values, found %d", b.Output, b.width, len(v))
	case len(v) > MostValues:
		return nil, fmt.Errorf("output %q: expected vectors of at most %d values, found %d", b.Output, MostValues, len(v))
	}
	b.width = len(v)
	return v, nil
}

// inputs returns the tensors of an item in the order of the inputs of the graph, and the number of positions that count.
func (b *Backbone) inputs(item *Input) ([]onnxruntime.Tensor, int, error) {
	if item.Make != nil {
		t, err := item.Make()
		return []onnxruntime.Tensor{t}, 0, err
	}
	ids, kinds := b.files.tokenizer.Encode(item.Text, b.Tokens)
	if len(ids) == 0 { // a tokenizer without special tokens
		ids, kinds = []int64{int64(b.files.tokenizer.Pad())}, []int64{0}
	}
	n := len(ids)
	mask := make([]int64, n)
	for i := range mask {
		mask[i] = 1
	}
	for range fixedLength(b.graph) - n {
		ids, kinds, mask = append(ids, int64(b.files.tokenizer.Pad())), append(kinds, 0), append(mask, 0)
	}
	var list []onnxruntime.Tensor
	for _, in := range b.graph.Inputs {
		values := map[string][]int64{"input_ids": ids, "attention_mask": mask, "token_type_ids": kinds}[in.Name]
		data := bytesOf(values)
		if in.Type == onnxruntime.Int32 {
			short := make([]int32, len(values))
			for i, v := range values {
				short[i] = int32(v)
			}
			data = bytesOf(short)
		}
		list = append(list, onnxruntime.Tensor{Shape: []int64{1, int64(len(ids))}, Data: data})
	}
	return list, n, nil
}
