package dataset

import (
	"os"
	"path/filepath"
	"strings"

	"credence/internal/table"
)

// twiceGiven refuses a file that is given twice, by whatever name or link, or once beside a folder that it is
// read with. what is what the files hold.
func twiceGiven(paths []string, what string) error {
	var infos []os.FileInfo
	for i, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			info = nil // the reader tells why
		}
		for j, other := range paths[:i] {
			msg := "this file of " + what + " is given twice"
			switch {
			case other == path:
			case info == nil || infos[j] == nil:
				continue
			case os.SameFile(info, infos[j]):
				msg += ", also as " + other
			case info.IsDir() && readWith(path, other):
				msg = "this folder of " + what + " holds " + other + ", which is given twice"
			case infos[j].IsDir() && readWith(other, path):
				msg += ", also in the folder " + other
			default:
				continue
			}
			if what == "votes" {
				msg += ": its votes would count double"
			}
			return &ParseError{File: path, Msg: msg}
		}
		infos = append(infos, info)
	}
	return nil
}

// readWith reports whether a file or folder lies in a folder and is read with it. Other files may lie there too, such
// as a table beside images.
func readWith(folder, file string) bool {
	inside, ok := below(folder, file)
	if !ok {
		return false
	}
	tables, err := isTableFolder(folder)
	if err != nil {
		return false // the reader tells why
	}
	if !tables {
		other, err := isTableFolder(file)
		return isPicture(file) || isFolder(file) && !other && err == nil
	}
	files, _ := table.FolderFiles(folder)
	for _, f := range files {
		if name, err := filepath.Rel(folder, f); err == nil && (name == inside || strings.HasPrefix(name, inside+string(filepath.Separator))) {
			return true
		}
	}
	return false
}

// below returns the path of a file from a folder that it lies in, whatever links lead there.
func below(folder, file string) (rel string, ok bool) {
	var real [2]string
	for i, path := range []string{folder, file} {
		path, err := filepath.EvalSymlinks(path)
		if err == nil {
			path, err = filepath.Abs(path)
		}
		if err != nil {
			return "", false
		}
		real[i] = path
	}
	rel, err := filepath.Rel(real[0], real[1])
	return rel, err == nil && filepath.IsLocal(rel)
}
