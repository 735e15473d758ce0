package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// TestStdinReader: all input and errors are passed on, and a blocked Read ends
// with the context.
func TestStdinReader(t *testing.T) {
	text := strings.Repeat("some text ", 20_000)
	if err := iotest.TestReader(newStdinReader(t.Context(), iotest.HalfReader(strings.NewReader(text))), []byte(text)); err != nil {
		t.Error(err)
	}
	torn := errors.New("torn")
	got, err := io.ReadAll(newStdinReader(t.Context(), io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(torn))))
	if !errors.Is(err, torn) || !bytes.Equal(got, []byte("abc")) {
		t.Errorf("%q, %v", got, err)
	}
	silent, w := io.Pipe()
	defer w.Close()
	ctx, stop := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, stop)
	if _, err := newStdinReader(ctx, silent).Read(make([]byte, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped while waiting: %v", err)
	}
}
