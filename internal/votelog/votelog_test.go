package votelog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

var noon = time.Date(2020, 2, 29, 12, 0, 0, 5e6, time.UTC)

func openLog(t *testing.T, path string) *Log {
	t.Helper()
	l, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func add(t *testing.T, l *Log, v Vote) {
	t.Helper()
	if known, err := l.Add(v); known || err != nil {
		t.Fatalf("Add(%v) = %v, %v", v, known, err)
	}
}

func TestReopen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "votes.csv")
	l := openLog(t, path)
	want := []Vote{
		{"a", "ann", "yes", noon, "k1"},
		{`quoted "b", with comma`, "بوب", "no", noon, ""},
		{"a", "ann", "", noon, "k2"},
	}
	for _, v := range want {
		add(t, l, v)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Add(want[0]); err != ErrClosed {
		t.Errorf("a vote after Close: %v", err)
	}
	l = openLog(t, path)
	got := l.Votes(0)
	if len(got) != len(want) {
		t.Fatalf("%d votes, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("vote %d is %v, want %v", i, got[i], want[i])
		}
	}
	if n := len(l.Votes(2)); n != 1 {
		t.Errorf("%d votes from the third on, want 1", n)
	}
}

func TestKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "votes.csv")
	l := openLog(t, path)
	v := Vote{"a", "ann", "yes", noon, "k"}
	add(t, l, v)
	again := v
	again.Time = noon.Add(time.Hour)
	for range 2 {
		if known, err := l.Add(again); !known || err != nil {
			t.Errorf("the same vote again: %v, %v", known, err)
		}
		other := v
		other.Label = "no"
		if _, err := l.Add(other); err != ErrKeyReused {
			t.Errorf("another vote with the key: %v", err)
		}
		l.Close()
		l = openLog(t, path)
	}
	if n := len(l.Votes(0)); n != 1 {
		t.Errorf("%d votes, want 1", n)
	}
}

// TestTogether adds votes concurrently, each twice with the same key.
func TestTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "votes.csv")
	l := openLog(t, path)
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			key := fmt.Sprint(i / 2)
			if _, err := l.Add(Vote{"item " + key, "ann", "yes", noon, key}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	l.Close()
	if n := len(openLog(t, path).Votes(0)); n != 100 {
		t.Errorf("%d votes, want 100", n)
	}
}

// TestOneProcess checks that the file is locked under all of its names.
func TestOneProcess(t *testing.T) {
	dir := t.TempDir()
	path, symbolic, hard := filepath.Join(dir, "votes.csv"), filepath.Join(dir, "symbolic.csv"), filepath.Join(dir, "hard.csv")
	l := openLog(t, path)
	if err := errors.Join(os.Symlink(path, symbolic), os.Link(path, hard)); err != nil {
		t.Skip(err)
	}
	for _, name := range []string{path, symbolic, hard} {
		if l, err := Open(name, nil); err == nil {
			l.Close()
			t.Errorf("%s was opened while votes.csv is", name)
		} else if !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "is held by") {
			t.Errorf("%s: %v", name, err)
		}
	}
	add(t, l, Vote{"a", "ann", "yes", noon, ""})
	l.Close()
	for _, name := range []string{symbolic, hard} {
		l := openLog(t, name)
		add(t, l, Vote{"b", "ann", "yes", noon, ""})
		l.Close()
	}
	if n := len(openLog(t, path).Votes(0)); n != 3 {
		t.Errorf("%d votes, want 3", n)
	}
}

// TestTorn truncates the file at every byte of the last vote: the earlier votes are kept, and the file
// can be appended to.
func TestTorn(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "votes.csv")
	l := openLog(t, path)
	add(t, l, Vote{"a", "ann", "yes", noon, "1"})
	before, _ := os.Stat(path)
	add(t, l, Vote{"b", "ann", "no", noon, "2"})
	l.Close()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := before.Size(); cut < int64(len(text)); cut++ {
		torn := filepath.Join(dir, fmt.Sprint(cut))
		if err := os.WriteFile(torn, text[:cut], 0o666); err != nil {
			t.Fatal(err)
		}
		l := openLog(t, torn)
		add(t, l, Vote{"c", "bob", "no", noon, "3"})
		l.Close()
		got := openLog(t, torn).Votes(0)
		if len(got) != 2 || got[0].Item != "a" || got[1].Item != "c" {
			t.Fatalf("cut after %d bytes: %v", cut, got)
		}
	}
}

func TestDamaged(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "votes.csv")
	l := openLog(t, path)
	add(t, l, Vote{"a", "ann", "yes", noon, "1"})
	add(t, l, Vote{"b", "ann", "no", noon, "2"})
	l.Close()
	whole, _ := os.ReadFile(path)
	for name, c := range map[string]struct{ text, want string }{
		"changed": {strings.Replace(string(whole), "ann", "Ann", 1), "line 2: expected checksum"},
		"foreign": {"item,label\na,b\n", "line 1: expected"},
		"long":    {header + strings.Repeat("x", 1<<17) + "\n", "line 2: longer"},
		"bare":    {header + "x\n", "line 2: expected"},
	} {
		if err := os.WriteFile(path, []byte(c.text), 0o666); err != nil {
			t.Fatal(err)
		}
		l, err := Open(path, nil)
		if err == nil {
			l.Close()
			t.Errorf("%s: opened", name)
		} else if !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
		if after, _ := os.ReadFile(path); string(after) != c.text {
			t.Errorf("%s: the file was changed", name)
		}
	}
}

func TestRefused(t *testing.T) {
	l := openLog(t, filepath.Join(t.TempDir(), "votes.csv"))
	for _, v := range []Vote{
		{"", "ann", "yes", noon, ""},
		{"a", "", "yes", noon, ""},
		{"a\nb", "ann", "yes", noon, ""},
		{"a", "ann", "\xff", noon, ""},
		{" a", "ann", "yes", noon, ""},
		{strings.Repeat("a", MaxField+1), "ann", "yes", noon, ""},
		{"a", "ann", "yes", noon, strings.Repeat("k", MaxKey+1)},
	} {
		if _, err := l.Add(v); err == nil {
			t.Errorf("%q was taken", v)
		}
	}
	if n := len(l.Votes(0)); n != 0 {
		t.Errorf("%d votes, want none", n)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(encode(nil, Vote{"a", "ann", "yes", noon, "k"}))
	f.Add([]byte("a,b,c,d,e,00000000\n"))
	f.Fuzz(func(t *testing.T, line []byte) {
		v, err := decode(line)
		if err != nil {
			return
		}
		if w, err := decode(encode(nil, v)); err != nil || w != v {
			t.Errorf("%v became %v, %v", v, w, err)
		}
	})
}

func BenchmarkAdd(b *testing.B) {
	l, err := Open(filepath.Join(b.TempDir(), "votes.csv"), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := l.Add(Vote{"a", "ann", "yes", noon, ""}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
