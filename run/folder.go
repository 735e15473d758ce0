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
	suspectFile = "suspects.json"
	splitFile   = "split.csv"
)

// files are the files of a run, without its checkpoints, in the order in which they
// are removed: while there is a configuration the run can be resumed.
var files = []string{ModelFile, MetricsFile, HistoryFile, RatersFile, suspectFile, splitFile, ReportFile, ConfigFile}

// The errors for folders that cannot be used as requested.
var (
	ErrExists     = errors.New("exists and is not empty")
	ErrEnded      = errors.New("the run has ended: nothing to resume")
	ErrNoRun      = errors.New("no run to resume")
	ErrNoModel    = errors.New("contains no " + ModelFile)
	ErrUnfinished = errors.New("the run has not ended")
)

// Mode specifies what to do with a folder that is not empty.
type Mode int

const (
	New       Mode = iota // return ErrExists
	Resume                // continue its run
	Overwrite             // replace its run
	Join                  // join its members, see [ReadMembers]
)

// FolderOf returns the folder of a run, given the path of the folder or of the
// model file in it.
func FolderOf(path string) Folder {
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		path = filepath.Dir(path)
	}
	return Folder(path)
}

// Path returns the path of a file of the run.
func (f Folder) Path(name string) string { return filepath.Join(string(f), name) }

// Files returns the paths of the files of a run, whether they exist or not, without
// its checkpoints.
func (f Folder) Files() []string { return words.Each(files, f.Path) }

// Has reports whether the folder contains a file.
func (f Folder) Has(name string) bool {
	_, err := os.Stat(f.Path(name))
	return err == nil
}

// checkpoints returns the folder with the state of a run that has not ended.
func (f Folder) checkpoints() string { return f.Path("checkpoint") }

// Check returns the error that [Train] would return for the folder, before any data are
// read: another process is writing into it (ErrInUse), it is not empty (ErrExists)
// or, to be resumed, it has no run (ErrNoRun) or one that has ended (ErrEnded).
func (f Folder) Check(mode Mode) error {
	if err := f.clean(); err != nil {
		return err
	}
	return f.check(mode)
}

// check is Check for a caller that holds the lock.
func (f Folder) check(mode Mode) error {
	// Windows reports a file in its place like a missing folder.
	if info, err := os.Stat(string(f)); err == nil && !info.IsDir() {
		return fmt.Errorf("%s: expected a folder: not a directory", f)
	}
	there, err := os.ReadDir(string(f))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: expected a folder: %w", f, cause(err))
	}
	missing := err != nil
	there = slices.DeleteFunc(there, func(e fs.DirEntry) bool { return e.Name() == lockFile })
	switch {
	case mode == Overwrite || mode == New && len(there) == 0:
		return nil
	case mode == New:
		return fmt.Errorf("%s %w", f, ErrExists)
	case f.hasCheckpoints():
		return nil
	case f.Has(ModelFile):
		return fmt.Errorf("%s: %w", f, ErrEnded)
	// A run that was killed before its first checkpoint starts again, even if it
	// had not written its configuration yet.
	case mode == Join || f.Has(ConfigFile) || !missing && len(there) == 0:
		return nil
	}
	return fmt.Errorf("%w in %s", ErrNoRun, f)
}

// cause returns an error without the path in it.
func cause(err error) error {
	if pe, ok := errors.AsType[*os.PathError](err); ok {
		return pe.Err
	}
	return err
}

// Unfinished reports whether there are checkpoints to continue from. Temporary files
// of a killed process do not count, and are removed where possible.
func (f Folder) Unfinished() bool {
	_ = f.clean()
	return f.hasCheckpoints()
}

func (f Folder) hasCheckpoints() bool {
	there, _ := os.ReadDir(f.checkpoints())
	return slices.ContainsFunc(there, func(e fs.DirEntry) bool { return !strings.HasPrefix(e.Name(), ".") })
}

// open prepares the folder for a run and writes its configuration, so that the run can
// be resumed however it ends.
func (f Folder) open(o *Options) error {
	if o.Mode == Overwrite {
		if err := f.clear(); err != nil {
			return err
		}
	}
	// Checkpoints keep the configuration that they belong to, in case this
	// one turns out to be different.
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

// abandon removes the files that open wrote for a run that never started. The folder itself
// is removed with the lock.
func (f Folder) abandon() {
	if !f.hasCheckpoints() && !f.Has(ModelFile) {
		os.Remove(f.Path(ConfigFile))
		os.Remove(f.Path(splitFile))
	}
}

// write writes a file of the folder atomically.
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

func (f Folder) writeCSV(name string, rows [][]string) error {
	return f.write(name, func(w io.Writer) error { return csv.NewWriter(w).WriteAll(rows) })
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
	return f.writeCSV(HistoryFile, rows)
}

// Load reads the model at path, which is a model file or the folder of a run. For a
// folder without a model the error is ErrNoModel, and also ErrUnfinished if its
// training was interrupted.
func Load(path string) (*model.Model, error) { return LoadWith(path, model.Extensions{}) }

// LoadWith is [Load] with [model.LoadWith].
func LoadWith(path string, k model.Extensions) (*model.Model, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("reading the model %s: %w", path, cause(err))
	}
	if !info.IsDir() {
		return model.LoadWith(path, k)
	}
	folder := Folder(path)
	switch {
	case folder.Has(ModelFile):
		return model.LoadWith(folder.Path(ModelFile), k)
	case folder.Unfinished():
		return nil, fmt.Errorf("%s %w: %w", path, ErrNoModel, ErrUnfinished)
	}
	return nil, fmt.Errorf("%s %w", path, ErrNoModel)
}

// lockFile is locked by the process that writes into the folder, or cleans up after
// a killed process. It contains a description of that process.
const lockFile = ".lock"

// ErrInUse is the error when another process is writing into a folder. The message
// has the process, its host and the time it began.
var ErrInUse = errors.New("is in use")

// Lock locks the folder for this process, and creates it if it does not exist. If
// another process has locked it, the error is ErrInUse. The system releases the lock
// when the process ends, however it ends. [Train] locks the folder itself.
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
		// A run that never started removes its folder.
		if errors.Is(err, fs.ErrNotExist) && tries < 10 {
			continue
		}
		return l, err
	}
}

// clean removes the temporary files and the lock of killed processes. If a running
// process is writing into the folder the error is ErrInUse.
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

// stale reports whether there are temporary files or a lock, of a running process or
// a killed one.
func (f Folder) stale() bool {
	temporary := func(e fs.DirEntry) bool {
		return e.Name() == lockFile || strings.HasPrefix(e.Name(), ".") && strings.HasSuffix(e.Name(), ".tmp")
	}
	there, _ := os.ReadDir(string(f))
	checkpoints, err := os.ReadDir(f.checkpoints())
	return slices.ContainsFunc(there, temporary) || slices.ContainsFunc(checkpoints, temporary) || err == nil && len(checkpoints) == 0
}

// sweep removes temporary files. The caller must hold the lock: another process may be
// about to write to an empty folder of checkpoints.
func (f Folder) sweep() error {
	if err := atomicfile.Clean(string(f), slices.Concat([]string{memberFile}, files)...); err != nil {
		return err
	}
	return train.CleanCheckpoint(f.checkpoints())
}
