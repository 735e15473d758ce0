//go:build (full || cuda) && linux && (amd64 || arm64)

package cuda

import (
	"embed"
	"fmt"

	"github.com/ebitengine/purego"
)

//go:embed images
var images embed.FS

// load opens the driver's library and looks all functions up.
func load(path string) error {
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return fmt.Errorf("the NVIDIA driver is not installed: %w", err)
	}
	for _, f := range functions {
		if f.at, err = purego.Dlsym(handle, f.symbol); err != nil {
			return fmt.Errorf("%s has no %s: the NVIDIA driver is too old: expected 450 or later", path, f.symbol)
		}
	}
	return nil
}

// invoke calls the function at an address of the library.
func invoke(at uintptr, args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(at, args...)
	return r & 0xffffffff
}
