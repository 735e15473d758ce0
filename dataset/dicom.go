package dataset

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"credence/internal/table"
)

// isDICOM reports whether a file is in the format of scanners, by its content: "DICM" after 128 bytes.
func isDICOM(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 132)
	_, err = io.ReadFull(f, head)
	return err == nil && string(head[128:]) == "DICM"
}

// findDICOM returns a DICOM file: path itself, or one among the first files below a folder; else "".
func findDICOM(path string) string {
	if !isFolder(path) {
		if isDICOM(path) {
			return path
		}
		return ""
	}
	found, seen := "", 0
	filepath.WalkDir(filepath.Clean(path)+string(filepath.Separator), func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil // the reader of the folder reports errors
		}
		if seen++; isDICOM(file) {
			found = file
		}
		if found != "" || seen >= 1000 {
			return filepath.SkipAll
		}
		return nil
	})
	return found
}

// errDICOM returns the error about DICOM files at a path, with the command that converts them.
func errDICOM(file, path string) *ParseError {
	folder := path
	if !isFolder(path) {
		folder = filepath.Dir(path)
	}
	if strings.ContainsAny(folder, " '\"$") {
		folder = "'" + strings.ReplaceAll(folder, "'", `'\''`) + "'"
	}
	return &ParseError{File: file, Msg: fmt.Sprintf("expected NIfTI or images, found DICOM (%s): convert with dcm2niix, which writes one NIfTI file per series: mkdir -p nifti && dcm2niix -z y -o nifti -f %%i_%%s %s", path, folder)}
}

// samplePaths is the number of different values of a column that are looked for as files.
const samplePaths = 20

// filesIn reports whether the values of a column are paths of files or folders that exist, relative to the folder of
// the table, and returns the first.
func (s *scan) filesIn(levels map[string]int) (first string, ok bool) {
	names := make([]string, 0, len(levels))
	for name := range levels {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names[:min(len(names), samplePaths)] {
		path, err := s.opts.imagePath(folderOf(s.t.Name()), name)
		if err != nil || !strings.ContainsAny(name, `/\.`) || len(name) > longText {
			return "", false
		}
		if _, err := os.Stat(path); err != nil {
			return "", false
		}
		if first == "" {
			first = path
		}
	}
	return first, first != ""
}

// checkPaths returns an error if the ids or a column of texts are paths of DICOM files, and marks columns of other files.
func (s *scan) checkPaths() error {
	if s.t.Name() == table.Stdin {
		return nil
	}
	for i := range s.columns {
		c := &s.columns[i]
		levels := c.levels
		if i == s.item {
			levels = map[string]int{}
			for _, id := range s.ids.names[:min(len(s.ids.names), samplePaths)] {
				levels[id] = 1
			}
		} else if !c.use || c.fixed || c.texts == 0 || c.numbers > 0 || c.kind == Text {
			continue
		}
		first, ok := s.filesIn(levels)
		if !ok {
			continue
		}
		if dicom := findDICOM(first); dicom != "" {
			return errDICOM(s.t.Name(), dicom)
		}
		c.files = i != s.item
	}
	return nil
}
