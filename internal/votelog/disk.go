package votelog

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"credence/internal/atomicfile"
)

// WriteError reports a vote that was not acknowledged because it could not be written.
type WriteError struct {
	Path string
	Err  error
}

// Error returns a message with the file and the cause.
func (e *WriteError) Error() string {
	return fmt.Sprintf("%s: the vote could not be written: %v", e.Path, e.Err)
}

// Unwrap returns the cause.
func (e *WriteError) Unwrap() error { return e.Err }

// Reason returns the cause without file names, for clients.
func (e *WriteError) Reason() string {
	if system, ok := errors.AsType[*os.PathError](e.Err); ok {
		return system.Err.Error()
	}
	return "another program changed the vote file"
}

// appender is the part of an [os.File] that can fail for lack of space.
type appender interface {
	io.Writer
	Sync() error
}

// disk is the file of votes at a path. It contains the acknowledged votes and, after them, at most the
// remains of a failed write. It is used by one goroutine.
type disk struct {
	path       string
	file       *os.File
	info       os.FileInfo             // identifies file, independently of its names
	wrap       func(*os.File) appender // set by tests
	out        appender
	end        int64  // end of the acknowledged votes
	failedText []byte // text of the last write, if it failed

	rejected  os.FileInfo // the file at the path when loading failed
	rejectErr error       // of that failure
}

// load opens and locks the file at the path and returns its votes. They must begin with had, the votes
// acknowledged before. If there were none, a missing file is created.
func (d *disk) load(had []Vote) (all []Vote, err error) {
	now, err := os.Stat(d.path)
	create := len(had) == 0 && errors.Is(err, os.ErrNotExist)
	if err != nil && !create {
		return nil, err
	}
	if !create && d.rejected != nil && unchanged(now, d.rejected) {
		return nil, d.rejectErr
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
		d.rejected, d.rejectErr = now, err
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
	if create { // the directory entry must be on disk, too
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

// unchanged reports whether a file was not modified between two calls of Stat.
func unchanged(a, b os.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// lock opens the file at the path and takes its lock, which applies to all names of the file.
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

// read returns the votes of f and where they end. An incomplete line left by a crash is removed when the
// log is opened. Later it is an error, since another program may be writing it.
func (d *disk) read(f *os.File, info os.FileInfo, had []Vote) (all []Vote, end int64, err error) {
	all, end, torn, err := read(d.path, io.NewSectionReader(f, 0, math.MaxInt64))
	if err != nil {
		return nil, 0, err
	}
	for i, v := range had {
		if i >= len(all) || !all[i].equal(v) {
			return nil, 0, fmt.Errorf("the acknowledged vote of line %d is no longer in the file: restore the file, or restart the server without it", i+2)
		}
	}
	switch {
	case !torn:
	case d.file == nil:
		err = d.cut(info, end)
	default:
		err = fmt.Errorf("line %d is incomplete: another program is writing to the file, or was interrupted", len(all)+2)
	}
	return all, end, err
}

// cut truncates the file, with a separate handle: a handle for appending cannot do so on every system.
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

var errReplaced = errors.New("the file was replaced")

// check returns an error unless the file is still the one at its path and ends at end.
func (d *disk) check(end int64) error {
	now, err := os.Stat(d.path)
	switch {
	case err != nil:
		return err
	case !os.SameFile(now, d.info):
		return errReplaced
	case now.Size() != end:
		return fmt.Errorf("expected %d bytes, found %d: another program is writing to the file", end, now.Size())
	}
	return nil
}

// onlyFailedWrite reports whether everything after the acknowledged votes was left by the failed write.
func (d *disk) onlyFailedWrite() bool {
	now, err := os.Stat(d.path)
	if err != nil || !os.SameFile(now, d.info) || now.Size() < d.end || now.Size() > d.end+int64(len(d.failedText)) {
		return false
	}
	tail := make([]byte, now.Size()-d.end)
	n, _ := d.file.ReadAt(tail, d.end)
	return bytes.Equal(tail, d.failedText[:n])
}

// append writes text after the votes, syncs it, and checks that it is in the file at the path.
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
		d.failedText = text
		return err
	}
	d.end, d.failedText = end, nil
	return nil
}

// probe writes the first line of the failed write again and removes it. In between the file ends with a
// complete line, so that it stays readable.
func (d *disk) probe() error {
	end, failed := d.end, d.failedText
	if err := d.append(failed[:bytes.IndexByte(failed, '\n')+1]); err != nil {
		return err
	}
	d.end, d.failedText = end, failed
	if err := d.cut(d.info, end); err != nil {
		return err
	}
	d.failedText = nil
	return nil
}

// header is the first line of the file.
const header = "item,rater,label,time,key,check\n"

// read returns the votes of a file and the size of its complete lines. torn reports whether an incomplete
// line follows. Errors contain path and line.
func read(path string, file io.Reader) (votes []Vote, whole int64, torn bool, err error) {
	r := bufio.NewReaderSize(file, 1<<16)
	for line := 1; ; line++ {
		text, err := r.ReadSlice('\n')
		if err == io.EOF {
			return votes, whole, len(text) > 0, nil
		}
		if err == bufio.ErrBufferFull {
			return nil, 0, false, fmt.Errorf("%s: line %d: longer than any vote", path, line)
		}
		if err != nil {
			return nil, 0, false, err
		}
		whole += int64(len(text))
		if line == 1 {
			if string(text) != header {
				return nil, 0, false, fmt.Errorf("%s: line 1: expected %q, found %q: not a vote file of credence serve, which reads other votes with --earlier",
					path, strings.TrimSpace(header), bytes.TrimSpace(text))
			}
			continue
		}
		v, err := decode(text)
		if err != nil {
			return nil, 0, false, fmt.Errorf("%s: line %d: %w", path, line, err)
		}
		votes = append(votes, v)
	}
}

// check returns an error if the vote cannot be stored in the file.
func (v Vote) check() error {
	for _, f := range []struct {
		name, text string
		limit      int
		optional   bool
	}{{"item", v.Item, MaxField, false}, {"rater", v.Rater, MaxField, false}, {"label", v.Label, MaxField, true}, {"key", v.Key, MaxKey, true}} {
		switch {
		case f.text == "" && !f.optional:
			return fmt.Errorf("the vote has no %s", f.name)
		case len(f.text) > f.limit:
			return fmt.Errorf("the %s has %d bytes, more than %d", f.name, len(f.text), f.limit)
		case !utf8.ValidString(f.text) || strings.ContainsFunc(f.text, func(r rune) bool { return r < ' ' || r == 0x7f }):
			return fmt.Errorf("the %s %q contains control characters or invalid UTF-8", f.name, f.text)
		case strings.TrimSpace(f.text) != f.text:
			return fmt.Errorf("the %s %q begins or ends with a space", f.name, f.text)
		}
	}
	return nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encode appends a vote to dst as a line.
func encode(dst []byte, v Vote) []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.Write([]string{v.Item, v.Rater, v.Label, v.Time.Format(timeFormat), v.Key})
	w.Flush()
	line := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	dst = append(dst, line...)
	return fmt.Appendf(dst, ",%08x\n", crc32.Checksum(line, castagnoli))
}

const timeFormat = "2006-01-02T15:04:05.000Z"

// decode parses a line.
func decode(line []byte) (Vote, error) {
	line = bytes.TrimSuffix(line, []byte("\n"))
	at := bytes.LastIndexByte(line, ',')
	if at < 0 {
		return Vote{}, fmt.Errorf("expected a vote, found %q", line)
	}
	sum := fmt.Sprintf("%08x", crc32.Checksum(line[:at], castagnoli))
	if string(line[at+1:]) != sum {
		return Vote{}, fmt.Errorf("expected checksum %s, found %q: the line was changed", sum, line[at+1:])
	}
	fields, err := csv.NewReader(bytes.NewReader(line[:at])).Read()
	if err != nil {
		return Vote{}, err
	}
	if len(fields) != 5 {
		return Vote{}, fmt.Errorf("expected 6 fields, found %d", len(fields)+1)
	}
	when, err := time.Parse(timeFormat, fields[3])
	if err != nil {
		return Vote{}, err
	}
	v := Vote{Item: fields[0], Rater: fields[1], Label: fields[2], Time: when, Key: fields[4]}
	return v, v.check()
}
