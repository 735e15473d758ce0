package run

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

// Folder is the folder of one training run.
type Folder string

// The files of a run.
const (
	ModelFile   = "model.credence"
	ConfigFile  = "config.yaml"
	MetricsFile = "metrics.json"
	HistoryFile = "history.csv"
	ReportFile  = "report.html"
	splitFile   = "split.csv"
)

// files are the files of a run, without its checkpoints.
var files = []string{ModelFile, ConfigFile, MetricsFile, HistoryFile, splitFile, ReportFile}

// The reasons why a folder cannot be used as asked.
var (
	ErrTaken      = errors.New("is there already and not empty")
	ErrEnded      = errors.New("the run has ended: there is nothing to resume")
	ErrNoRun      = errors.New("there is no run to resume")
	ErrNoModel    = errors.New("holds no " + ModelFile)
	ErrUnfinished = errors.New("the run has not ended")
)

// Mode says what is done with a folder that is not empty.
type Mode int

const (
	New       Mode = iota // it is refused
	Resume                // its run is continued
	Overwrite             // its run is replaced
)

// FolderOf returns the folder of a run that is named by its folder or by the
// model file in it.
func FolderOf(path string) Folder {
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		path = filepath.Dir(path)
	}
	return Folder(path)
}

// Path returns the path of a file of the run.
func (f Folder) Path(name string) string { return filepath.Join(string(f), name) }

// Has reports whether the folder holds a file.
func (f Folder) Has(name string) bool {
	_, err := os.Stat(f.Path(name))
	return err == nil
}

// checkpoints is where a run that has not ended keeps its state.
func (f Folder) checkpoints() string { return f.Path("checkpoint") }

// Check refuses a folder that [Train] would refuse, so that no data are read in
// vain: one that is taken (ErrTaken) or, to be resumed, holds no run (ErrNoRun)
// or one that has ended (ErrEnded).
func (f Folder) Check(mode Mode) error {
	taken, err := f.taken()
	switch {
	case err != nil || mode == Overwrite || !taken && mode == New:
		return err
	case mode == New:
		return fmt.Errorf("%s %w", f, ErrTaken)
	case f.Unfinished():
		return nil
	case f.Has(ModelFile):
		return fmt.Errorf("%s: %w", f, ErrEnded)
	}
	// A run that was killed before its first checkpoint starts anew.
	if !f.Has(ConfigFile) {
		return fmt.Errorf("%w in %s", ErrNoRun, f)
	}
	return nil
}

// taken reports whether something is there already.
func (f Folder) taken() (bool, error) {
	if _, err := os.ReadDir(string(f)); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("%s: expected a folder: %w", f, cause(err))
	}
	if err := f.clean(); err != nil {
		return false, err
	}
	entries, err := os.ReadDir(string(f))
	return len(entries) > 0, err
}

// cause returns what is wrong with a path without naming it again.
func cause(err error) error {
	if pe, ok := errors.AsType[*os.PathError](err); ok {
		return pe.Err
	}
	return err
}

// clean removes what a killed process left half written.
func (f Folder) clean() error {
	if err := atomicfile.Clean(string(f), files...); err != nil {
		return err
	}
	_, err := train.CleanCheckpoint(f.checkpoints())
	return err
}

// Unfinished reports whether there are checkpoints to continue from. Leftovers
// of a killed process are none.
func (f Folder) Unfinished() bool {
	any, err := train.CleanCheckpoint(f.checkpoints())
	if err != nil { // leftovers stay in a folder that cannot be written
		files, _ := filepath.Glob(filepath.Join(f.checkpoints(), "[^.]*"))
		return len(files) > 0
	}
	return any
}

// open makes the folder ready for a run and has config written, so that it can
// be resumed however it ends.
func (f Folder) open(mode Mode, config func() error) error {
	if mode == Overwrite {
		if err := f.clear(); err != nil {
			return err
		}
	}
	if err := atomicfile.MkdirAll(string(f)); err != nil {
		return err
	}
	// What has checkpoints keeps the configuration that they belong to, in case
	// it turns out that this is another.
	if mode == Resume && f.Unfinished() && f.Has(ConfigFile) {
		return nil
	}
	return config()
}

// clear removes the files of an earlier run, and nothing else.
func (f Folder) clear() error {
	for _, name := range files {
		if err := os.Remove(f.Path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := f.clean(); err != nil {
		return err
	}
	return train.RemoveCheckpoint(f.checkpoints())
}

// abandon removes what open has made of a run that never began.
func (f Folder) abandon() {
	if !f.Unfinished() && !f.Has(ModelFile) {
		os.Remove(f.Path(ConfigFile))
		os.Remove(f.Path(splitFile))
		os.Remove(string(f)) // only if it is empty
	}
}

// write puts a file into the folder, whole or not at all.
func (f Folder) write(name string, write func(w io.Writer) error) error {
	return atomicfile.Write(f.Path(name), write)
}

// WriteMetrics writes metrics.json.
func (f Folder) WriteMetrics(v any) error {
	return f.write(MetricsFile, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(v)
	})
}

// writeHistory writes the epochs of every network, one per row.
func (f Folder) writeHistory(runs []model.Run) error {
	exact := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	return f.write(HistoryFile, func(w io.Writer) error {
		c := csv.NewWriter(w)
		c.Write([]string{"run", "epoch", "loss", "held_out", "rate", "clamped", "kept", "note"})
		for _, r := range runs {
			for _, e := range r.History {
				held := ""
				if e.HeldOut != nil {
					held = exact(*e.HeldOut)
				}
				c.Write([]string{r.Name, strconv.Itoa(e.Epoch), exact(e.Loss), held, exact(e.Rate),
					exact(e.Clamped), strconv.FormatBool(e.Epoch == r.Epoch), e.Note})
			}
		}
		c.Flush()
		return c.Error()
	})
}

// Load reads the model at path, which is a model file or the folder of a run. A
// folder without a model is ErrNoModel, and ErrUnfinished too if its training
// was cut short.
func Load(path string) (*model.Model, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("reading the model %s: %w", path, cause(err))
	}
	if !info.IsDir() {
		return model.Load(path)
	}
	folder := Folder(path)
	switch {
	case folder.Has(ModelFile):
		return model.Load(folder.Path(ModelFile))
	case folder.Unfinished():
		return nil, fmt.Errorf("%s %w: %w", path, ErrNoModel, ErrUnfinished)
	}
	return nil, fmt.Errorf("%s %w", path, ErrNoModel)
}
