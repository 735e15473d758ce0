package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"credence/dataset"
	"credence/run"
)

// refuseInput is the error of an output that would replace a file which the same
// command reads, by whatever name or link. In a folder of data every file that is
// there is taken for one of them, unless its name is that of a result. In a folder of
// Parquet files no such file may be written at all: it would be among the data next time.
func refuseInput(stdin io.Reader, output string, inputs ...string) error {
	if output == "" || output == "-" {
		return nil
	}
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
	if _, err := os.Stat(folder); output == "" || output == "-" || !errors.Is(err, fs.ErrNotExist) {
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
