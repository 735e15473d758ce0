package main

import (
	"context"
	"io"
)

// stdinReader reads what may never come: a Read that waits for a terminal or for
// another program ends when the context does.
type stdinReader struct {
	ctx    context.Context
	blocks chan []byte // closed at the end
	rest   []byte
	err    error // why it ended; read once blocks is closed
}

func newStdinReader(ctx context.Context, r io.Reader) *stdinReader {
	s := &stdinReader{ctx: ctx, blocks: make(chan []byte)}
	go s.pump(r)
	return s
}

// pump passes on what is read, until the input or the context ends.
func (s *stdinReader) pump(r io.Reader) {
	defer close(s.blocks)
	for {
		block := make([]byte, 64<<10)
		n, err := r.Read(block)
		select {
		case s.blocks <- block[:n]:
		case <-s.ctx.Done():
			s.err = s.ctx.Err()
			return
		}
		if err != nil {
			s.err = err
			return
		}
	}
}

// Read implements [io.Reader].
func (s *stdinReader) Read(p []byte) (int, error) {
	for len(s.rest) == 0 {
		select {
		case block, ok := <-s.blocks:
			if !ok {
				return 0, s.err
			}
			s.rest = block
		case <-s.ctx.Done():
			return 0, s.ctx.Err()
		}
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}
