package dataset

import (
	"bytes"
	"errors"
	"io"
)

// readCloser wraps bytes as an open file.
func readCloser(b []byte) io.ReadCloser { return io.NopCloser(bytes.NewReader(b)) }

// ambiguous reports whether votes were refused for want of a form.
func ambiguous(err error) bool {
	a, ok := errors.AsType[*Advice](err)
	return ok && len(a.Forms) > 0
}
