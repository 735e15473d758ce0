package onnxruntime

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// find returns the path of the library: the given one, or else that of the package onnxruntime of Python in the
// active environment, for the python3 of the search path, for the user or for the system, or else the name by which the
// dynamic loader knows a library that is installed.
func find(given string) (string, error) {
	if given != "" {
		if info, err := os.Stat(given); err != nil || info.IsDir() {
			return "", fmt.Errorf("expected the library of ONNX Runtime, such as libonnxruntime.so, found no file %s", given)
		}
		return filepath.Abs(given) // a bare name would be searched for elsewhere
	}
	var prefixes []string
	for _, name := range []string{"VIRTUAL_ENV", "CONDA_PREFIX"} {
		if dir := os.Getenv(name); dir != "" {
			prefixes = append(prefixes, dir)
		}
	}
	if python, err := exec.LookPath("python3"); err == nil {
		prefixes = append(prefixes, filepath.Dir(filepath.Dir(python)))
	}
	if home, err := os.UserHomeDir(); err == nil {
		prefixes = append(prefixes, filepath.Join(home, ".local"))
	}
	for _, prefix := range append(prefixes, "/usr/local", "/usr") {
		for _, packages := range []string{"site-packages", "dist-packages"} {
			files, _ := filepath.Glob(filepath.Join(prefix, "lib", "python3*", packages, "onnxruntime", "capi", "libonnxruntime.so*"))
			if len(files) > 0 {
				return files[len(files)-1], nil
			}
		}
	}
	return "libonnxruntime.so.1", nil
}

// notFound returns the error of a library that cannot be loaded.
func notFound(path string, err error) error {
	if !strings.Contains(path, string(filepath.Separator)) {
		return fmt.Errorf("%w: none is installed: %w", ErrNoLibrary, err)
	}
	return fmt.Errorf("%w: %s: %w", ErrNoLibrary, path, err)
}
