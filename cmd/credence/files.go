package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"credence/dataset"
	"credence/internal/atomicfile"
	"credence/internal/config"
	"credence/internal/words"
	"credence/model"
	"credence/run"
)

// declareOverwrite adds the flag without which no verb replaces a file.
func declareOverwrite(f *pflag.FlagSet, overwrite *bool) {
	f.BoolVar(overwrite, "overwrite", false, "replace the output if it exists")
}

// checkOutputs refuses outputs before any work begins: one whose folder is not there, two that are one file, one
// that the same command reads and, unless overwrite is set, one that exists. "" and - are none.
func checkOutputs(stdin io.Reader, overwrite bool, outputs, inputs []string) error {
	outputs = slices.DeleteFunc(slices.Clone(outputs), func(f string) bool { return f == "" || f == "-" })
	for i, output := range outputs {
		if err := checkFolder(output); err != nil {
			return err
		}
		if slices.ContainsFunc(outputs[:i], func(other string) bool { return filepath.Clean(other) == filepath.Clean(output) }) {
			return usagef("%s is given for two outputs: expected a file for each", output)
		}
		if err := refuseInput(stdin, output, inputs...); err != nil {
			return err
		}
		if err := refuseExisting(output, overwrite); err != nil {
			return err
		}
	}
	return nil
}

// refuseExisting is the error of a file that exists and was not to be replaced. Devices, pipes and /dev/stdout are
// written to as they are.
func refuseExisting(output string, overwrite bool) error {
	if info, err := os.Stat(output); err == nil && info.IsDir() {
		return fmt.Errorf("writing %s: expected a file, found a folder", output)
	}
	if _, err := os.Lstat(output); overwrite || errors.Is(err, fs.ErrNotExist) || atomicfile.IsStream(output) {
		return nil
	}
	return withHint(fmt.Errorf("%s exists already", output), "choose another name, or replace it with --overwrite")
}

// refuseInput is the error of an output that would replace a file which the same
// command reads, by whatever name or link. In a folder of data every file that is
// there is taken for one of them, unless its name is that of a result. In a folder of
// Parquet files no such file may be written at all: it would be among the data next time.
func refuseInput(stdin io.Reader, output string, inputs ...string) error {
	for _, input := range inputs {
		if in, err := os.Stat(input); err == nil && in.IsDir() && dataset.InTable(input, output) && within(output, in) {
			return withHint(fmt.Errorf("%s would be one of the files of the input %s", output, input), "write it to another folder")
		}
	}
	out, err := os.Stat(output)
	if err != nil || !out.Mode().IsRegular() {
		return nil // nothing is replaced
	}
	for _, input := range inputs {
		in, err := statInput(stdin, input)
		if err != nil {
			continue // reading tells what is wrong with it
		}
		if os.SameFile(in, out) || in.IsDir() && formOf[filepath.Ext(output)] == "" && within(output, in) {
			if input == "-" {
				input = "standard input"
			}
			return withHint(fmt.Errorf("%s would be replaced: it is an input, %s", output, input), "choose another name for the output")
		}
	}
	return nil
}

// checkFolder refuses an output whose folder is not there, before anything is read.
func checkFolder(output string) error {
	folder := filepath.Dir(output)
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return withHint(fmt.Errorf("writing %s: there is no folder %s", output, folder), "make it first: mkdir -p "+shellQuote(folder))
}

// statInput finds out what an input is; - is standard input.
func statInput(stdin io.Reader, input string) (os.FileInfo, error) {
	if input != "-" {
		return os.Stat(input)
	}
	if f, ok := stdin.(*os.File); ok {
		return f.Stat()
	}
	return nil, errors.ErrUnsupported
}

// within reports whether a file lies in a folder or in one below it.
func within(file string, folder os.FileInfo) bool {
	path, err := filepath.Abs(file)
	if err != nil {
		return false
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && os.SameFile(info, folder) {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

// runFiles are the files of a run, given by its folder or its model, that no
// other output may replace: all but its page.
func runFiles(path string) []string {
	folder := run.FolderOf(path)
	files := slices.DeleteFunc(folder.Files(), func(f string) bool { return filepath.Base(f) == run.ReportFile })
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		files = append(files, path)
	}
	return files
}

// withFeatureHint says what to do if data lack features of a model.
func withFeatureHint(err error) error {
	return withHintOn(err, hint{dataset.ErrMissingFeature,
		"give every file that the model was trained on; credence inspect RUN --json lists its features"})
}

// readStdin returns the text of standard input if one of the files is called
// "-", and nil otherwise. Only one of them can be.
func readStdin(stdin io.Reader, files ...string) ([]byte, error) {
	n := 0
	for _, f := range files {
		if f == "-" {
			n++
		}
	}
	switch n {
	case 0:
		return nil, nil
	case 1:
		text, err := io.ReadAll(stdin) // never nil
		if err != nil {
			return nil, fmt.Errorf("reading standard input: %w", err)
		}
		return text, nil
	}
	return nil, usagef("- stands for standard input, which can be one file only, found it in %s", strings.Join(files, " "))
}

// newStdinReader returns a reader of what may never come: a Read that waits for a terminal or for
// another program ends when the context does.
func newStdinReader(ctx context.Context, r io.Reader) io.Reader {
	out, in := io.Pipe()
	context.AfterFunc(ctx, func() { in.CloseWithError(ctx.Err()) })
	go func() {
		_, err := io.CopyBuffer(in, struct{ io.Reader }{r}, make([]byte, 64<<10))
		in.CloseWithError(err)
	}()
	return out
}

// loadModel reads the model at path, which is a file or the folder of a run, and
// warns of a run that has not ended: its model may have fewer networks than were
// asked for, trained for less long.
func loadModel(messages io.Writer, path string) (*model.Model, error) {
	m, err := run.Load(path)
	switch {
	case errors.Is(err, run.ErrUnfinished):
		return nil, withHint(err, "its training was cut short; continue it with: "+resumeCommand(run.Folder(path)))
	case errors.Is(err, run.ErrNoModel), errors.Is(err, fs.ErrNotExist):
		return nil, withHint(err, "give the folder that credence train wrote with --out, or a model file")
	}
	if info, stat := os.Stat(path); err != nil && stat == nil && !info.IsDir() && (dataset.IsFile(path) || slices.Contains(otherNames, strings.ToLower(filepath.Ext(path)))) {
		return nil, withHint(err, "the first argument is the folder that credence train wrote with --out, or its "+run.ModelFile+"; data come behind it")
	}
	if folder := run.FolderOf(path); err == nil && folder.Has(run.ConfigFile) && folder.Unfinished() {
		fmt.Fprintf(messages, "credence: warning: the run in %s has not ended: its model has %s; continue it with: %s\n",
			folder, networksOf(m), resumeCommand(folder))
	}
	return m, err
}

// otherNames are how the names of files end that are neither data nor models.
var otherNames = []string{".yaml", ".yml", ".html"}

// networksOf tells how many of the networks that were asked for a model has.
func networksOf(m *model.Model) string {
	have := words.Plural(len(m.Members), "network")
	if card, err := run.NewCard(m); err == nil && card.Options.Ensemble > len(m.Members) {
		have = fmt.Sprintf("%d of %d networks", len(m.Members), card.Options.Ensemble)
	}
	return have + ", as far as they were trained"
}

// repeatCommand is what repeats a run.
func repeatCommand(f run.Folder) string {
	return "credence train --config " + shellQuote(f.Path(run.ConfigFile)) + " --out FOLDER"
}

// resumeCommand is what continues a run.
func resumeCommand(f run.Folder) string {
	return "credence train --config " + shellQuote(f.Path(run.ConfigFile)) + " --out " + shellQuote(string(f)) + " --resume"
}

// reportAs makes the model report as it was told to, not as its training found.
func reportAs(m *model.Model, o *config.Settings) {
	if m.Calibration == nil {
		return
	}
	c := *m.Calibration
	if o.Fit.Calibrate == "off" {
		c.Scale = 1
	}
	if e := o.Fit.Resolution; e != 0 {
		c.Resolution = max(e, 0)
	}
	m.Calibration = &c
}
