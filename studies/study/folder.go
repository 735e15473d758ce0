package study

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"credence/internal/atomicfile"
	"credence/internal/plot"
	"credence/nn"
)

// piecesFolder holds the finished pieces of a study.
const piecesFolder = ".pieces"

// ErrOtherStudy is the reason when a folder holds pieces of a study with other
// settings.
var ErrOtherStudy = errors.New("the folder holds a study with other settings")

// ErrTaken is the reason when a folder holds files other than those of a study.
var ErrTaken = errors.New("the folder is not empty and holds no study")

// Folder is where a study writes its results, and where it keeps each finished
// piece of work, so that a study that was stopped continues from there.
type Folder struct {
	path  string
	total int // pieces, for the display

	mu   sync.Mutex
	done int

	// Progress, if not nil, is called before each piece with the number of pieces that are done.
	Progress func(done, total int, what string)

	// Command is the command line that the page names as its origin.
	Command string
}

// OpenFolder creates a folder for a study, or opens an existing one. Pieces of
// a study with other settings are refused (ErrOtherStudy), or removed if overwrite is true.
func OpenFolder(path string, s Study, overwrite bool) (*Folder, error) {
	text, err := json.MarshalIndent(struct {
		Study    string `json:"study"`
		Kernel   string `json:"kernel"`
		Settings any    `json:"settings"`
	}{s.Name(), nn.CPU{}.Name(), s}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("settings of study %s: %w", s.Name(), err)
	}
	f := &Folder{path: path}
	mark := filepath.Join(piecesFolder, "settings.json")
	if err := f.clean(mark); err != nil {
		return nil, fmt.Errorf("opening the folder %s: %w", path, err)
	}
	entries, err := os.ReadDir(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("opening the folder %s: %w", path, err)
	}
	old, err := os.ReadFile(f.Path(mark))
	switch {
	case err == nil && bytes.Equal(bytes.TrimSpace(old), text):
		return f, nil
	case err == nil && !overwrite:
		return nil, fmt.Errorf("%s: %w: found %s, expected %s", path, ErrOtherStudy, oneLine(old), oneLine(text))
	case errors.Is(err, fs.ErrNotExist) && len(entries) > 0 && !overwrite:
		return nil, fmt.Errorf("%s: %w", path, ErrTaken)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	if err := os.RemoveAll(f.Path(piecesFolder)); err != nil {
		return nil, err
	}
	if err := atomicfile.MkdirAll(f.Path(piecesFolder)); err != nil {
		return nil, err
	}
	return f, f.write(mark, func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
}

// clean removes the partly written files of a killed process from a folder that holds
// a study, or the start of one: pieces without their mark.
func (f *Folder) clean(mark string) error {
	pieces := f.Path(piecesFolder)
	if err := atomicfile.Clean(pieces, "*.json"); err != nil {
		return err
	}
	if _, err := os.Stat(f.Path(mark)); err == nil {
		return atomicfile.Clean(f.path, "*")
	}
	if entries, err := os.ReadDir(pieces); err == nil && len(entries) == 0 {
		return os.Remove(pieces)
	}
	return nil
}

// oneLine writes a JSON text without line breaks.
func oneLine(text []byte) string {
	var b bytes.Buffer
	if json.Compact(&b, text) != nil {
		return strings.TrimSpace(string(text))
	}
	return b.String()
}

// Path returns the path of a file of the study.
func (f *Folder) Path(name string) string { return filepath.Join(f.path, name) }

// write writes a file into the folder atomically.
func (f *Folder) write(name string, write func(w io.Writer) error) error {
	return atomicfile.Write(f.Path(name), write)
}

// writeJSON writes v as an indented JSON file.
func (f *Folder) writeJSON(name string, v any) error {
	return f.write(name, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(v)
	})
}

// writeCSV writes a table. The first row names the columns.
func (f *Folder) writeCSV(name string, rows [][]string) error {
	return f.write(name, func(w io.Writer) error { return csv.NewWriter(w).WriteAll(rows) })
}

// writeFigure writes a figure as name.svg.
func (f *Folder) writeFigure(name string, figure plot.Figure) error {
	return f.write(name+".svg", func(w io.Writer) error { return plot.WriteSVG(w, figure) })
}

// pieceFile returns the path of the result of a piece.
func pieceFile(key string) string {
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(piecesFolder, fmt.Sprintf("%x.json", sum[:10]))
}

// hasPiece reports whether the result of a piece exists.
func (f *Folder) hasPiece(key string) bool {
	_, err := os.Stat(f.Path(pieceFile(key)))
	return err == nil
}

// piece returns the result of work, from the folder if it has been done before.
// The key names the piece and everything by which it differs from the other
// pieces of the study; T is written as JSON, so a NaN has to be a *float64 or
// kept out. Pieces may be worked on at the same time.
func piece[T any](ctx context.Context, f *Folder, key string, work func(ctx context.Context) (T, error)) (T, error) {
	var result T
	name := pieceFile(key)
	type file struct {
		Key    string
		Result T // not a pointer: the null of an unknown number is valid
	}
	if text, err := os.ReadFile(f.Path(name)); err == nil {
		var got file
		if json.Unmarshal(text, &got) == nil && got.Key == key {
			f.count()
			return got.Result, nil
		}
	}
	if err := ctx.Err(); err != nil {
		return result, err
	}
	f.show(key)
	result, err := work(ctx)
	if err != nil {
		return result, fmt.Errorf("%s: %w", key, err)
	}
	if err := f.writeJSON(name, file{key, result}); err != nil {
		return result, err
	}
	f.count()
	return result, nil
}

// count counts a piece that is done.
func (f *Folder) count() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done++
}

// show reports that work on a piece begins.
func (f *Folder) show(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.Progress != nil {
		f.Progress(f.done, f.total, key)
	}
}

// each calls work(i) for each i below n, up to the given number at a time, and returns the error of the first i that
// failed.
func each(n, most int, work func(i int) error) error {
	errs := make([]error, n)
	slots := make(chan bool, max(most, 1))
	var group sync.WaitGroup
	for i := range n {
		slots <- true
		group.Go(func() {
			errs[i] = work(i)
			<-slots
		})
	}
	group.Wait()
	return cmp.Or(errs...)
}
