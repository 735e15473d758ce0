package run

import (
	"cmp"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"credence/internal/atomicfile"
	"credence/internal/words"
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
	RatersFile  = "raters.json"
	splitFile   = "split.csv"
)

// files are the files of a run, without its checkpoints, in the order in which they
// are removed: while there is a configuration the run can be resumed.
var files = []string{ModelFile, MetricsFile, HistoryFile, RatersFile, splitFile, ReportFile, ConfigFile}

// The reasons why a folder cannot be used as asked.
var (
	ErrExists     = errors.New("is there already and not empty")
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
	Join                  // its members are joined, see [ReadMembers]
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

// Files returns the paths of the files that a run has, whether they are there or
// not, without its checkpoints.
func (f Folder) Files() []string { return words.Each(files, f.Path) }

// Has reports whether the folder holds a file.
func (f Folder) Has(name string) bool {
	_, err := os.Stat(f.Path(name))
	return err == nil
}

// checkpoints is where a run that has not ended keeps its state.
func (f Folder) checkpoints() string { return f.Path("checkpoint") }

// Check refuses a folder that [Train] would refuse, so that no data are read in
// vain: one that another process writes into (ErrInUse), that is taken (ErrTaken)
// or, to be resumed, holds no run (ErrNoRun) or one that has ended (ErrEnded).
func (f Folder) Check(mode Mode) error {
	if err := f.clean(); err != nil {
		return err
	}
	return f.check(mode)
}

// check is Check for whoever holds the lock.
func (f Folder) check(mode Mode) error {
	there, err := os.ReadDir(string(f))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: expected a folder: %w", f, cause(err))
	}
	missing := err != nil
	there = slices.DeleteFunc(there, func(e fs.DirEntry) bool { return e.Name() == lockFile })
	switch {
	case mode == Overwrite || mode == New && len(there) == 0:
		return nil
	case mode == Join && f.Has(ModelFile) && !f.hasCheckpoints():
		return fmt.Errorf("%s: %w", f, ErrEnded)
	case mode == Join:
		return nil
	case mode == New:
		return fmt.Errorf("%s %w", f, ErrExists)
	case f.hasCheckpoints():
		return nil
	case f.Has(ModelFile):
		return fmt.Errorf("%s: %w", f, ErrEnded)
	// A run that was killed before its first checkpoint starts anew, even if that
	// was before it had written its configuration.
	case f.Has(ConfigFile) || !missing && len(there) == 0:
		return nil
	}
	return fmt.Errorf("%w in %s", ErrNoRun, f)
}

// cause returns what is wrong with a path without naming it again.
func cause(err error) error {
	if pe, ok := errors.AsType[*os.PathError](err); ok {
		return pe.Err
	}
	return err
}

// Unfinished reports whether there are checkpoints to continue from. Leftovers
// of a killed process are none, and are removed where that is possible.
func (f Folder) Unfinished() bool {
	_ = f.clean()
	return f.hasCheckpoints()
}

func (f Folder) hasCheckpoints() bool {
	there, _ := os.ReadDir(f.checkpoints())
	return slices.ContainsFunc(there, func(e fs.DirEntry) bool { return !strings.HasPrefix(e.Name(), ".") })
}

// open makes the folder ready for a run and writes its configuration, so that it can
// be resumed however it ends.
func (f Folder) open(o *Options) error {
	if o.Mode == Overwrite {
		if err := f.clear(); err != nil {
			return err
		}
	}
	// What has checkpoints keeps the configuration that they belong to, in case
	// it turns out that this is another.
	if (o.Mode == Resume || o.Mode == Join) && f.hasCheckpoints() && f.Has(ConfigFile) {
		return nil
	}
	return f.writeConfig(o, nil)
}

// writeConfig writes config.yaml, if the run has one.
func (f Folder) writeConfig(o *Options, chosen *train.Options) error {
	if o.Config == nil {
		return nil
	}
	return f.write(ConfigFile, func(w io.Writer) error { return o.Config(w, chosen) })
}

// clear removes the files of an earlier run, and nothing else.
func (f Folder) clear() error {
	for _, name := range slices.Concat([]string{memberFile}, files) {
		if err := os.Remove(f.Path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := f.sweep(); err != nil {
		return err
	}
	return train.RemoveCheckpoint(f.checkpoints())
}

// abandon removes what open has made of a run that never began. The folder itself
// goes with the lock.
func (f Folder) abandon() {
	if !f.hasCheckpoints() && !f.Has(ModelFile) {
		os.Remove(f.Path(ConfigFile))
		os.Remove(f.Path(splitFile))
	}
}

// write puts a file into the folder, whole or not at all.
func (f Folder) write(name string, write func(w io.Writer) error) error {
	return atomicfile.Write(f.Path(name), write)
}

// WriteMetrics writes metrics.json.
func (f Folder) WriteMetrics(v any) error { return f.writeJSON(MetricsFile, "  ", v) }

func (f Folder) writeJSON(name, indent string, v any) error {
	return f.write(name, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", indent)
		return e.Encode(v)
	})
}

// sum returns the SHA-256 of a file in hexadecimal.
func (f Folder) sum(name string) (string, error) {
	text, err := os.ReadFile(f.Path(name))
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}

// writeHistory writes the epochs of every network, one per row.
func (f Folder) writeHistory(runs []model.Run) error {
	exact := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	rows := [][]string{{"run", "epoch", "loss", "held_out", "rate", "clamped", "kept", "note"}}
	for _, r := range runs {
		for _, e := range r.History {
			held := ""
			if e.HeldOut != nil {
				held = exact(*e.HeldOut)
			}
			rows = append(rows, []string{r.Name, strconv.Itoa(e.Epoch), exact(e.Loss), held, exact(e.Rate),
				exact(e.Clamped), strconv.FormatBool(e.Epoch == r.Epoch), e.Note})
		}
	}
	return f.write(HistoryFile, func(w io.Writer) error { return csv.NewWriter(w).WriteAll(rows) })
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

// lockFile is held by the process that writes into the folder, and by one that
// cleans up what a killed process left. It tells who that is.
const lockFile = ".lock"

// ErrInUse is the reason when another process is writing into a folder. The error
// names the process, its host and since when.
var ErrInUse = errors.New("is in use")

// Lock takes the folder for this process, and makes it if it is not there. If
// another process has it the error is ErrInUse. The system gives the folder back
// when the process ends, however it ends. [Train] does all of this itself.
func (f Folder) Lock() (release func() error, err error) {
	l, err := f.lock()
	if err != nil {
		return nil, err
	}
	return l.Release, nil
}

func (f Folder) lock() (*atomicfile.Lock, error) {
	for tries := 0; ; tries++ {
		if err := atomicfile.MkdirAll(string(f)); err != nil {
			return nil, err
		}
		l, err := atomicfile.TakeLock(f.Path(lockFile))
		if held, ok := errors.AsType[*atomicfile.HeldError](err); ok {
			held.Holder = cmp.Or(held.Holder, "another process")
			return nil, fmt.Errorf("%s %w by %s", f, ErrInUse, held.Holder)
		}
		// A run that never began takes its folder with it.
		if errors.Is(err, fs.ErrNotExist) && tries < 10 {
			continue
		}
		return l, err
	}
}

// clean removes what killed processes left half written, and their lock. If a
// living process writes into the folder the error is ErrInUse.
func (f Folder) clean() error {
	if !f.stale() {
		return nil
	}
	l, err := f.lock()
	if err != nil {
		return err
	}
	err = f.sweep()
	return errors.Join(err, l.Release())
}

// stale reports whether there is anything that a process at work or a killed one
// has left.
func (f Folder) stale() bool {
	temporary := func(e fs.DirEntry) bool {
		return e.Name() == lockFile || strings.HasPrefix(e.Name(), ".") && strings.HasSuffix(e.Name(), ".tmp")
	}
	there, _ := os.ReadDir(string(f))
	checkpoints, err := os.ReadDir(f.checkpoints())
	return slices.ContainsFunc(there, temporary) || slices.ContainsFunc(checkpoints, temporary) || err == nil && len(checkpoints) == 0
}

// sweep removes leftovers. The caller holds the lock: a folder of checkpoints that
// is empty may be one that is about to be written to.
func (f Folder) sweep() error {
	if err := atomicfile.Clean(string(f), slices.Concat([]string{memberFile}, files)...); err != nil {
		return err
	}
	return train.CleanCheckpoint(f.checkpoints())
}
