package votelog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// faulty is a file on a disk of limited size, which may fail to sync, or be written by another
// program at the same time.
type faulty struct {
	*os.File
	mu         sync.Mutex
	room       int    // bytes that fit; −1: all
	broken     error  // of Sync
	beforeSync func() // runs before a sync
}

func (f *faulty) Write(text []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.room < 0 || len(text) <= f.room {
		return f.File.Write(text)
	}
	n, _ := f.File.Write(text[:f.room])
	return n, &os.PathError{Op: "write", Path: f.Name(), Err: syscall.ENOSPC}
}

func (f *faulty) Sync() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.beforeSync != nil {
		f.beforeSync()
	}
	return errors.Join(f.broken, f.File.Sync())
}

func (f *faulty) set(room int, broken error, beforeSync func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.room, f.broken, f.beforeSync = room, broken, beforeSync
}

// openFaulty opens a log with a disk that can be made to fail. States are the reported errors.
func openFaulty(t *testing.T, path string) (l *Log, f *faulty, states func() []error) {
	t.Helper()
	f = &faulty{room: -1}
	var mu sync.Mutex
	var list []error
	l, err := open(disk{path: path, wrap: func(file *os.File) appender {
		f.File = file
		return f
	}}, func(err error) {
		mu.Lock()
		defer mu.Unlock()
		list = append(list, err)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, f, func() []error {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(list)
	}
}

func refused(t *testing.T, l *Log, v Vote, want string) {
	t.Helper()
	_, err := l.Add(v)
	if _, ok := errors.AsType[*WriteError](err); !ok || !strings.Contains(err.Error(), want) {
		t.Errorf("Add(%v): %v, want %s", v, err, want)
	}
	if failed := l.Failed(); failed == nil {
		t.Error("the log does not report that it failed")
	}
}

// items returns the items of the votes in the file, which must consist of complete lines.
func items(t *testing.T, path string) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	votes, _, torn, err := read(path, f)
	if err != nil || torn {
		t.Fatalf("%s: half a line: %v, %v", path, torn, err)
	}
	var list []string
	for _, v := range votes {
		list = append(list, v.Item)
	}
	return strings.Join(list, " ")
}

// recovers waits until the log itself detects that votes can be written.
func recovers(t *testing.T, l *Log) {
	t.Helper()
	for range 1000 {
		if l.Failed() == nil {
			return
		}
		l.signal()
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("the log still has failed: %v", l.Failed())
}

// TestNoSpace checks that a vote that does not fit is rejected and leaves nothing, however much of it was
// written, and that the next is accepted when there is space again.
func TestNoSpace(t *testing.T) {
	vote := Vote{"b", "ann", "no", noon, "2"}
	for room := range len(encode(nil, vote)) + 1 {
		path := filepath.Join(t.TempDir(), "votes.csv")
		l, f, states := openFaulty(t, path)
		add(t, l, Vote{"a", "ann", "yes", noon, "1"})
		want := "no space left on device"
		if f.set(room, nil, nil); room == len(encode(nil, vote)) {
			want = "input/output error"
			f.set(-1, &os.PathError{Op: "sync", Path: path, Err: syscall.EIO}, nil)
		}
		for range 2 {
			refused(t, l, vote, want)
			if got := items(t, path); got != "a" {
				t.Errorf("room for %d bytes: the file holds %s", room, got)
			}
		}
		if err := l.Failed().(*WriteError); err.Reason() != want || !strings.Contains(err.Error(), path) {
			t.Errorf("reason %q of %v", err.Reason(), err)
		}
		f.set(-1, nil, nil)
		if room%2 == 0 {
			recovers(t, l)
			if got := items(t, path); got != "a" {
				t.Errorf("room for %d bytes: after the probe the file holds %s", room, got)
			}
		}
		add(t, l, vote)
		if got := items(t, path); got != "a b" || l.Failed() != nil {
			t.Errorf("room for %d bytes: the file holds %s, %v", room, got, l.Failed())
		}
		if got := states(); len(got) != 2 || !strings.Contains(fmt.Sprint(got[0]), want) || got[1] != nil {
			t.Errorf("reported %v", got)
		}
		l.Close()
	}
}

// TestReplaced checks that a file that replaces the log is accepted if it has all
// acknowledged votes. Otherwise votes are rejected until these are back.
func TestReplaced(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file cannot be replaced on this system")
	}
	dir := t.TempDir()
	path, aside := filepath.Join(dir, "votes.csv"), filepath.Join(dir, "aside.csv")
	l, _, states := openFaulty(t, path)
	add(t, l, Vote{"a", "ann", "yes", noon, "1"})
	add(t, l, Vote{"b", "ann", "yes", noon, "2"})
	whole, _ := os.ReadFile(path)
	replace := func(text string) {
		t.Helper()
		if err := errors.Join(os.WriteFile(aside, []byte(text), 0o666), os.Rename(aside, path)); err != nil {
			t.Fatal(err)
		}
	}

	replace(string(whole))
	add(t, l, Vote{"c", "ann", "yes", noon, "3"})
	if got := items(t, path); got != "a b c" {
		t.Errorf("the file at the path holds %s", got)
	}
	if got := states(); len(got) != 2 || !errors.Is(got[0], errReplaced) || got[1] != nil {
		t.Errorf("reported %v", got)
	}
	if _, err := Open(path, nil); err == nil {
		t.Error("the new file is not held")
	}
	link := filepath.Join(dir, "link.csv")
	if err := os.Link(path, link); err != nil {
		t.Skip(err)
	}
	if _, err := Open(link, nil); err == nil {
		t.Error("the new file is not locked")
	}

	whole, _ = os.ReadFile(path)
	lines := strings.SplitAfter(string(whole), "\n")
	for name, text := range map[string]string{"a line less": strings.Join(slices.Delete(slices.Clone(lines), 1, 2), ""), "empty": "",
		"another": "item,label\na,b\n", "changed": strings.Replace(string(whole), "ann", "Ann", 1), "half a line": string(whole) + "d,ann"} {
		replace(text)
		for range 2 {
			refused(t, l, Vote{"d", "ann", "yes", noon, "4"}, "could not be written: ")
			refused(t, l, Vote{"a", "ann", "yes", noon, "1"}, "could not be written: ") // acknowledged before
		}
		if got, _ := os.ReadFile(path); string(got) != text {
			t.Errorf("%s: the file was changed", name)
		}
	}
	os.Remove(path)
	refused(t, l, Vote{"d", "ann", "yes", noon, "4"}, "no such file")
	replace(string(whole))
	recovers(t, l)
	add(t, l, Vote{"e", "ann", "yes", noon, "5"})
	if got := items(t, path); got != "a b c e" {
		t.Errorf("the file at the path holds %s", got)
	}
}

// TestRemoved checks that a removed file is created again as long as there are no votes.
func TestRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "votes.csv")
	l := openLog(t, path)
	os.Remove(path)
	add(t, l, Vote{"a", "ann", "yes", noon, ""})
	if got := items(t, path); got != "a" {
		t.Errorf("the file at the path holds %s", got)
	}
}

// TestAppended checks that votes appended by another program are accepted. A vote at the same time
// is rejected, since the other program may go on writing.
func TestAppended(t *testing.T) {
	path := filepath.Join(t.TempDir(), "votes.csv")
	l, f, states := openFaulty(t, path)
	other := func(v Vote) {
		file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_, err = file.Write(encode(nil, v))
		}
		if err := errors.Join(err, file.Close()); err != nil {
			t.Error(err)
		}
	}
	add(t, l, Vote{"a", "ann", "yes", noon, "1"})
	other(Vote{"b", "bob", "yes", noon, "2"})
	add(t, l, Vote{"c", "ann", "yes", noon, "3"})
	if got := items(t, path); got != "a b c" || len(l.Votes(0)) != 3 {
		t.Errorf("the file holds %s, the log %v", got, l.Votes(0))
	}
	if got := states(); len(got) != 2 || !strings.Contains(fmt.Sprint(got[0]), "another program is writing to the file") {
		t.Errorf("reported %v", got)
	}

	f.set(-1, nil, func() { other(Vote{"d", "bob", "yes", noon, "4"}); f.beforeSync = nil })
	vote := Vote{"e", "ann", "yes", noon, "5"}
	refused(t, l, vote, "another program is writing to the file")
	if known, err := l.Add(vote); !known || err != nil {
		t.Errorf("sent again: %v, %v", known, err)
	}
	add(t, l, Vote{"f", "ann", "yes", noon, "6"})
	if got := items(t, path); got != "a b c e d f" || len(l.Votes(0)) != 6 || l.Failed() != nil {
		t.Errorf("the file holds %s, the log %v, %v", got, l.Votes(0), l.Failed())
	}

	if runtime.GOOS == "windows" {
		return // an open file cannot be replaced
	}
	// The file is replaced while a vote is being written.
	whole, _ := os.ReadFile(path)
	f.set(-1, nil, func() {
		if err := errors.Join(os.WriteFile(path+".new", whole, 0o666), os.Rename(path+".new", path)); err != nil {
			t.Error(err)
		}
		f.beforeSync = nil
	})
	refused(t, l, Vote{"g", "ann", "yes", noon, "7"}, errReplaced.Error())
	add(t, l, Vote{"g", "ann", "yes", noon, "7"})
	if got := items(t, path); got != "a b c e d f g" {
		t.Errorf("the file holds %s", got)
	}
}

// TestNotRegular checks that paths other than regular files are an error.
func TestNotRegular(t *testing.T) {
	if _, err := os.Stat(os.DevNull); err != nil {
		t.Skip(err)
	}
	d := disk{path: os.DevNull}
	if _, err := d.load(nil); err == nil || !strings.Contains(err.Error(), "expected a regular file") {
		t.Errorf("got %v", err)
	}
}
