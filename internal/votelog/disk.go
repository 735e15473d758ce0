package votelog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"credence/internal/atomicfile"
)

// WriteError reports a vote that was not acknowledged because it is not in the file.
type WriteError struct {
	Path string
	Err  error
}

// Error names the file and the cause.
func (e *WriteError) Error() string {
	return fmt.Sprintf("%s: the vote could not be written: %v", e.Path, e.Err)
}

// Unwrap returns the cause.
func (e *WriteError) Unwrap() error { return e.Err }

// Reason returns the cause without the names of files, for clients.
func (e *WriteError) Reason() string {
	if system, ok := errors.AsType[*os.PathError](e.Err); ok {
		return system.Err.Error()
	}
	return "another program changed the file of votes"
}

// appender is the part of an [os.File] that can fail for lack of space.
type appender interface {
	io.Writer
	Sync() error
}

// disk is the file of votes at a path. It holds the acknowledged votes and, after them, at most what a
// write that failed has left. One goroutine uses it.
type disk struct {
	path  string
	file  *os.File
	info  os.FileInfo             // identifies file, whatever its names
	wrap  func(*os.File) appender // set by tests
	out   appender
	end   int64  // where the acknowledged votes end
	tried []byte // what the last write was to append, if it failed

	rejected os.FileInfo // what lay at the path when it could not be taken over
	why      error
}

// load takes over the file at the path and returns its votes. They have to begin with those that were
// acknowledged before. A file that is not there is created if there were none.
func (d *disk) load(had []Vote) (all []Vote, err error) {
	now, err := os.Stat(d.path)
	create := len(had) == 0 && errors.Is(err, os.ErrNotExist)
	if err != nil && !create {
		return nil, err
	}
	if !create && d.rejected != nil && unchanged(now, d.rejected) {
		return nil, d.why
	}
	f, info := d.file, d.info
	if f == nil || create || !os.SameFile(now, info) {
		if f, info, err = d.lock(create); err != nil {
			return nil, err
		}
		defer func() {
			if err != nil {
				f.Close()
			}
		}()
	}
	all, end, err := d.read(f, info, had)
	if err != nil {
		d.rejected, d.why = now, err
		return nil, err
	}
	if end == 0 {
		if _, err = f.WriteString(header); err != nil {
			return nil, err
		}
		end = int64(len(header))
	}
	if err = f.Sync(); err != nil {
		return nil, err
	}
	if create { // the name has to be on disk too
		if err = atomicfile.SyncDir(filepath.Dir(d.path)); err != nil {
			return nil, err
		}
	}
	if d.file != nil && d.file != f {
		d.file.Close()
	}
	d.file, d.info, d.out, d.end = f, info, f, end
	if d.wrap != nil {
		d.out = d.wrap(f)
	}
	return all, nil
}

// unchanged reports whether nobody wrote into a file between two looks at it.
func unchanged(a, b os.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// lock opens the file at the path and takes its lock, which holds for all names of the file.
func (d *disk) lock(create bool) (*os.File, os.FileInfo, error) {
	flags := os.O_RDWR | os.O_APPEND
	if create {
		flags |= os.O_CREATE
	}
	f, err := os.OpenFile(d.path, flags, 0o666)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: expected a regular file", d.path)
	}
	if err == nil {
		if err = atomicfile.LockFile(f); err != nil {
			err = fmt.Errorf("%w, perhaps under another name", err)
		}
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// read returns the votes of f and where they end. What a crash left half-written is cut off when the
// log is opened; later on, it can be what another program is writing.
func (d *disk) read(f *os.File, info os.FileInfo, had []Vote) (all []Vote, end int64, err error) {
	all, end, torn, err := read(d.path, io.NewSectionReader(f, 0, math.MaxInt64))
	if err != nil {
		return nil, 0, err
	}
	for i, v := range had {
		if i >= len(all) || !all[i].equal(v) {
			return nil, 0, fmt.Errorf("the acknowledged vote of line %d is no longer in the file: put the file back, or start the server again without it", i+2)
		}
	}
	switch {
	case !torn:
	case d.file == nil:
		err = d.cut(info, end)
	default:
		err = fmt.Errorf("line %d has no end: another program is writing into the file, or was stopped while it did", len(all)+2)
	}
	return all, end, err
}

// cut shortens the file, by a handle of its own: one that appends cannot do so on every system.
func (d *disk) cut(info os.FileInfo, end int64) error {
	f, err := os.OpenFile(d.path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if now, err := f.Stat(); err != nil || !os.SameFile(now, info) {
		return errors.Join(errReplaced, err)
	}
	return f.Truncate(end)
}

var errReplaced = errors.New("another file is in its place")

// check reports whether the file is still the one at its path, and ends where it should.
func (d *disk) check(end int64) error {
	now, err := os.Stat(d.path)
	switch {
	case err != nil:
		return err
	case !os.SameFile(now, d.info):
		return errReplaced
	case now.Size() != end:
		return fmt.Errorf("found %d bytes, expected %d: another program writes into the file", now.Size(), end)
	}
	return nil
}

// left reports whether all that follows the acknowledged votes was left by the write that failed.
func (d *disk) left() bool {
	now, err := os.Stat(d.path)
	if err != nil || !os.SameFile(now, d.info) || now.Size() < d.end || now.Size() > d.end+int64(len(d.tried)) {
		return false
	}
	tail := make([]byte, now.Size()-d.end)
	n, _ := d.file.ReadAt(tail, d.end)
	return bytes.Equal(tail, d.tried[:n])
}

// append writes text after the votes, and returns after it is on disk and in the file at the path.
func (d *disk) append(text []byte) error {
	end := d.end + int64(len(text))
	_, err := d.out.Write(text)
	if err == nil {
		err = d.out.Sync()
	}
	if err == nil {
		err = d.check(end)
	}
	if err != nil {
		d.tried = text
		return err
	}
	d.end, d.tried = end, nil
	return nil
}

// probe repeats the first line of the write that failed and takes it away again: what is there between
// the two is a whole line, which readers can read.
func (d *disk) probe() error {
	end, tried := d.end, d.tried
	if err := d.append(tried[:bytes.IndexByte(tried, '\n')+1]); err != nil {
		return err
	}
	d.end, d.tried = end, tried
	if err := d.cut(d.info, end); err != nil {
		return err
	}
	d.tried = nil
	return nil
}
