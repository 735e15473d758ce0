package predict

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"credence/internal/fault"
)

// FileSum says which content a file has.
type FileSum struct {
	Name   string `json:"name"` // without its folder
	SHA256 string `json:"sha256"`

	Lines int   `json:"-"`
	Bytes int64 `json:"-"`
}

// SumFile reads a file through. Of a folder, names, sizes and times of the files in it count: to read
// images or volumes twice would take longer than to predict them.
func SumFile(ctx context.Context, path string) (FileSum, error) {
	s := FileSum{Name: filepath.Base(path)}
	f, err := fault.OpenFile(path)
	if err != nil {
		return s, fault.Of(path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return s, fault.Of(path, err)
	}
	sum := sha256.New()
	switch {
	case info.IsDir():
		err = filepath.WalkDir(path, func(at string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			info, err := e.Info()
			if err != nil {
				return err
			}
			name, err := filepath.Rel(path, at)
			fmt.Fprintf(sum, "%q %d %d\n", filepath.ToSlash(name), info.Size(), info.ModTime().UnixNano())
			s.Bytes += info.Size()
			return err
		})
	case info.Mode().IsRegular():
		_, err = io.CopyBuffer(io.MultiWriter(sum, (*lineCounter)(&s)), fault.Reader(ctx, f), make([]byte, 1<<20))
	default:
		return s, fmt.Errorf("%s is no file that can be read twice", path)
	}
	if err != nil {
		return s, fault.Of(path, err)
	}
	s.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return s, nil
}

// lineCounter counts the lines of what is written to it.
type lineCounter FileSum

func (c *lineCounter) Write(b []byte) (int, error) {
	c.Lines += bytes.Count(b, []byte{'\n'})
	c.Bytes += int64(len(b))
	return len(b), nil
}
