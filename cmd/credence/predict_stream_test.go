package main

import (
	"bufio"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"credence/run"
)

// The prediction of a row on an open pipe is written before the next row is sent.
func TestPredictStreams(t *testing.T) {
	dir := t.TempDir()
	file, err := smallModel()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(run.Folder(dir).Path(run.ModelFile), file, 0o666); err != nil {
		t.Fatal(err)
	}
	in, give := io.Pipe()
	take, out := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		code := program([]string{"predict", dir, "-", "--batch", "1", "--wide"}, in, out, io.Discard)
		out.Close()
		ended <- code
	}()
	lines := make(chan string)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(take); s.Scan(); {
			lines <- s.Text()
		}
	}()
	next := func(begins string) {
		t.Helper()
		select {
		case line := <-lines:
			if !strings.HasPrefix(line, begins) {
				t.Fatalf("got %q, want %s…", line, begins)
			}
		case <-time.After(time.Minute):
			t.Fatalf("no line that begins with %s while the pipe is open", begins)
		}
	}
	io.WriteString(give, "item,size,ward\na,0.1,A\n")
	next("item,predicted,")
	next("a,")
	io.WriteString(give, "b,0.3")
	io.WriteString(give, ",B\n")
	next("b,")
	give.Close()
	if code := <-ended; code != exitOK {
		t.Errorf("exit code %d", code)
	}
}

func TestPredictProgress(t *testing.T) {
	var b strings.Builder
	clock := time.Unix(0, 0)
	p := &predictProgress{statusLine: statusLine{w: &b, last: clock}, every: 5 * time.Second, now: func() time.Time { return clock }, input: "no such file", start: clock}
	for i := range 12 {
		clock = clock.Add(time.Second)
		p.done(1000*(i+1), 20000)
	}
	want := "credence: 5,000 of about 20,000 items, 25%, 1,000 items/s, 15s left\ncredence: 10,000 of about 20,000 items, 50%, 1,000 items/s, 10s left\n"
	if b.String() != want {
		t.Errorf("got %q, want %q", &b, want)
	}
	p.live = true
	if got, want := p.text(15000, 15*time.Second), "███████████████░░░░░ 15,000 of about 20,000 items, 75%, 1,000 items/s, 5s left"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	p.total = 0
	if got, want := p.text(30, 60*time.Second), "30 items predicted, 0.5 items/s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestDigits(t *testing.T) {
	for _, c := range []struct {
		set  string
		x    float64
		want string
	}{
		{"6", 0.17617157600134295, "0.176172"}, {"full", 0.17617157600134295, "0.17617157600134295"}, {"3", 1234.5, "1.23e+03"},
		{"6", 1, "1"}, {"6", 0.99999987, "0.9999999"}, {"6", 1 - 1e-16, "0.9999999999999999"}, {"6", 1e-9, "1e-09"}, {"6", 0, "0"}, {"6", 0.95, "0.95"},
		{"6", 1.0000000001, "1.0000000001"}, {"6", -0.5, "-0.5"}, {"17", 0.1, "0.10000000000000001"},
	} {
		var d digits
		if err := d.Set(c.set); err != nil {
			t.Fatal(err)
		}
		if got := d.Text(c.x); got != c.want {
			t.Errorf("%v with %s: %s, want %s", c.x, c.set, got, c.want)
		}
	}
}
