package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"credence/internal/atomicfile"
	"credence/model"
	"credence/train"
)

// runFolder is the folder of one training run.
type runFolder string

// The files of a run.
const (
	modelFile   = "model.credence"
	configFile  = "config.yaml"
	metricsFile = "metrics.json"
	historyFile = "history.csv"
	stateFolder = "checkpoint" // of a run that has not ended
)

// runFiles are the files of a run, without its checkpoints.
var runFiles = []string{modelFile, configFile, metricsFile, historyFile, splitFile, reportFile}

func (r runFolder) path(name string) string { return filepath.Join(string(r), name) }

func (r runFolder) has(name string) bool {
	_, err := os.Stat(r.path(name))
	return err == nil
}

// taken tells whether something is there already.
func (r runFolder) taken() (bool, error) {
	entries, err := os.ReadDir(string(r))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		if pe, ok := errors.AsType[*os.PathError](err); ok {
			err = pe.Err
		}
		return false, fmt.Errorf("--out %s: expected a folder: %w", r, err)
	}
	if err := r.clean(); err != nil {
		return false, err
	}
	entries, err = os.ReadDir(string(r))
	return len(entries) > 0, err
}

// clean removes what a killed process left half written.
func (r runFolder) clean() error {
	if err := atomicfile.Clean(string(r), runFiles...); err != nil {
		return err
	}
	_, err := train.CleanCheckpoint(r.path(stateFolder))
	return err
}

// unfinished reports whether there are checkpoints to continue from. Leftovers
// of a killed process are none.
func (r runFolder) unfinished() bool {
	any, err := train.CleanCheckpoint(r.path(stateFolder))
	if err != nil { // leftovers stay in a folder that cannot be written
		files, _ := filepath.Glob(r.path(filepath.Join(stateFolder, "[^.]*")))
		return len(files) > 0
	}
	return any
}

// clear removes the files of an earlier run, and nothing else.
func (r runFolder) clear() error {
	for _, name := range runFiles {
		if err := os.Remove(r.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := r.clean(); err != nil {
		return err
	}
	return train.RemoveCheckpoint(r.path(stateFolder))
}

// abandon removes what open has made of a run that never began.
func (r runFolder) abandon() {
	if !r.has(stateFolder) && !r.has(modelFile) {
		os.Remove(r.path(configFile))
		os.Remove(r.path(splitFile))
		os.Remove(string(r)) // only if it is empty
	}
}

// write puts a file into the folder, whole or not at all.
func (r runFolder) write(name string, write func(w io.Writer) error) error {
	return atomicfile.Write(r.path(name), write)
}

func (r runFolder) writeJSON(name string, v any) error {
	return r.write(name, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(v)
	})
}

// writeHistory writes the epochs of every network, one a row.
func (r runFolder) writeHistory(runs []model.Run) error {
	return r.write(historyFile, func(w io.Writer) error {
		c := csv.NewWriter(w)
		c.Write([]string{"run", "epoch", "loss", "held_out", "rate", "clamped", "kept", "note"})
		for _, run := range runs {
			for _, e := range run.History {
				held := ""
				if e.HeldOut != nil {
					held = exact(*e.HeldOut)
				}
				c.Write([]string{run.Name, strconv.Itoa(e.Epoch), exact(e.Loss), held, exact(e.Rate),
					exact(e.Clamped), strconv.FormatBool(e.Epoch == run.Epoch), e.Note})
			}
		}
		c.Flush()
		return c.Error()
	})
}

// exact writes a number so that it reads back the same.
func exact(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// loadModel reads the model at path, which is a file or the folder of a run.
func loadModel(path string) (*model.Model, error) {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		folder := runFolder(path)
		if !folder.has(modelFile) {
			err := fmt.Errorf("%s holds no %s", path, modelFile)
			if folder.has(stateFolder) {
				return nil, withHint(err, "its training was cut short; continue it with: "+folder.resumeCommand())
			}
			return nil, withHint(err, "give the folder that credence train wrote with --out, or a model file")
		}
		path = folder.path(modelFile)
	}
	if err != nil {
		if pe, ok := errors.AsType[*os.PathError](err); ok {
			err = pe.Err
		}
		return nil, withHint(fmt.Errorf("reading the model %s: %w", path, err),
			"give the folder that credence train wrote with --out, or a model file")
	}
	return model.Load(path)
}

// resumeCommand is what continues the run.
func (r runFolder) resumeCommand() string {
	return "credence train --config " + shellQuote(r.path(configFile)) + " --out " + shellQuote(string(r)) + " --resume"
}
