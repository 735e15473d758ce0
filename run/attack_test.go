//go:build attack && unix

package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"credence/internal/rng"
	"credence/train"
)

// The attacks train in child processes, which are this program again:
//
//	go test -tags attack -run Attack ./run
//
// CREDENCE_ATTACK_KILLS and CREDENCE_ATTACK_PAIRS are how many kills and pairs of
// runs there are. The moments are drawn anew in every run, so that a failure that
// depends on one is found sooner or later: the seed is printed.

// attackEnv has what a child is to do: mode, seed, limit of the size of files.
const attackEnv = "CREDENCE_ATTACK_CHILD"

// The exit codes of a child.
const (
	childDone = 0 + iota
	childFailed
	childInUse
	childTaken
	childEnded
)

// attacked are the options of a run that writes checkpoints all the time.
func attacked(mode Mode, seed uint64) Options {
	fit := train.Options{Epochs: 60, Ensemble: 2, Widths: []int{4}, Seed: seed, Version: "test", CheckpointEvery: time.Millisecond}
	return Options{Mode: mode, Fit: fit, Config: func(w io.Writer, _ *train.Options) error {
		_, err := fmt.Fprintf(w, "seed: %d\n", seed)
		return err
	}}
}

func attackDivision() *Partition { return &Partition{Items: plane(80), Learn: plane(80)} }

// TestAttackChild is the child.
func TestAttackChild(t *testing.T) {
	var mode Mode
	var seed uint64
	var limit int64
	var folder string
	if n, _ := fmt.Sscan(os.Getenv(attackEnv), &mode, &seed, &limit, &folder); n != 4 {
		t.Skip("it is the child of the others")
	}
	if limit >= 0 {
		signal.Ignore(syscall.SIGXFSZ)
		l := syscall.Rlimit{Cur: uint64(limit), Max: uint64(limit)}
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &l); err != nil {
			os.Exit(childFailed)
		}
	}
	_, err := Train(context.Background(), Folder(folder), attackDivision(), attacked(mode, seed))
	switch {
	case err == nil:
		os.Exit(childDone)
	case errors.Is(err, ErrInUse):
		os.Exit(childInUse)
	case errors.Is(err, ErrExists):
		os.Exit(childTaken)
	case errors.Is(err, ErrEnded):
		os.Exit(childEnded)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(childFailed)
}

// child returns a child that has not begun.
func child(mode Mode, seed uint64, limit int64, folder Folder) *exec.Cmd {
	c := exec.Command(os.Args[0], "-test.run=^TestAttackChild$")
	c.Env = append(os.Environ(), fmt.Sprintf("%s=%d %d %d %s", attackEnv, mode, seed, limit, folder))
	c.Stderr = &bytes.Buffer{}
	return c
}

// code waits for a child.
func code(t *testing.T, c *exec.Cmd) int {
	t.Helper()
	err := c.Wait()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode()
}

// want returns the files of runs that nothing happened to, by seed.
func want(t *testing.T, seeds ...uint64) (of map[uint64]map[string][]byte, took time.Duration) {
	t.Helper()
	of = map[uint64]map[string][]byte{}
	for _, seed := range seeds {
		folder := Folder(filepath.Join(t.TempDir(), "run"))
		start := time.Now()
		c := child(New, seed, -1, folder)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		if got := code(t, c); got != childDone {
			t.Fatalf("a run that nothing happens to: exit code %d, %s", got, c.Stderr)
		}
		took = time.Since(start)
		of[seed] = content(t, folder)
	}
	return of, took
}

// content returns the files of a folder, with those that should not be there.
func content(t *testing.T, folder Folder) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	err := filepath.WalkDir(string(folder), func(path string, e os.DirEntry, err error) error {
		if err != nil || path == string(folder) {
			return err
		}
		name, _ := filepath.Rel(string(folder), path)
		if e.IsDir() {
			all[name] = nil
			return nil
		}
		text, err := os.ReadFile(path)
		all[name] = text
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// same fails unless two folders hold the same bytes.
func same(t *testing.T, what string, got, want map[string][]byte) {
	t.Helper()
	for name, text := range want {
		if !bytes.Equal(got[name], text) {
			t.Errorf("%s: %s is another: %d bytes, want %d", what, name, len(got[name]), len(text))
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s: %s is left", what, name)
		}
	}
}

// number is how often something is done.
func number(t *testing.T, env string, usual int) int {
	if n, err := strconv.Atoi(os.Getenv(env)); err == nil {
		return n
	}
	return usual
}

// moments returns a source of random moments.
func moments(t *testing.T) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed of the moments %d", seed)
	return rand.New(rng.New(seed, "attack"))
}

// TestAttackKills: a run that is killed at any moment, again and again, ends with
// the bytes of one that was not, and leaves nothing else.
func TestAttackKills(t *testing.T) {
	kills := number(t, "CREDENCE_ATTACK_KILLS", 30)
	runs, took := want(t, 1, 2)
	r := moments(t)
	done, trials := 0, 0
	for ; done < kills; trials++ {
		folder := Folder(filepath.Join(t.TempDir(), "run"))
		mode := New
		if trials%3 == 2 { // in the place of another run
			trained(t, folder, attackDivision(), attacked(New, 2))
			mode = Overwrite
		}
		for range 1 + r.IntN(4) {
			c := child(mode, 1, -1, folder)
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Duration(r.Float64() * 1.1 * float64(took)))
			c.Process.Kill()
			got := code(t, c)
			if got == childDone || got == childEnded && mode == Resume { // the kill before came after the end
				break
			}
			if got >= 0 {
				t.Errorf("trial %d, mode %d: exit code %d, %s", trials, mode, got, c.Stderr)
			}
			done++
			if _, err := os.Stat(string(folder)); mode == New && err == nil {
				mode = Resume
			}
		}
		if _, err := Train(context.Background(), folder, attackDivision(), attacked(mode, 1)); err != nil && !errors.Is(err, ErrEnded) && !errors.Is(err, ErrExists) {
			t.Fatalf("trial %d, mode %d: %v; there is %v", trials, mode, err, content(t, folder))
		}
		same(t, fmt.Sprintf("trial %d", trials), content(t, folder), runs[1])
	}
	t.Logf("%d kills in %d trials", done, trials)
}

// TestAttackPairs: of two runs into one folder at once the folder has all files
// from one of them.
func TestAttackPairs(t *testing.T) {
	pairs := number(t, "CREDENCE_ATTACK_PAIRS", 10)
	runs, took := want(t, 1, 2)
	r := moments(t)
	count := map[string]int{}
	for pair := range pairs {
		folder := Folder(filepath.Join(t.TempDir(), "run"))
		mode := []Mode{New, Overwrite}[pair%2]
		children := []*exec.Cmd{child(mode, 1, -1, folder), child(mode, 2, -1, folder)}
		for i, c := range children {
			if i > 0 && pair%3 > 0 { // at once, and a little later
				time.Sleep(time.Duration(r.Float64() * float64(took)))
			}
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
		}
		codes := []int{code(t, children[0]), code(t, children[1])}
		winner := uint64(0)
		for i, got := range codes {
			switch {
			case got == childDone:
				winner = uint64(i + 1)
				count["done"]++
			case got == childInUse:
				count["refused"]++
			case got == childTaken && mode == New:
				count["taken"]++
			default:
				t.Errorf("pair %d, mode %d: exit code %d, %s", pair, mode, got, children[i].Stderr)
			}
		}
		if codes[0] == childDone && codes[1] == childDone { // one after the other
			if mode == New {
				t.Errorf("pair %d: both runs succeeded", pair)
			}
			if bytes.Equal(content(t, folder)[ModelFile], runs[1][ModelFile]) {
				winner = 1
			}
		}
		same(t, fmt.Sprintf("pair %d, mode %d, exit codes %v", pair, mode, codes), content(t, folder), runs[max(1, winner)])
	}
	t.Logf("%d pairs: %v", pairs, count)
}

// TestAttackFullDisk: files that cannot be written whole are an error, and once
// there is room the run goes on to the same bytes.
func TestAttackFullDisk(t *testing.T) {
	runs, _ := want(t, 1)
	for _, limit := range []int64{0, 1, 100, 1000, 3000, 10_000, 30_000} {
		folder := Folder(filepath.Join(t.TempDir(), "run"))
		c := child(New, 1, limit, folder)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		got, message := code(t, c), fmt.Sprint(c.Stderr)
		if got != childFailed || !strings.Contains(message, "file too large") {
			t.Errorf("files of at most %d bytes: exit code %d, %s", limit, got, message)
		}
		mode := Resume
		if _, err := os.Stat(string(folder)); err != nil {
			mode = New
		}
		trained(t, folder, attackDivision(), attacked(mode, 1))
		same(t, fmt.Sprintf("files of at most %d bytes", limit), content(t, folder), runs[1])
	}
}

// TestAttackHalfDeleted: whatever is removed from the folder of a run that was
// stopped, it is resumed to the same bytes or refused, and can be replaced.
func TestAttackHalfDeleted(t *testing.T) {
	runs, _ := want(t, 1)
	r := moments(t)
	for trial := range 20 {
		folder := Folder(filepath.Join(t.TempDir(), "run"))
		o := attacked(New, 1)
		ctx, stop := context.WithCancel(context.Background())
		at := r.IntN(40)
		o.Fit.Progress = func(train.Event) {
			if at--; at < 0 {
				stop()
			}
		}
		if _, err := Train(ctx, folder, attackDivision(), o); !errors.Is(err, train.ErrStopped) {
			t.Fatal(err)
		}
		for name := range content(t, folder) {
			if r.IntN(2) == 0 {
				os.RemoveAll(folder.Path(name))
			}
		}
		mode := Resume
		if err := folder.Check(Resume); err != nil {
			if !errors.Is(err, ErrNoRun) && !errors.Is(err, ErrEnded) {
				t.Errorf("trial %d: %v", trial, err)
			}
			mode = Overwrite
		}
		trained(t, folder, attackDivision(), attacked(mode, 1))
		same(t, fmt.Sprintf("trial %d", trial), content(t, folder), runs[1])
	}
}
