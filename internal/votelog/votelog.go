// Package votelog durably stores votes that people cast one by one: a vote is acknowledged
// after it is on disk.
//
// The file is CSV that credence train --votes reads, in long form: item, rater, label, then the
// time, a key that identifies repeated requests, and a checksum of the line. The file is append-only.
// An empty label withdraws the rater's vote on the item. A line truncated by a crash was never
// acknowledged, and is removed when the file is opened again. Any other damage is an error, because
// only the owner of the file can know what the line was.
//
// If a vote cannot be written, the caller gets a [WriteError], the incomplete line is removed, and the
// next vote tries again. After each write the file at the path must still be the same file, and end where
// the vote ends: whatever other programs do to the file, locked or not, no acknowledged vote is lost.
package votelog

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"credence/internal/atomicfile"
)

// Vote is a label that a rater gave to an item. An empty label withdraws the previous one.
type Vote struct {
	Item, Rater, Label string
	Time               time.Time
	// Key identifies the vote to the sender: a second vote with the same key is the same vote, sent again.
	Key string
}

// Limits of the fields, in bytes.
const (
	MaxField = 1024
	MaxKey   = 128
)

var (
	// ErrKeyReused means that an earlier, different vote has the same key.
	ErrKeyReused = errors.New("the key was used for another vote")
	// ErrClosed is returned for votes after Close.
	ErrClosed = errors.New("the vote file is closed")
)

// checkEvery is the interval between checks of the file while there are no votes.
const checkEvery = 2 * time.Second

// Log is an open file of votes. It is safe for concurrent use.
type Log struct {
	disk   disk
	lock   *atomicfile.Lock
	report func(error)
	wake   chan struct{} // signals pending votes, or that the log is closed
	done   chan struct{}

	mu     sync.Mutex
	queue  []pending
	keys   map[string]int // index into votes
	votes  []Vote         // all votes on disk
	failed error          // why votes cannot be written now, or nil
	closed bool
}

// pending is a vote that is not on disk yet.
type pending struct {
	vote Vote
	ack  chan error
}

// Open opens the file at path, creating it if necessary, and locks it against other processes, under
// whatever name they open it. report, if not nil, is called with an error when votes can no longer be
// written, and with nil when they can again.
func Open(path string, report func(error)) (*Log, error) {
	return open(disk{path: path}, report)
}

func open(d disk, report func(error)) (*Log, error) {
	// Earlier versions lock this file alone.
	lock, err := atomicfile.TakeLock(d.path + ".lock")
	if err != nil {
		return nil, err
	}
	l := &Log{disk: d, lock: lock, report: report, keys: map[string]int{}, wake: make(chan struct{}, 1), done: make(chan struct{})}
	votes, err := l.disk.load(nil)
	if err != nil {
		return nil, errors.Join(err, lock.Release())
	}
	for _, v := range votes {
		l.keep(v)
	}
	go l.commit()
	return l, nil
}

// keep records a vote that is on disk.
func (l *Log) keep(v Vote) {
	if v.Key != "" {
		l.keys[v.Key] = len(l.votes)
	}
	l.votes = append(l.votes, v)
}

// Add writes a vote and returns after it is on disk. It reports whether the vote already existed, with
// the same key.
func (l *Log) Add(v Vote) (known bool, err error) {
	if err := v.check(); err != nil {
		return false, err
	}
	v.Time = v.Time.UTC().Truncate(time.Millisecond)
	p := pending{vote: v, ack: make(chan error, 1)}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return false, ErrClosed
	}
	l.queue = append(l.queue, p)
	l.mu.Unlock()
	l.signal()
	err = <-p.ack
	if err == errDuplicate {
		return true, nil
	}
	return false, err
}

// errDuplicate means that the same vote, with the same key, is already in the file.
var errDuplicate = errors.New("written already")

// signal wakes the writing goroutine.
func (l *Log) signal() {
	select {
	case l.wake <- struct{}{}:
	default: // it has been signaled already
	}
}

func (v Vote) same(w Vote) bool {
	return v.Item == w.Item && v.Rater == w.Rater && v.Label == w.Label
}

func (v Vote) equal(w Vote) bool { return v.same(w) && v.Key == w.Key && v.Time.Equal(w.Time) }

// commit writes all pending votes with a single fsync, repeatedly until the log is closed, and checks
// the file in between.
func (l *Log) commit() {
	defer close(l.done)
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	for {
		select {
		case <-l.wake:
		case <-tick.C:
		}
		l.mu.Lock()
		batch, closed := l.queue, l.closed
		l.queue = nil
		l.mu.Unlock()
		l.process(batch)
		if closed {
			return
		}
	}
}

// process writes the votes of a batch. If the batch is empty, it checks whether votes can be written.
func (l *Log) process(batch []pending) {
	err := l.settle()
	if err == nil && len(batch) == 0 && l.disk.failedText != nil {
		err = l.disk.probe()
	}
	l.mu.Lock()
	text, results := l.lines(batch)
	l.mu.Unlock()
	if err == nil && len(text) > 0 {
		err = l.disk.append(text)
	}
	if err != nil {
		_ = l.settle() // what cannot be removed now is removed before the next write
		err = &WriteError{l.disk.path, err}
	}
	l.finish(batch, results, err)
}

// settle ensures that the file contains the acknowledged votes and nothing after them: it removes the
// remains of a failed write, and accepts votes that another program appended.
func (l *Log) settle() error {
	d := &l.disk
	change := d.check(d.end)
	if change == nil {
		return nil
	}
	if d.onlyFailedWrite() {
		return d.cut(d.info, d.end)
	}
	all, err := d.load(l.votes)
	if err != nil {
		return err
	}
	l.mu.Lock()
	for _, v := range all[len(l.votes):] {
		l.keep(v)
	}
	l.mu.Unlock()
	l.note(&WriteError{d.path, change})
	return nil
}

// note records and reports why votes cannot be written; err is nil if they can.
func (l *Log) note(err error) {
	l.mu.Lock()
	before := l.failed
	l.failed = err
	l.mu.Unlock()
	if l.report != nil && fmt.Sprint(before) != fmt.Sprint(err) {
		l.report(err)
	}
}

// lines encodes the votes of a batch except repeated ones, whose keys are in the log or earlier in the
// batch. These have errors in results. The log must be locked.
func (l *Log) lines(batch []pending) (text []byte, results []error) {
	results = make([]error, len(batch))
	first := map[string]Vote{}
	for i, p := range batch {
		v := p.vote
		earlier, ok := first[v.Key]
		if at, there := l.keys[v.Key]; there {
			earlier, ok = l.votes[at], true
		}
		if ok && v.Key != "" {
			if results[i] = errDuplicate; !earlier.same(v) {
				results[i] = ErrKeyReused
			}
			continue
		}
		first[v.Key] = v
		text = encode(text, v)
	}
	return text, results
}

// finish records the votes of a write and acknowledges them.
func (l *Log) finish(batch []pending, results []error, err error) {
	l.mu.Lock()
	for i, p := range batch {
		if err != nil {
			results[i] = err
		} else if results[i] == nil {
			l.keep(p.vote)
		}
	}
	l.mu.Unlock()
	if err != nil || l.disk.failedText == nil {
		l.note(err)
	}
	for i, p := range batch {
		p.ack <- results[i]
	}
}

// Failed returns a [WriteError] if votes cannot be written now, else nil. Each vote tries again.
func (l *Log) Failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed
}

// Votes returns the votes on disk, in order, starting at index from. The slice must not be
// modified.
func (l *Log) Votes(from int) []Vote {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.votes[min(from, len(l.votes)):len(l.votes):len(l.votes)]
}

// Close writes pending votes and closes the file.
func (l *Log) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	l.mu.Unlock()
	l.signal()
	<-l.done
	return errors.Join(l.disk.file.Close(), l.lock.Release())
}
