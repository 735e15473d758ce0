package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"credence/internal/atomicfile"
	"credence/internal/export"
	"credence/internal/onnx"
	"credence/internal/words"
)

// exportOptions is the command line of credence export.
type exportOptions struct {
	out       string
	overwrite bool
}

func newExport() *cobra.Command {
	var o exportOptions
	cmd := newVerb("export RUN", "Write a model as an ONNX file, for other programs", "a run or a model file", o.run)
	f := cmd.Flags()
	f.StringVarP(&o.out, "output", "o", "model.onnx", "ONNX `file` to write, .onnx")
	declareOverwrite(f, &o.overwrite)
	return cmd
}

func (o *exportOptions) run(cmd *cobra.Command, args []string) error {
	err := cmp.Or(expect(strings.HasSuffix(o.out, ".onnx"), "-o %s: expected a name that ends in .onnx", o.out),
		checkOutputs(cmd.InOrStdin(), o.overwrite, []string{o.out}, runFiles(args[0])))
	if err != nil {
		return err
	}
	m, err := loadModel(cmd.ErrOrStderr(), args[0])
	if err != nil {
		return err
	}
	g, err := export.ONNX(m, buildVersion())
	if err != nil {
		err = fmt.Errorf("exporting %s: %w", args[0], err)
		if errors.Is(err, export.ErrNotExported) {
			return withHint(err, "credence serve answers other programs for every model")
		}
		return err
	}
	file, err := g.Marshal()
	if err != nil {
		return err
	}
	err = atomicfile.Write(o.out, func(w io.Writer) error {
		_, err := w.Write(file)
		return err
	})
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "written to %s: opset %d, %s, %s bytes\n", o.out, onnx.Opset, words.Plural(len(m.Members), "network"), words.Thousands(len(file)))
	for _, list := range []struct {
		name   string
		values []onnx.Value
	}{{"inputs", g.Inputs}, {"outputs", g.Outputs}} {
		fmt.Fprintf(out, "%-8s %s\n", list.name, strings.Join(words.Each(list.values, onnx.Value.String), "\n         "))
	}
	return nil
}
