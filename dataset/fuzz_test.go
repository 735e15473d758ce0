package dataset

import (
	"bytes"
	"errors"
	"io"
)

// readCloser wraps bytes as an open file.
func readCloser(b []byte) io.ReadCloser { return io.NopCloser(bytes.NewReader(b)) }

// ambiguous reports whether the form of votes was not given and could not be detected.
func ambiguous(err error) bool {
	a, ok := errors.AsType[*Advice](err)
	return ok && len(a.Forms) > 0
}
