// Package budget limits the memory of readers. Every size stated in a file is checked
// before memory is allocated for it, and memory that is retained per record is counted.
// Stated sizes may be wrong, and compressed files contain far more than their size, so
// neither predicts the cost of reading a file.
package budget

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"

	"credence/internal/fault"
	"credence/internal/words"
)

const (
	// Default is the limit in bytes if none is given.
	Default = 2 << 30
	// Least is the smallest limit: below it nothing could be read. Callers are free to
	// retain less than that.
	Least = 64 << 20
)

// ErrMemory is the cause if something would take more memory than allowed.
var ErrMemory = errors.New("more memory than is allowed")

// Of returns the limit in bytes for a user's setting, where 0 means the default.
func Of(memory int64) int64 {
	if memory <= 0 {
		return Default
	}
	return max(memory, Least)
}

// Check returns an error if need exceeds the limit, both in bytes. The format and its arguments
// describe what needs the memory, and where, as in "line 3: a record".
func Check(limit, need int64, file, format string, args ...any) error {
	if need <= limit {
		return nil
	}
	return &fault.Error{File: file, Err: ErrMemory, Msg: fmt.Sprintf("%s would take %s bytes of memory, but %s are allowed",
		fmt.Sprintf(format, args...), words.Thousands(int(need)), words.Thousands(int(limit)))}
}

// Meter counts the memory retained for a file. It allows the limit or, if that is more, a
// multiple of the bytes read from disk: a large file may take much memory, but a small one
// may not, whatever it unpacks to.
type Meter struct {
	File  string
	Limit int64
	Read  func() int64 // bytes read of the file on disk, before decompression
	kept  int64
}

// perByte is the number of bytes that may be retained per byte of the file.
const perByte = 16

// Keep counts n more bytes. what describes them. It is only called if they exceed the limit, since
// Keep is called for every record.
func (m *Meter) Keep(n int64, what func() string) error {
	m.kept += n
	if m.kept <= m.Limit || m.kept <= perByte*m.Read() {
		return nil
	}
	return Check(max(m.Limit, perByte*m.Read()), m.kept, m.File, "%s", what())
}

// Shared is a memory limit shared by concurrent goroutines.
type Shared struct {
	limit, free int64
	mu          sync.Mutex
	freed       sync.Cond
}

// NewShared returns a limit in bytes to share.
func NewShared(limit int64) *Shared {
	s := &Shared{limit: limit, free: limit}
	s.freed.L = &s.mu
	return s
}

// Take waits until n bytes are free and takes them. It returns a function that
// releases them. More bytes than the limit are an error, as in [Check].
func (s *Shared) Take(n int64, file, format string, args ...any) (release func(), err error) {
	if err := Check(s.limit, n, file, format, args...); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.free < n {
		s.freed.Wait()
	}
	s.free -= n
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.free += n
		s.freed.Broadcast()
	}, nil
}

// BoundGarbage limits garbage on the heap to the given number of bytes, or to a tenth of the live
// heap if that is more. By default garbage may grow to the size of the live heap, so that a program
// with 2 GB of features takes 4 GB. In return, 32 MB of garbage are always allowed: a small heap is
// otherwise collected every few megabytes, which costs a short run a third of its time. It does
// nothing if GOGC or GOMEMLIMIT is set.
func BoundGarbage(bytes uint64) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	const first = 4 << 20 // Go collects the first time at this size times the percentage
	percent := int(100 * leastGarbage / first)
	debug.SetGCPercent(percent)
	g := &garbage{bound: bytes, percent: percent, live: []metrics.Sample{{Name: "/gc/heap/live:bytes"}}}
	g.watch()
}

// garbage adjusts the GC percentage after each collection.
type garbage struct {
	bound   uint64
	percent int // present setting
	live    []metrics.Sample
}

// watch arranges for settle to be called after the next collection, which finds the object unreachable.
func (g *garbage) watch() {
	runtime.AddCleanup(new(*garbage), (*garbage).settle, g)
}

func (g *garbage) settle() {
	g.watch()
	metrics.Read(g.live)
	percent := share(g.live[0].Value.Uint64(), g.bound)
	// Setting it stops the world.
	if d := percent - g.percent; d*d > max(100, g.percent*g.percent/100) || percent == 100 && d != 0 {
		debug.SetGCPercent(percent)
		g.percent = percent
	}
}

// leastGarbage is always allowed.
const leastGarbage = 32 << 20

// share returns the allowed garbage, in percent of the live bytes.
func share(live, bound uint64) int {
	switch {
	case live < leastGarbage:
		return int(100 * leastGarbage / max(live, leastGarbage/10))
	case live <= bound:
		return 100
	}
	return max(10, int(100*bound/live))
}
