package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"

	"credence/dataset"
	"credence/internal/atomicfile"
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
