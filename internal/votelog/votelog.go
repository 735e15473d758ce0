// Package votelog keeps votes that people cast one by one, so that none is lost: a vote is
// acknowledged after it is on disk.
//
// The file is CSV that credence train --votes reads, in the long form: item, rater, label, then the
// time, the key by which a repeated request is known, and a checksum of the line. It only ever
// grows. An empty label withdraws the rater's vote on the item. A line that a crash cut off was never
// acknowledged, and is removed when the file is opened again; any other damage is an error, for
// nobody but its owner can say what the line was.
package votelog

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"credence/internal/atomicfile"
)

// Vote is a label that a rater gave to an item. An empty label withdraws the one before.
type Vote struct {
	Item, Rater, Label string
	Time               time.Time
	// Key is the sender's name for the vote: a second vote with the key is the same vote, sent again.
	Key string
}

// Limits of the fields, in bytes.
const (
	MaxField = 1024
	MaxKey   = 128
)

var (
	// ErrKeyReused is a key that an earlier vote has, which says something else.
	ErrKeyReused = errors.New("the key was used for another vote")
	// ErrClosed is a vote that comes after Close.
	ErrClosed = errors.New("the file of votes is closed")
)

// header is the first line of the file.
const header = "item,rater,label,time,key,check\n"

// Log is an open file of votes. Its methods may be called from several goroutines at once.
type Log struct {
	path string
	file *os.File
	lock *atomicfile.Lock

	mu     sync.Mutex
	wake   sync.Cond // signaled when there is work, or the log is closed
	queue  []pending
	keys   map[string]int // index into votes
	votes  []Vote         // all that are on disk
	failed error          // the first failure to write; no vote is taken after it
	closed bool
	done   chan struct{}
}

// pending is a vote that waits for the disk.
type pending struct {
	vote Vote
	ack  chan error
}

// Open opens the file at path, or begins it, and holds it against other processes.
func Open(path string) (*Log, error) {
	lock, err := atomicfile.TakeLock(path + ".lock")
	if err != nil {
		return nil, err
	}
	l := &Log{path: path, lock: lock, keys: map[string]int{}, done: make(chan struct{})}
	l.wake.L = &l.mu
	if err := l.open(); err != nil {
		if l.file != nil {
			l.file.Close()
		}
		return nil, errors.Join(err, lock.Release())
	}
	go l.commit()
	return l, nil
}

// open reads what is there, cuts off what a crash left half-written, and goes to the end.
func (l *Log) open() error {
	_, err := os.Stat(l.path)
	fresh := errors.Is(err, os.ErrNotExist)
	if l.file, err = os.OpenFile(l.path, os.O_RDWR|os.O_CREATE, 0o666); err != nil {
		return err
	}
	whole, err := l.read()
	if err != nil {
		return err
	}
	if err := l.file.Truncate(whole); err != nil {
		return err
	}
	if _, err := l.file.Seek(whole, io.SeekStart); err != nil {
		return err
	}
	if whole == 0 {
		if _, err := l.file.WriteString(header); err != nil {
			return err
		}
	}
	if err := l.file.Sync(); err != nil {
		return err
	}
	if !fresh {
		return nil
	}
	// The name has to be on disk too.
	dir, err := os.Open(filepath.Dir(l.path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// read takes in the votes of the file and returns how many of its bytes are whole lines.
func (l *Log) read() (whole int64, err error) {
	r := bufio.NewReaderSize(l.file, 1<<16)
	for line := 1; ; line++ {
		text, err := r.ReadSlice('\n')
		if err == io.EOF {
			return whole, nil
		}
		if err == bufio.ErrBufferFull {
			return 0, l.errorAt(line, "is longer than a vote can be")
		}
		if err != nil {
			return 0, err
		}
		whole += int64(len(text))
		if line == 1 {
			if string(text) != header {
				return 0, l.errorAt(1, "found %q, expected %q: this is no file of votes that credence serve began",
					bytes.TrimSpace(text), strings.TrimSpace(header))
			}
			continue
		}
		v, err := decode(text)
		if err != nil {
			return 0, l.errorAt(line, "%w", err)
		}
		l.keep(v)
	}
}

func (l *Log) errorAt(line int, format string, args ...any) error {
	return fmt.Errorf("%s: line %d: %w", l.path, line, fmt.Errorf(format, args...))
}

// keep notes a vote that is on disk.
func (l *Log) keep(v Vote) {
	if v.Key != "" {
		l.keys[v.Key] = len(l.votes)
	}
	l.votes = append(l.votes, v)
}

// Add writes a vote and returns after it is on disk. It reports whether the vote was there already,
// under the same key.
func (l *Log) Add(v Vote) (known bool, err error) {
	if err := v.check(); err != nil {
		return false, err
	}
	v.Time = v.Time.UTC().Truncate(time.Millisecond)
	l.mu.Lock()
	if known, err := l.seen(v); known || err != nil {
		l.mu.Unlock()
		return known, err
	}
	p := pending{vote: v, ack: make(chan error, 1)}
	l.queue = append(l.queue, p)
	l.wake.Signal()
	l.mu.Unlock()
	err = <-p.ack
	if err == errTwin {
		return true, nil
	}
	return false, err
}

// errTwin tells the sender of a vote that one with its key came in just before.
var errTwin = errors.New("written already")

// seen reports whether a vote is on disk already, or why none can be taken. The log is locked.
func (l *Log) seen(v Vote) (bool, error) {
	if l.failed != nil {
		return false, l.failed
	}
	if l.closed {
		return false, ErrClosed
	}
	at, ok := l.keys[v.Key]
	if !ok || v.Key == "" {
		return false, nil
	}
	if !l.votes[at].same(v) {
		return false, ErrKeyReused
	}
	return true, nil
}

func (v Vote) same(w Vote) bool {
	return v.Item == w.Item && v.Rater == w.Rater && v.Label == w.Label
}

// check refuses what the file cannot hold.
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
			return fmt.Errorf("the %s %q has characters that no line of text can hold", f.name, f.text)
		case strings.TrimSpace(f.text) != f.text:
			return fmt.Errorf("the %s %q begins or ends with a space", f.name, f.text)
		}
	}
	return nil
}

// commit writes what waits, all of it with one flush, until the log is closed.
func (l *Log) commit() {
	defer close(l.done)
	var text []byte
	for {
		l.mu.Lock()
		for len(l.queue) == 0 && !l.closed {
			l.wake.Wait()
		}
		batch := l.queue
		l.queue = nil
		failed := l.failed
		if len(batch) == 0 {
			l.mu.Unlock()
			return
		}
		var results []error
		text, results = l.lines(text[:0], batch)
		l.mu.Unlock()
		err := failed
		if err == nil {
			err = l.write(text)
		}
		l.finish(batch, results, err)
	}
}

// lines appends the votes of a batch but for those that came in before, while they waited or in the
// same batch; results say which. The log is locked.
func (l *Log) lines(text []byte, batch []pending) (_ []byte, results []error) {
	results = make([]error, len(batch))
	first := map[string]Vote{}
	for i, p := range batch {
		v := p.vote
		twin, ok := first[v.Key]
		if at, there := l.keys[v.Key]; there {
			twin, ok = l.votes[at], true
		}
		if ok && v.Key != "" {
			if results[i] = errTwin; !twin.same(v) {
				results[i] = ErrKeyReused
			}
			continue
		}
		first[v.Key] = v
		text = encode(text, v)
	}
	return text, results
}

// finish notes the votes of a write and tells their senders.
func (l *Log) finish(batch []pending, results []error, err error) {
	l.mu.Lock()
	for i, p := range batch {
		if err != nil {
			results[i] = err
		} else if results[i] == nil {
			l.keep(p.vote)
		}
	}
	if err != nil {
		l.failed = err
	}
	l.mu.Unlock()
	for i, p := range batch {
		p.ack <- results[i]
	}
}

// write appends text. After a failure nobody knows how much of it is on disk, so the log takes no
// more votes until it is opened again.
func (l *Log) write(text []byte) error {
	if _, err := l.file.Write(text); err != nil {
		return fmt.Errorf("%s: the vote could not be written: %w", l.path, err)
	}
	if err := l.file.Sync(); err != nil {
		return fmt.Errorf("%s: the vote could not be written: %w", l.path, err)
	}
	return nil
}

// Failed returns why votes are no longer taken, or nil.
func (l *Log) Failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed
}

// Votes returns the votes on disk, in their order, from the given one on. The slice is not to be
// changed.
func (l *Log) Votes(from int) []Vote {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.votes[min(from, len(l.votes)):len(l.votes):len(l.votes)]
}

// Close writes what waits and closes the file.
func (l *Log) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	l.wake.Broadcast()
	l.mu.Unlock()
	<-l.done
	return errors.Join(l.file.Close(), l.lock.Release())
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encode appends a vote as a line.
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

// decode reads a line.
func decode(line []byte) (Vote, error) {
	line = bytes.TrimSuffix(line, []byte("\n"))
	at := bytes.LastIndexByte(line, ',')
	if at < 0 {
		return Vote{}, fmt.Errorf("found %q, expected a vote", line)
	}
	sum := fmt.Sprintf("%08x", crc32.Checksum(line[:at], castagnoli))
	if string(line[at+1:]) != sum {
		return Vote{}, fmt.Errorf("found checksum %q, expected %s: the line was changed", line[at+1:], sum)
	}
	fields, err := csv.NewReader(bytes.NewReader(line[:at])).Read()
	if err != nil {
		return Vote{}, err
	}
	if len(fields) != 5 {
		return Vote{}, fmt.Errorf("found %d fields, expected 6", len(fields)+1)
	}
	when, err := time.Parse(timeFormat, fields[3])
	if err != nil {
		return Vote{}, err
	}
	v := Vote{Item: fields[0], Rater: fields[1], Label: fields[2], Time: when, Key: fields[4]}
	return v, v.check()
}
