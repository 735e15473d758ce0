//go:build linux

// Command soak runs servers for hours under traffic, with retraining, new models, kills and full disks at random
// moments, and checks all the time that no acknowledged vote is lost or written twice, that predictions are those of
// the model file, and that memory, descriptors and goroutines do not grow: .ci/soak HOURS.
//
// There are two servers on one small disk. One is killed again and again; the other one lives from beginning to end, so that
// whatever leaks has time to show.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

func main() {
	program := flag.String("program", "", "file of the credence to run")
	seed := flag.Uint64("seed", 1, "seed of traffic and events")
	rate := flag.Float64("rate", 50, "requests per second, both servers together")
	keep := flag.String("keep", "", "folder to copy logs to if something fails")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: soak -program FILE [-seed N] [-rate N] [-keep FOLDER] HOURS")
		flag.PrintDefaults()
	}
	flag.Parse()
	hours, err := strconv.ParseFloat(flag.Arg(0), 64)
	if err != nil || flag.NArg() != 1 || !(hours >= 0.01 && hours <= 1000) || *program == "" || !(*rate >= 1 && *rate <= 1000) {
		fmt.Fprintf(os.Stderr, "expected hours between 0.01 and 1000, -program FILE and a -rate from 1 to 1000, found %q\n", os.Args[1:])
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	s := &soak{program: *program, length: time.Duration(hours * float64(time.Hour)), rate: *rate, seed: *seed, keep: *keep}
	err = s.run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

// soak is one run of this program.
type soak struct {
	program string
	length  time.Duration
	rate    float64
	seed    uint64
	keep    string

	dir     string // everything; of it the folder disk is a small disk
	disk    string
	full    epoch        // the disk is full
	freed   atomic.Int64 // when it was last freed, Unix nanoseconds
	filler  *os.File
	began   time.Time
	items   *population
	servers [2]*server
	alarms  *receiver
	token   atomic.Pointer[string]
	models  models
	counts  counts

	// quiet is held for reading by every request, so that a writer has no traffic around it.
	quiet sync.RWMutex
	work  sync.WaitGroup

	mu       sync.Mutex
	failures []string
}

// epoch counts the beginnings and ends of a state: odd while it lasts. A request compares two readings to see whether the
// state held at any time in between.
type epoch struct{ n atomic.Int64 }

func (e *epoch) toggle()               { e.n.Add(1) }
func (e *epoch) load() int64           { return e.n.Load() }
func (e *epoch) on() bool              { return e.n.Load()%2 == 1 }
func (e *epoch) since(then int64) bool { return then%2 == 1 || e.n.Load() != then }

// failf records a failure; the soak goes on, since one failure often explains the next.
func (s *soak) failf(format string, args ...any) {
	text := time.Since(s.began).Round(time.Second).String() + ": " + fmt.Sprintf(format, args...)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures = append(s.failures, text)
	if len(s.failures) <= 20 {
		fmt.Println("FAILURE", text)
	}
}

// failed returns the number of failures.
func (s *soak) failed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.failures)
}

// say prints the progress.
func (s *soak) say(format string, args ...any) {
	fmt.Printf("%8s  %s\n", time.Since(s.began).Round(time.Second), fmt.Sprintf(format, args...))
}

// run sets everything up, soaks until the time is over or ctx is done, and prints the table.
func (s *soak) run(ctx context.Context) (err error) {
	s.began = time.Now()
	if err := s.setUp(); err != nil {
		return errors.Join(err, s.tearDown())
	}
	traffic, stopTraffic := context.WithCancel(context.Background())
	s.work.Go(func() { s.traffic(traffic) })
	s.events(ctx)
	s.settle()
	select {
	case <-time.After(min(time.Minute, s.length/10)): // the first server is warm again
	case <-ctx.Done():
	}
	s.sampleAll(func(v *server) **usage { return &v.end })
	stopTraffic()
	s.work.Wait()
	s.finish()
	s.table(ctx.Err() != nil)
	if n := s.failed(); n > 0 {
		err = fmt.Errorf("failures: %d", n)
		if s.keep != "" {
			err = errors.Join(err, s.copyLogs())
		}
	}
	return errors.Join(err, s.tearDown())
}

// warmUp is the part of the time after which servers are sampled the first time. By then they hold what they hold for good:
// networks keep buffers for as many requests at once as there have been, and models were replaced a few times.
const warmUp = 1. / 6

// sampleAll samples the servers without traffic.
func (s *soak) sampleAll(to func(*server) **usage) {
	s.quiet.Lock()
	defer s.quiet.Unlock()
	for _, v := range s.servers {
		*to(v) = s.sample(v)
	}
}

// setUp mounts the disk, writes the data, trains the first model and starts the servers.
func (s *soak) setUp() (err error) {
	if s.dir, err = os.MkdirTemp("", "credence-soak-"); err != nil {
		return err
	}
	s.disk = filepath.Join(s.dir, "disk")
	if err := os.Mkdir(s.disk, 0o755); err != nil {
		return err
	}
	if err := syscall.Mount("credence-soak", s.disk, "tmpfs", 0, "size=64m"); err != nil {
		return fmt.Errorf("mounting a small disk, which needs root: %w", err)
	}
	s.items = newPopulation(s.seed)
	if err := s.items.write(s.dir); err != nil {
		return err
	}
	if s.alarms, err = newReceiver(s.seed); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(s.dir, "key"), []byte(s.alarms.key), 0o600); err != nil {
		return err
	}
	if err := s.newToken("first-token-0123456789"); err != nil {
		return err
	}
	s.models.init()
	for range 2 {
		s.retrain(rand.New(rand.NewPCG(s.seed, uint64(s.models.newest))), "new")
	}
	if s.failed() > 0 {
		return errors.New("the first models could not be trained")
	}
	for i := range s.servers {
		s.servers[i] = &server{name: [...]string{"killed", "lasting"}[i], log: filepath.Join(s.disk, fmt.Sprintf("votes-%d.csv", i)),
			ledger: newLedger(s.seed, i)}
		if err := s.servers[i].listen(); err != nil {
			return err
		}
		if err := s.start(s.servers[i]); err != nil {
			return err
		}
	}
	return nil
}

// newToken replaces the token of the servers, which they read when they start and on SIGHUP.
func (s *soak) newToken(token string) error {
	s.token.Store(&token)
	return os.WriteFile(filepath.Join(s.dir, "token"), []byte(token+"\n"), 0o600)
}

// settle ends what disturbs the servers, and starts the first server again.
func (s *soak) settle() {
	s.free()
	s.models.busy.Lock() // waits for a retraining
	s.items.drift.Store(0)
	s.models.busy.Unlock()
	s.stop(s.servers[0], syscall.SIGTERM)
	if err := s.start(s.servers[0]); err != nil {
		s.failf("the server does not start again: %v", err)
	}
}

// finish sends the votes again that were not acknowledged, stops the servers and reads their votes.
func (s *soak) finish() {
	for _, v := range s.servers {
		s.resend(v)
		if n := len(v.ledger.open); n > 0 {
			s.failf("%s: %d votes were not acknowledged although there was space and no kill", v.name, n)
		}
		s.checkAlarms(v)
		s.stop(v, syscall.SIGTERM)
		s.checkLog(v, true)
		s.checkServerLog(v)
	}
	s.models.check(s)
	for version := range s.models.seen {
		if s.models.expected[version] == nil {
			s.failf("version %s was served, but its predictions could not be compared", version)
		}
	}
}

func (s *soak) tearDown() (err error) {
	for _, v := range s.servers {
		if v != nil && v.running() {
			s.stop(v, syscall.SIGKILL)
		}
	}
	if s.filler != nil {
		s.filler.Close()
	}
	if s.disk != "" {
		if err = syscall.Unmount(s.disk, syscall.MNT_DETACH); errors.Is(err, syscall.EINVAL) {
			err = nil // not mounted
		}
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}

// copyLogs keeps what explains a failure.
func (s *soak) copyLogs() error {
	if err := os.MkdirAll(s.keep, 0o755); err != nil {
		return err
	}
	text, err := exec.Command("cp", "-r", s.dir+"/.", s.keep).CombinedOutput()
	if err != nil {
		return fmt.Errorf("keeping the logs: %w: %s", err, text)
	}
	return nil
}
