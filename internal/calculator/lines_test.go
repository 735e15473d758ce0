package calculator

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// A result is written before the next query has been sent.
func TestAnswersStream(t *testing.T) {
	in, ask := io.Pipe()
	hear, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		_, _, err := Evaluate(in, out)
		done <- err
		out.Close()
	}()
	results := bufio.NewReader(hear)
	for i := range 3 {
		fmt.Fprintf(ask, `{"weights":[1],"alpha":[[%d,1]]}`+"\n", i+1)
		line, err := results.ReadString('\n')
		if err != nil || !strings.HasPrefix(line, `{"mean":[`) {
			t.Fatalf("answer %d: %q, %v", i, line, err)
		}
	}
	ask.Close()
	if rest, err := io.ReadAll(results); err != nil || len(rest) > 0 {
		t.Errorf("after the last answer: %q, %v", rest, err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Many lines, in small and in large pieces: results are in the order of the lines.
func TestAnswersInOrder(t *testing.T) {
	n := 20_000
	if testing.Short() {
		n = 2_000
	}
	var in, want bytes.Buffer
	for i := range n {
		// The mean of Beta(i+1, 1) is (i+1)/(i+2).
		fmt.Fprintf(&in, `{"weights":[1],"alpha":[[%d,1]]}`+"\n", i+1)
		l := inputLine{text: fmt.Appendf(nil, `{"weights":[1],"alpha":[[%d,1]]}`, i+1)}
		l.solve()
		fmt.Fprintf(&want, "%s\n", l.result)
	}
	for name, r := range map[string]io.Reader{
		"whole": bytes.NewReader(in.Bytes()),
		"half":  iotest.HalfReader(bytes.NewReader(in.Bytes())),
	} {
		var got bytes.Buffer
		lines, bad, err := Evaluate(r, &got)
		if lines != n || bad != 0 || err != nil {
			t.Errorf("%s: %d lines, %d bad, %v", name, lines, bad, err)
		}
		if !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Errorf("%s: answers differ from those of each line alone", name)
		}
	}
}

func TestBlankAndLongLines(t *testing.T) {
	const good = `{"weights":[1],"alpha":[[1,1]]}`
	long := strings.Repeat(" ", longestLine) + good
	in := "\n  \r\n" + good + "\r\n\n" + long + "\n" + good
	var out strings.Builder
	lines, bad, err := Evaluate(strings.NewReader(in), &out)
	if lines != 3 || bad != 1 || err != nil {
		t.Errorf("%d lines, %d bad, %v; want 3 lines, 1 bad", lines, bad, err)
	}
	got := strings.Split(out.String(), "\n")
	if len(got) != 4 || got[1] != `{"line":5,"error":"line too long: expected at most 67108864 bytes"}` || got[0] != got[2] {
		t.Errorf("answers %q", got)
	}
	// A long line may be the last, and lines just short enough are evaluated.
	for _, c := range []struct {
		in         string
		lines, bad int
	}{
		{long, 1, 1},
		{long[len(long)-longestLine:], 1, 0},
		{"", 0, 0},
		{"\n\n", 0, 0},
	} {
		lines, bad, err := Evaluate(strings.NewReader(c.in), io.Discard)
		if lines != c.lines || bad != c.bad || err != nil {
			t.Errorf("input of %d bytes: %d lines, %d bad, %v", len(c.in), lines, bad, err)
		}
	}
}

func TestReadAndWriteErrors(t *testing.T) {
	const good = `{"weights":[1],"alpha":[[1,1]]}`
	var out strings.Builder
	broken := io.MultiReader(strings.NewReader(good+"\n"+good), iotest.ErrReader(errors.New("wire cut")))
	_, _, err := Evaluate(broken, &out)
	if err == nil || err.Error() != "reading line 2 of standard input: wire cut" {
		t.Errorf("error %v", err)
	}
	if n := strings.Count(out.String(), "\n"); n != 1 {
		t.Errorf("%d lines were answered, want the whole one", n)
	}
	_, _, err = Evaluate(strings.NewReader(good), fullDisk{})
	if err == nil || err.Error() != "writing results: no space left" {
		t.Errorf("error %v", err)
	}
}

// fullDisk fails every write.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left") }
