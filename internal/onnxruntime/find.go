package onnxruntime

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// LibraryEnv is the environment variable with the path of the library.
const LibraryEnv = "CREDENCE_ONNXRUNTIME"

// bareName is the name by which the dynamic loader knows a library that is installed.
const bareName = "libonnxruntime.so.1"

// find returns the path of the library: the given one, or that of the environment, or else that of the package onnxruntime of Python in the
// active environment, for the python3 of the search path, for the user or for the system, or else
// bareName.
func find(given string) (string, error) {
	if given = cmp.Or(given, os.Getenv(LibraryEnv)); given != "" {
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
	return bareName, nil
}

// notFound returns the error of a library that cannot be loaded.
func notFound(path string, err error) error {
	if path == bareName {
		return fmt.Errorf("%w: none is installed: %w", ErrNoLibrary, err)
	}
	return fmt.Errorf("%w: %s: %w", ErrNoLibrary, path, err)
}
