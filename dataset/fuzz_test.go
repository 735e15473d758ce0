package dataset

import (
	"bytes"
	"io"
)

// readCloser wraps bytes as an open file.
func readCloser(b []byte) io.ReadCloser { return io.NopCloser(bytes.NewReader(b)) }
