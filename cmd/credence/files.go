package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
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

// declareOverwrite adds --overwrite. Without it no verb replaces a file.
func declareOverwrite(f *pflag.FlagSet, overwrite *bool) {
	f.BoolVar(overwrite, "overwrite", false, "replace an existing output")
}

// checkOutputs validates output files before any work begins. It returns an error if a folder does not exist, two
// outputs are the same file, an output is an input too or, unless overwrite is set, exists. "" and - are skipped.
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

// refuseExisting returns an error if the output exists and overwrite is not set. Devices, pipes and /dev/stdout
// are written to directly.
func refuseExisting(output string, overwrite bool) error {
	if info, err := os.Stat(output); err == nil && info.IsDir() {
		return fmt.Errorf("writing %s: expected a file, found a folder", output)
	}
	if _, err := os.Lstat(output); overwrite || errors.Is(err, fs.ErrNotExist) || atomicfile.IsStream(output) {
		return nil
	}
	return withHint(fmt.Errorf("%s exists already", output), "choose another name, or replace it with --overwrite")
}

// refuseInput returns an error if the output would replace an input of the same
// command, by whatever name or link. Every existing file in a folder of data counts as
// an input, unless its extension is that of a result. In a folder of Parquet files no
// Parquet file may be written at all: it would be part of the data next time.
func refuseInput(stdin io.Reader, output string, inputs ...string) error {
	for _, input := range inputs {
		if in, err := os.Stat(input); err == nil && in.IsDir() && dataset.InTable(input, output) && within(output, in) {
			return withHint(fmt.Errorf("%s would be one of the files of the input %s", output, input), "write it to another folder")
		}
	}
	out, err := os.Stat(output)
	if err != nil || !out.Mode().IsRegular() {
		return nil // the output replaces no file
	}
	for _, input := range inputs {
		in, err := statInput(stdin, input)
		if err != nil {
			continue // reading it will report the error
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

// checkFolder returns an error if the folder of an output does not exist.
func checkFolder(output string) error {
	folder := filepath.Dir(output)
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return withHint(fmt.Errorf("writing %s: folder %s does not exist", output, folder), "create it first: "+mkdirCommand(runtime.GOOS, folder))
}

// statInput returns the file info of an input; - is standard input.
func statInput(stdin io.Reader, input string) (os.FileInfo, error) {
	if input != "-" {
		return os.Stat(input)
	}
	if f, ok := stdin.(*os.File); ok {
		return f.Stat()
	}
	return nil, errors.ErrUnsupported
}

// within reports whether a file is in a folder or in one below it.
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

// runFiles returns the files of a run, given by its folder or its model, that no
// other output may replace: all but its report.
func runFiles(path string) []string {
	folder := run.FolderOf(path)
	files := slices.DeleteFunc(folder.Files(), func(f string) bool { return filepath.Base(f) == run.ReportFile })
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		files = append(files, path)
	}
	return files
}

// withFeatureHint adds a hint to the error that data lack features of the model.
func withFeatureHint(err error) error {
	return withHintOn(err, hint{dataset.ErrMissingFeature,
		"give every file that the model was trained on; credence inspect RUN --json lists its features"})
}

// readStdin returns the content of standard input if one of the files is "-",
// and nil otherwise. More than one is an error.
func readStdin(stdin io.Reader, files ...string) ([]byte, error) {
	first := slices.Index(files, "-")
	if first < 0 {
		return nil, nil
	}
	if slices.Contains(files[first+1:], "-") {
		return nil, usagef("expected - (standard input) at most once, found %s", strings.Join(files, " "))
	}
	text, err := io.ReadAll(stdin) // never nil
	if err != nil {
		return nil, fmt.Errorf("reading standard input: %w", err)
	}
	return text, nil
}

// newStdinReader returns a reader of standard input that is canceled with the context, even while
// a Read waits for a terminal or for another program.
func newStdinReader(ctx context.Context, r io.Reader) io.Reader {
	out, in := io.Pipe()
	context.AfterFunc(ctx, func() { in.CloseWithError(ctx.Err()) })
	go func() {
		_, err := io.CopyBuffer(in, struct{ io.Reader }{r}, make([]byte, 64<<10))
		in.CloseWithError(err)
	}()
	return out
}

// loadDistributions is loadModel for what requires distributions, which the error names.
func loadDistributions(messages io.Writer, path, what string) (*model.Model, error) {
	m, err := loadModel(messages, path)
	if err == nil && !m.Traits().Joint {
		return nil, withHint(fmt.Errorf(noDistributions, what, m.Method.Name()), trainMixture)
	}
	return m, err
}

// loadModel reads the model at path, which is a file or the folder of a run. It
// warns about a run that has not ended: its model may have fewer networks than
// requested, or networks that are not fully trained.
func loadModel(messages io.Writer, path string) (*model.Model, error) {
	return loadModelWith(messages, path, model.Extensions{})
}

// loadModelWith is loadModel with [model.LoadWith].
func loadModelWith(messages io.Writer, path string, k model.Extensions) (*model.Model, error) {
	m, err := run.LoadWith(path, k)
	switch {
	case errors.Is(err, run.ErrUnfinished):
		return nil, withHint(err, "its training was interrupted; continue it with: "+resumeCommand(run.Folder(path)))
	case errors.Is(err, run.ErrNoModel), errors.Is(err, fs.ErrNotExist):
		return nil, withHint(err, "give the folder that credence train wrote with --out, or a model file")
	}
	if info, stat := os.Stat(path); err != nil && stat == nil && !info.IsDir() && (dataset.IsFile(path) || slices.Contains(otherNames, strings.ToLower(filepath.Ext(path)))) {
		return nil, withHint(err, "the first argument is the folder that credence train wrote with --out, or its "+run.ModelFile+"; data files follow it")
	}
	if folder := run.FolderOf(path); err == nil && folder.Has(run.ConfigFile) && folder.Unfinished() {
		if k.NoProvenance { // which has the number of networks that were requested
			return loadModel(messages, path)
		}
		fmt.Fprintf(messages, "credence: warning: the run in %s has not ended: its model has %s; continue it with: %s\n",
			folder, networksOf(m), resumeCommand(folder))
	}
	return m, err
}

// otherNames are extensions of files that are neither data nor models.
var otherNames = []string{".yaml", ".yml", ".html"}

// networksOf describes how many of the requested networks a model has.
func networksOf(m *model.Model) string {
	have := words.Plural(len(m.Members), "network")
	if card, err := run.NewCard(m); err == nil && card.Options.Ensemble > len(m.Members) {
		have = fmt.Sprintf("%d of %d networks", len(m.Members), card.Options.Ensemble)
	}
	return have + ", as far as they were trained"
}

// repeatCommand returns the command that repeats a run.
func repeatCommand(f run.Folder) string {
	return "credence train --config " + words.Quote(f.Path(run.ConfigFile)) + " --out FOLDER"
}

// resumeCommand returns the command that continues a run.
func resumeCommand(f run.Folder) string {
	return "credence train --config " + words.Quote(f.Path(run.ConfigFile)) + " --out " + words.Quote(string(f)) + " --resume"
}

// reportAs overrides the calibration that training found with --calibrate and --resolution.
func reportAs(m *model.Model, o *config.Settings) {
	if m.Calibration == nil {
		return
	}
	c := *m.Calibration
	if o.Fit.Calibrate == "off" {
		c.Scale, c.ScaleSE, c.Place, c.Groups = 1, 0, nil, nil
	}
	if e := o.Fit.Resolution; e != 0 {
		c.Resolution = max(e, 0)
	}
	m.Calibration = &c
}
