package main

import (
	"errors"
	"io/fs"

	"credence/model"
	"credence/run"
)

// loadModel reads the model at path, which is a file or the folder of a run.
func loadModel(path string) (*model.Model, error) {
	m, err := run.Load(path)
	switch {
	case errors.Is(err, run.ErrUnfinished):
		return nil, withHint(err, "its training was cut short; continue it with: "+resumeCommand(run.Folder(path)))
	case errors.Is(err, run.ErrNoModel), errors.Is(err, fs.ErrNotExist):
		return nil, withHint(err, "give the folder that credence train wrote with --out, or a model file")
	}
	return m, err
}

// repeatCommand is what repeats a run.
func repeatCommand(f run.Folder) string {
	return "credence train --config " + shellQuote(f.Path(run.ConfigFile)) + " --out FOLDER"
}

// resumeCommand is what continues a run.
func resumeCommand(f run.Folder) string {
	return "credence train --config " + shellQuote(f.Path(run.ConfigFile)) + " --out " + shellQuote(string(f)) + " --resume"
}
