//go:build cuda && linux && (amd64 || arm64)

package cuda

import (
	"fmt"

	"github.com/ebitengine/purego"
)

// library is the driver's library.
type library struct{ at [functions]uintptr }

// load opens the library and looks all functions up.
func load(path string) (library, error) {
	var l library
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return l, fmt.Errorf("the NVIDIA driver is not installed: %w", err)
	}
	for f, name := range symbols {
		if l.at[f], err = purego.Dlsym(handle, name); err != nil {
			return l, fmt.Errorf("%s has no %s: the NVIDIA driver is too old, want 450 or later", path, name)
		}
	}
	return l, nil
}

// call calls a function. Go values whose addresses are among the arguments stay where they are
// until it returns.
//
//go:uintptrescapes
func (l *library) call(f function, args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(l.at[f], args...)
	return r & 0xffffffff
}
