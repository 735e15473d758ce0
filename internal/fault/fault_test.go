package fault

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestError(t *testing.T) {
	for _, c := range []struct {
		e    Error
		want string
	}{
		{Error{File: "x.csv", Msg: "m"}, "reading x.csv: m"},
		{Error{File: "x.csv", Line: 17, Msg: "m"}, "reading x.csv: line 17: m"},
		{Error{File: "x.csv", Line: 17, Column: 3, Msg: "m"}, "reading x.csv: line 17, column 3: m"},
		{Error{File: "x.csv", Line: 17, Column: 3, Name: "label", Msg: "m"}, "reading x.csv: line 17, column 3 (label): m"},
		{Error{File: "x.csv", Name: "label", Msg: "m"}, "reading x.csv: m"},
	} {
		if got := c.e.Error(); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
	if err := Malformed("x", "%d bytes", 3); !errors.Is(err, ErrFormat) || err.Error() != "reading x: 3 bytes" {
		t.Error(err)
	}
	_, err := os.Open("none")
	if got := Of("none", err); !errors.Is(got, fs.ErrNotExist) || got.Error() != "reading none: "+syscall.ENOENT.Error() {
		t.Error(got)
	}
	if got := Of("x", context.Canceled); got != context.Canceled {
		t.Errorf("a stop is no fault of the file: %v", got)
	}
}

func TestReader(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := Reader(ctx, strings.NewReader("abcdef"))
	var b [3]byte
	if n, err := io.ReadFull(r, b[:]); n != 3 || err != nil {
		t.Error(n, err)
	}
	cancel()
	if n, err := r.Read(b[:]); n != 0 || err != context.Canceled {
		t.Error(n, err)
	}
}
