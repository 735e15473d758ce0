package nifti

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"credence/internal/fault"
	"credence/internal/volume"
)

var extensions = []string{".nii", ".hdr", ".img"}

// Format is NIfTI as a format of volumes.
var Format = volume.Format{Name: "NIfTI", Extensions: extensions, Voxels: ".img", Read: Read, Files: files,
	Header: func(path string) (volume.Header, error) {
		h, err := ReadHeader(path)
		if err != nil {
			return volume.Header{}, err
		}
		return volume.Header{Dim: h.first(), Oriented: h.Oriented}, nil
	}}

// files returns the files that a volume is made of: one, or header and voxels.
func files(path string) ([]string, error) {
	stem, ext := volume.SplitName(path, extensions)
	if ext != ".hdr" && ext != ".img" {
		return []string{path}, nil
	}
	pair := []string{path, path}
	at, other := 1, ".img"
	if ext == ".img" {
		at, other = 0, ".hdr"
	}
	// The case of the given extension is that of the other, most likely.
	if given := path[len(stem) : len(stem)+4]; given == strings.ToUpper(given) {
		other = strings.ToUpper(other)
	}
	for _, gz := range []string{"", ".gz"} {
		if _, err := os.Stat(stem + other + gz); err == nil {
			pair[at] = stem + other + gz
			return pair, nil
		}
	}
	return nil, &fault.Error{File: path, Msg: fmt.Sprintf("no %s beside it: header and voxels are a pair of files", filepath.Base(stem)+other), Err: fs.ErrNotExist}
}

// ReadHeader reads the header of the volume at path.
func ReadHeader(path string) (*Header, error) {
	_, src, err := openFirst(context.Background(), path)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	return src.header()
}

// openFirst opens the file of the header of the volume at path, and names all of
// the volume's files.
func openFirst(ctx context.Context, path string) ([]string, *source, error) {
	files, err := files(path)
	if err != nil {
		return nil, nil, err
	}
	src, err := open(ctx, files[0])
	return files, src, err
}

// Read reads the volume at path, the first one of a series. Either file of a
// pair may be named. Files compressed with gzip are recognized by their content.
// [volume.Header.Memory] says what it takes.
func Read(ctx context.Context, path string) (*Volume, error) {
	files, src, err := openFirst(ctx, path)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	h, err := src.header()
	if err != nil {
		return nil, err
	}
	if !h.Pair {
		return src.volume(h)
	}
	if len(files) == 1 {
		return nil, fault.Malformed(path, "its header says that the voxels are in an .img file, but its name is not that of a pair")
	}
	img, err := open(ctx, files[1])
	if err != nil {
		return nil, err
	}
	defer img.Close()
	return img.volume(h)
}

// source is a file being read, decompressed on the way.
type source struct {
	file   string
	size   int64 // of the file itself
	packed bool
	r      io.Reader
	at     int64 // bytes read
	io.Closer
}

func open(ctx context.Context, path string) (*source, error) {
	f, size, err := fault.Open(path)
	if err != nil {
		return nil, err
	}
	s, err := newSource(path, fault.Reader(ctx, f), size)
	if info, failed := f.Stat(); failed == nil && info.IsDir() {
		err = fault.Of(path, errors.New("it is a folder"))
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	s.Closer = f
	return s, nil
}

// newSource reads a file of the given size, named in messages.
func newSource(file string, r io.Reader, size int64) (*source, error) {
	s := &source{file: file, size: size}
	b := bufio.NewReaderSize(r, 1<<16)
	s.r = b
	if start, _ := b.Peek(2); len(start) == 2 && start[0] == 0x1f && start[1] == 0x8b {
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, fault.Malformed(file, "its gzip header is damaged: %v", err)
		}
		s.r, s.packed = z, true
	}
	return s, nil
}

// holds returns the most bytes that the file can give. Deflate makes at best
// 1,032 bytes of one.
func (s *source) holds() int64 {
	if s.packed {
		return 1032*s.size + 1032
	}
	return s.size
}

// read fills b, or says how much of what is there.
func (s *source) read(b []byte, what string, need int64) error {
	n, err := io.ReadFull(s.r, b)
	return s.took(int64(n), err, what, need)
}

// took counts n bytes, and says what an error behind them means.
func (s *source) took(n int64, err error, what string, need int64) error {
	s.at += n
	switch {
	case err == nil:
		return nil
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return fault.Malformed(s.file, "the file is cut short: %s take %d bytes, but it has %d", what, need, s.at)
	}
	return s.damaged(err)
}

// damaged tells an error of decompression from one of the disk.
func (s *source) damaged(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if s.packed {
		return fault.Malformed(s.file, "its compressed data are damaged after %d bytes: %v", s.at, err)
	}
	return fault.Of(s.file, err)
}

// header reads the header at the beginning.
func (s *source) header() (*Header, error) {
	b := make([]byte, headerSize2)
	if err := s.read(b[:4], "the first bytes of a header", 4); err != nil {
		return nil, err
	}
	size, order, err := headerSize(b)
	if err != nil {
		return nil, fault.Malformed(s.file, "%v", err)
	}
	if err := s.read(b[4:size], "the bytes of its header", int64(size)); err != nil {
		return nil, err
	}
	h, err := parseHeader(b[:size], order)
	if err != nil {
		return nil, fault.Malformed(s.file, "%v", err)
	}
	return h, nil
}

// volume reads the first volume, from wherever the source stands.
func (s *source) volume(h *Header) (*Volume, error) {
	dim := h.first()
	n, size := dim[0]*dim[1]*dim[2], h.Type.size()
	need := h.Offset + int64(n)*int64(size)
	what := fmt.Sprintf("%s voxels of %v after byte %d", volume.Dims(dim), h.Type, h.Offset)
	if need > s.holds() {
		found := fmt.Sprint(s.size)
		if s.packed {
			found += " compressed ones"
		}
		return nil, fault.Malformed(s.file, "the file is cut short: %s take %d bytes, but it has %s", what, need, found)
	}
	if skip := h.Offset - s.at; skip > 0 {
		k, err := io.CopyN(io.Discard, s.r, skip)
		if err := s.took(k, err, what, need); err != nil {
			return nil, err
		}
	}
	// Memory grows with what has come out of the file, beyond a modest start.
	const block, modest = 1 << 14, 1 << 24
	data := make([]float32, 0, min(n, modest))
	buf := make([]byte, block*size)
	for len(data) < n {
		k := min(block, n-len(data))
		if err := s.read(buf[:k*size], what, need); err != nil {
			return nil, err
		}
		if len(data)+k > cap(data) {
			data = append(make([]float32, 0, min(n, 2*cap(data))), data...)
		}
		at := len(data)
		data = data[:at+k]
		h.Type.decode(data[at:], buf, h.order, h.Slope, h.Inter)
	}
	if err := s.end(); err != nil {
		return nil, err
	}
	v, err := volume.Canonical(data, dim, h.Affine)
	if err != nil {
		return nil, fault.Malformed(s.file, "%v", err)
	}
	return v, nil
}

// end reads on to the checksum of a compressed file, if it is near: behind a
// single volume it is, behind the first of a series it is not.
func (s *source) end() error {
	if !s.packed {
		return nil
	}
	const near = 1 << 16
	if _, err := io.CopyN(io.Discard, s.r, near); err != nil && err != io.EOF {
		return s.damaged(err)
	}
	return nil
}
