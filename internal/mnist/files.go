package mnist

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"credence/internal/atomicfile"
)

// ErrSum is the reason when a file is not the original.
var ErrSum = errors.New("the file is not the original")

// File is one of the four files.
type File struct {
	Name string
	Size int64  // in bytes, uncompressed
	Sum  string // SHA-256 of the uncompressed content, in hexadecimal
}

// originals are the files in the order in which read takes them.
var originals = []File{
	{"train-images-idx3-ubyte", 47040016, "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"},
	{"train-labels-idx1-ubyte", 60008, "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"},
	{"t10k-images-idx3-ubyte", 7840016, "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"},
	{"t10k-labels-idx1-ubyte", 10008, "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"},
}

// maxSize bounds the number of bytes read from a file.
const maxSize = 1 << 28

// in returns the path of the file in a folder, plain or compressed, after
// verifying its content.
func (f File) in(folder string) (string, error) {
	for _, name := range []string{f.Name, f.Name + ".gz"} {
		path := filepath.Join(folder, name)
		src, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		err = f.verify(io.Discard, src)
		src.Close()
		if err != nil {
			return "", fmt.Errorf("reading %s: %w", path, err)
		}
		return path, nil
	}
	return "", fmt.Errorf("reading %s: neither %s nor %[2]s.gz is there: %w", folder, f.Name, fs.ErrNotExist)
}

// verify copies the content, uncompressed if need be, to dst, and returns an
// error unless it is the original.
func (f File) verify(dst io.Writer, src io.Reader) error {
	b := bufio.NewReader(src)
	var r io.Reader = b
	if magic, _ := b.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(b)
		if err != nil {
			return err
		}
		r = z
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(sum, dst), io.LimitReader(r, maxSize))
	if err != nil {
		return err
	}
	if found := hex.EncodeToString(sum.Sum(nil)); found != f.Sum {
		return fmt.Errorf("%w %s: SHA-256 is %s (%d bytes), expected %s (%d bytes)", ErrSum, f.Name, found, n, f.Sum, f.Size)
	}
	return nil
}

// Paths returns the paths to which [Copy] writes the files.
func Paths(folder string) []string {
	var list []string
	for _, f := range originals {
		list = append(list, filepath.Join(folder, f.Name))
	}
	return list
}

// Copy writes the files of a folder, uncompressed, into another, which is created if
// necessary.
func Copy(from, to string) error { return copyFiles(from, to, originals) }

func copyFiles(from, to string, files []File) error {
	if err := atomicfile.MkdirAll(to); err != nil {
		return err
	}
	for _, f := range files {
		path, err := f.in(from)
		if err != nil {
			return err
		}
		src, err := os.Open(path)
		if err != nil {
			return err
		}
		err = atomicfile.Write(filepath.Join(to, f.Name), func(w io.Writer) error { return f.verify(w, src) })
		src.Close()
		if err != nil {
			return err
		}
	}
	return nil
}
