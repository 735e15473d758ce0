//go:build !((full || cuda) && linux && (amd64 || arm64))

package onnxruntime

import "io"

// load fails in a build that loads no library.
func load(string) (api uintptr, version string, err error) { return 0, "", ErrBuild }

func invoke(uintptr, ...uintptr) uintptr { return 0 }

func limitMemory(int64) error { return ErrBuild }

func newMessages(io.Reader, io.Writer) messages {
	fail := func(any) error { return ErrBuild }
	return messages{fail, fail}
}
