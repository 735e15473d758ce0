// Package budget bounds the memory that readers take. Every size that a file states is
// checked before memory is taken for it, and what is kept of many records is counted.
// Files name sizes, and compressed files hold far more than they weigh, so that neither
// tells what reading one costs.
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
	// Default is the limit in bytes where none is given.
	Default = 2 << 30
	// Least is the least limit: below it nothing could be read. A caller who wants to
	// keep less in memory than that can do so.
	Least = 64 << 20
)

// ErrMemory is the cause when something would take more memory than is allowed.
var ErrMemory = errors.New("more memory than is allowed")

// Of returns the limit in bytes for what a user allows, of which 0 means the default.
func Of(memory int64) int64 {
	if memory <= 0 {
		return Default
	}
	return max(memory, Least)
}

// Check refuses what would take more bytes than the limit. The format and its arguments say
// what it is and where, as in "line 3: a record".
func Check(limit, need int64, file, format string, args ...any) error {
	if need <= limit {
		return nil
	}
	return &fault.Error{File: file, Err: ErrMemory, Msg: fmt.Sprintf("%s would take %s bytes of memory, but %s are allowed",
		fmt.Sprintf(format, args...), words.Thousands(int(need)), words.Thousands(int(limit)))}
}

// Meter counts what is kept of a file. As much as the limit is always allowed, and beyond
// it several times what was read of the file as it lies on the disk: a large file may
// take much memory, but a small one may not, whatever it unpacks to.
type Meter struct {
	File  string
	Limit int64
	Read  func() int64 // bytes read of the file as it lies on the disk
	kept  int64
}

// perByte is how many bytes may be kept for one of the file.
const perByte = 16

// Keep counts n bytes more. what says what they are: it is called only if they do not fit, since
// something is kept of every record.
func (m *Meter) Keep(n int64, what func() string) error {
	m.kept += n
	if m.kept <= m.Limit || m.kept <= perByte*m.Read() {
		return nil
	}
	return Check(max(m.Limit, perByte*m.Read()), m.kept, m.File, "%s", what())
}

// Pool is a limit that several share who work at the same time.
type Pool struct {
	limit, free int64
	mu          sync.Mutex
	back        sync.Cond
}

// NewPool returns a pool of so many bytes.
func NewPool(limit int64) *Pool {
	p := &Pool{limit: limit, free: limit}
	p.back.L = &p.mu
	return p
}

// Take takes bytes out of the pool, once they are there, and returns what gives them
// back. More than the pool holds is refused as by [Check].
func (p *Pool) Take(n int64, file, format string, args ...any) (giveBack func(), err error) {
	if err := Check(p.limit, n, file, format, args...); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.free < n {
		p.back.Wait()
	}
	p.free -= n
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.free += n
		p.back.Broadcast()
	}, nil
}

// BoundGarbage bounds what the collector leaves lying about to so many bytes, or to a tenth of
// what is in use. By itself it lets garbage grow to as much as is in use, so that a program
// with features of 2 GB takes 4. Whoever sets GOGC or GOMEMLIMIT has said otherwise.
func BoundGarbage(bytes uint64) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	g := &garbage{bound: bytes, percent: 100, live: []metrics.Sample{{Name: "/gc/heap/live:bytes"}}}
	g.watch()
}

// garbage sets the share of garbage anew after each collection.
type garbage struct {
	bound   uint64
	percent int // as it is set
	live    []metrics.Sample
}

// watch has settle called after the next collection, which finds that nobody needs the object.
func (g *garbage) watch() {
	runtime.AddCleanup(new(*garbage), (*garbage).settle, g)
}

func (g *garbage) settle() {
	g.watch()
	metrics.Read(g.live)
	percent := share(g.live[0].Value.Uint64(), g.bound)
	// Setting it stops the world.
	if d := percent - g.percent; d*d > 100 || percent == 100 && d != 0 {
		debug.SetGCPercent(percent)
		g.percent = percent
	}
}

// share returns how much garbage there may be beside live bytes, in percent of them.
func share(live, bound uint64) int {
	if live <= bound {
		return 100
	}
	return max(10, int(100*bound/live))
}
