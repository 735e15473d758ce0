//go:build (full || cuda) && linux && (amd64 || arm64)

package onnxruntime

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/ebitengine/purego"
)

// apiVersion is the version of the table of functions that is requested: that of ONNX Runtime 1.8. The library returns it
// whatever its own version, and functions keep their places in it.
const apiVersion = 8

// load opens the library at path and returns the address of its table of functions and its version.
func load(path string) (api uintptr, version string, err error) {
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return 0, "", err
	}
	symbol, err := purego.Dlsym(handle, "OrtGetApiBase")
	if err != nil {
		return 0, "", errors.New("it has no function OrtGetApiBase: expected the library of ONNX Runtime")
	}
	base, _, _ := purego.SyscallN(symbol)
	text, _, _ := purego.SyscallN(pointerAt(base, 1))
	version = textAt(text)
	if api, _, _ = purego.SyscallN(pointerAt(base, 0), apiVersion); api == 0 {
		return 0, "", fmt.Errorf("ONNX Runtime %s is too old: expected 1.8 or later", version)
	}
	return api, version, nil
}

// invoke calls the function at an address of the library.
//
//go:uintptrescapes
func invoke(at uintptr, args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(at, args...)
	return r
}

// limitMemory bounds the memory that this process may allocate from now on.
func limitMemory(bytes int64) error {
	if bytes <= 0 {
		return nil
	}
	const data = 2 // RLIMIT_DATA, which counts private memory that can be written to
	return syscall.Setrlimit(data, &syscall.Rlimit{Cur: uint64(bytes), Max: uint64(bytes)})
}

func newMessages(r io.Reader, w io.Writer) messages {
	return messages{gob.NewEncoder(w).Encode, gob.NewDecoder(r).Decode}
}
