package main

import (
	"context"
	"io"
)

// newStdinReader returns a reader of what may never come: a Read that waits for a terminal or for
// another program ends when the context does.
func newStdinReader(ctx context.Context, r io.Reader) io.Reader {
	out, in := io.Pipe()
	context.AfterFunc(ctx, func() { in.CloseWithError(ctx.Err()) })
	go func() {
		_, err := io.CopyBuffer(in, struct{ io.Reader }{r}, make([]byte, 64<<10))
		in.CloseWithError(err)
	}()
	return out
}
