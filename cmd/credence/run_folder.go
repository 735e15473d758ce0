package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"credence/dataset"
	"credence/internal/config"
	"credence/internal/words"
	"credence/model"
	"credence/run"
)

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
