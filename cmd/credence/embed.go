package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"credence/dataset"
	"credence/internal/array"
	"credence/internal/atomicfile"
	"credence/internal/config"
	"credence/internal/words"
	"credence/run"
)

// embedOptions is the command line of credence embed.
type embedOptions struct {
	data config.Settings
	run  string
	out  string

	overwrite bool
}

func newEmbed() *cobra.Command {
	o := embedOptions{data: *config.New()}
	cmd := newVerb("embed ITEMS...", "Turn images or text into vectors by a pretrained network", "a file or folder of items", o.embed)
	f := cmd.Flags()
	f.StringVarP(&o.out, "output", "o", "", "`file` to write: .npy, or .npz with the ids of the items")
	declareOverwrite(f, &o.overwrite)
	f.StringVar(&o.run, "run", "", "`run` whose backbone and preprocessing to use")
	declare(f, &o.data, config.Embed)
	declareThreads(f, 0)
	return cmd
}

// embed writes the vectors of items.
func (o *embedOptions) embed(cmd *cobra.Command, items []string) error {
	load := o.data.LoadOptions()
	load.Data, load.NoVotes = items, true
	fo := &load.FeatureOptions
	ext := filepath.Ext(o.out)
	if err := cmp.Or(
		expect(ext == ".npy" || ext == ".npz", "expected a file .npy or .npz with --output, found %q", o.out),
		expect(o.run != "" || fo.Backbone.Path != "", "expected a --backbone, or the --run of one"),
		checkOutputs(cmd.InOrStdin(), o.overwrite, []string{o.out}, append(slices.Clone(items), fo.Backbone.Path))); err != nil {
		return err
	}
	if fo.Features = slices.Clone(fo.Text); fo.ImageColumn != "" { // other columns need not be readable
		fo.Features = append(fo.Features, fo.ImageColumn)
	}
	if o.run != "" {
		m, err := loadModel(cmd.ErrOrStderr(), o.run)
		if err != nil {
			return err
		}
		run.FolderOf(o.run).ReadAs(&load)
		embedded := func(p dataset.Feature) bool { return p.Embedding != nil }
		fo.Features, fo.Text = nil, nil
		if fo.Schema = slices.DeleteFunc(m.Transform.Schema(), func(p dataset.Feature) bool { return !embedded(p) }); len(fo.Schema) == 0 {
			return fmt.Errorf("%s was trained without a backbone", o.run)
		}
	}
	ctx, stop := interruptible(cmd)
	defer stop()
	bar := newStatusLine(cmd.ErrOrStderr())
	fo.Progress = func(done, total int) {
		if bar.due(time.Now(), 100*time.Millisecond, linesEvery) {
			bar.show("credence: ", fmt.Sprintf("%s of %s vectors", words.Thousands(done), words.Thousands(total)))
		}
	}
	ds, err := dataset.Load(ctx, load)
	bar.erase()
	if err != nil {
		return orStopped(ctx, withFeatureHint(err))
	}
	defer ds.Close()
	return o.write(cmd, ds)
}

// write writes the vectors of ds.
func (o *embedOptions) write(cmd *cobra.Command, ds *dataset.Dataset) error {
	for _, w := range ds.Warnings {
		fmt.Fprintf(cmd.ErrOrStderr(), "credence: warning: %s\n", warningText(w))
	}
	arrays, err := vectorsOf(ds)
	if err != nil {
		return err
	}
	if len(arrays) > 1 && filepath.Ext(o.out) == ".npy" {
		return withHint(fmt.Errorf("expected one column for %s, found %d", o.out, len(arrays)), "name one with --text, or write a file .npz")
	}
	err = atomicfile.Write(o.out, func(w io.Writer) error {
		if filepath.Ext(o.out) == ".npy" {
			return array.WriteNPY(w, arrays[0].Shape, arrays[0].Values)
		}
		return array.WriteNPZ(w, ds.Items, arrays)
	})
	if err != nil {
		return fmt.Errorf("writing %s: %w", o.out, err)
	}
	for _, text := range backbones(ds.Features) {
		fmt.Fprintln(cmd.ErrOrStderr(), text)
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s of %d numbers\n", o.out, words.Plural(ds.Len(), "vector"), arrays[0].Shape[1])
	return err
}

// backbones describes how features were computed by backbones, a line for each.
func backbones(features []dataset.Feature) (list []string) {
	for _, p := range features {
		if p.Embedding != nil {
			list = append(list, fmt.Sprintf("%s: %v: %d numbers per item", p.Name, p.Embedding, p.Shape[0]))
		}
	}
	return list
}

// vectorsOf returns the vectors of the features that a backbone has made: one is called x, as in an array alone, several by
// the names of their columns.
func vectorsOf(ds *dataset.Dataset) ([]array.Named, error) {
	var arrays []array.Named
	var from []int // in a row
	at := 0
	for _, p := range ds.Features {
		if p.Embedding != nil {
			n := p.Shape[0]
			arrays = append(arrays, array.Named{Name: p.Name, Shape: []int{ds.Len(), n}, Values: make([]float32, 0, ds.Len()*n)})
			from = append(from, at+p.Width()-n)
		}
		at += p.Width()
	}
	row := make([]float32, at)
	for i := range ds.Len() {
		if err := ds.Rows.ReadRow(i, row); err != nil {
			return nil, err
		}
		for k := range arrays {
			a := &arrays[k]
			a.Values = append(a.Values, row[from[k]:from[k]+a.Shape[1]]...)
		}
	}
	if len(arrays) == 1 {
		arrays[0].Name = "x"
	}
	return arrays, nil
}

// workerName is the hidden verb of the process that runs a backbone.
const workerName = "backbone-worker"

// workerCommand returns the program and arguments that run a backbone, nil if this program cannot be started again.
func workerCommand() []string {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{self, workerName}
}

// newWorker returns the verb that runs a backbone for the process that has started it.
func newWorker() *cobra.Command {
	cmd := newVerb(workerName, "Run a backbone for another process", "", func(cmd *cobra.Command, _ []string) error {
		return dataset.ServeBackbone(cmd.InOrStdin(), cmd.OutOrStdout())
	})
	cmd.Hidden = true
	return cmd
}

// backboneHint returns the hint about a backbone that cannot be run, or "".
func backboneHint(err error) string {
	switch {
	case errors.Is(err, dataset.ErrBackboneBuild):
		return "credence-full embed ITEMS --backbone FILE -o x.npz writes the vectors, which this program reads as --data x.npz, or as items to predict"
	case errors.Is(err, dataset.ErrNoRuntime):
		return "pip install onnxruntime, or name the library with --onnxruntime or " + dataset.RuntimeEnv
	case errors.Is(err, dataset.ErrExternalData):
		return "keep the weights in the file: onnx.save(onnx.load('model.onnx'), 'one.onnx'), or export with external_data=False"
	case errors.Is(err, dataset.ErrOtherBackbone):
		return "give the file that the model was trained with as --backbone"
	}
	return ""
}
