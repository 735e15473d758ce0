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

// Format is the volume format NIfTI.
var Format = volume.Format{Name: "NIfTI", Extensions: extensions, Voxels: ".img", Read: Read, Files: files,
	Header: readHeader}

// files returns the files of a volume: one, or header and voxels.
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
	// The other extension is assumed to have the same case as the given one.
	if given := path[len(stem) : len(stem)+4]; given == strings.ToUpper(given) {
		other = strings.ToUpper(other)
	}
	for _, gz := range []string{"", ".gz"} {
		if _, err := os.Stat(stem + other + gz); err == nil {
			pair[at] = stem + other + gz
			return pair, nil
		}
	}
	return nil, &fault.Error{File: path, Msg: fmt.Sprintf("expected %s next to it: header and voxels are a pair of files", filepath.Base(stem)+other), Err: fs.ErrNotExist}
}

// readHeader reads the header of the volume at path.
func readHeader(path string) (volume.Header, error) {
	_, src, err := openFirst(context.Background(), path)
	if err != nil {
		return volume.Header{}, err
	}
	defer src.Close()
	h, err := src.header()
	if err != nil {
		return volume.Header{}, err
	}
	return volume.Header{Dim: h.Dim, Oriented: h.Oriented}, nil
}

// openFirst opens the header file of the volume at path, and returns the names of
// all of the volume's files.
func openFirst(ctx context.Context, path string) ([]string, *source, error) {
	files, err := files(path)
	if err != nil {
		return nil, nil, err
	}
	src, err := open(ctx, files[0])
	return files, src, err
}

// Read reads the volume at path, the first one of a series. The path may name either
// file of a pair. Files compressed with gzip are recognized by their content.
// [volume.Header.Memory] returns the memory that it needs.
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
		return nil, fault.Malformed(path, "according to its header the voxels are in an .img file, but its name is not that of a pair")
	}
	img, err := open(ctx, files[1])
	if err != nil {
		return nil, err
	}
	defer img.Close()
	return img.volume(h)
}

// source is an open file, decompressed while reading.
type source struct {
	file   string
	size   int64 // of the file itself
	packed bool
	r      io.Reader
	at     int64 // bytes read
	io.Closer
}

// open opens a file. The source closes it.
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

// newSource returns a source that reads from r, a file of the given size and name.
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

// read fills b. Errors mention what is read and its size need.
func (s *source) read(b []byte, what string, need int64) error {
	n, err := io.ReadFull(s.r, b)
	return s.advance(int64(n), err, what, need)
}

// advance counts n bytes, and wraps the error that followed them.
func (s *source) advance(n int64, err error, what string, need int64) error {
	s.at += n
	switch {
	case err == nil:
		return nil
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return fault.Malformed(s.file, "the file is truncated: expected %d bytes for %s, found %d", need, what, s.at)
	}
	return s.damaged(err)
}

// damaged wraps an error of decompression or of the disk.
func (s *source) damaged(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if s.packed {
		return fault.Malformed(s.file, "its compressed data are damaged after %d bytes: %v", s.at, err)
	}
	return fault.Of(s.file, err)
}

// header reads the header at the beginning of the file.
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

// volume reads the first volume, from the present position.
func (s *source) volume(h *Header) (*Volume, error) {
	dim := h.Dim
	n, size := dim[0]*dim[1]*dim[2], h.Type.size()
	need := h.Offset + int64(n)*int64(size)
	what := fmt.Sprintf("%s voxels of %v after byte %d", volume.Dims(dim), h.Type, h.Offset)
	most, found := s.size, fmt.Sprint(s.size)
	if s.packed {
		// Deflate expands one byte to at most 1,032.
		most, found = 1032*s.size+1032, found+" compressed ones"
	}
	if need > most {
		return nil, fault.Malformed(s.file, "the file is truncated: expected %d bytes for %s, found %s", need, what, found)
	}
	if skip := h.Offset - s.at; skip > 0 {
		k, err := io.CopyN(io.Discard, s.r, skip)
		if err := s.advance(k, err, what, need); err != nil {
			return nil, err
		}
	}
	// Beyond a modest start, memory grows with the data that were actually read.
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

// end reads up to the checksum of a compressed file if it is near: it is after a
// single volume, but not after the first of a series.
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
