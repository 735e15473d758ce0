package array

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"credence/internal/fault"
)

// Format is a file format of arrays. A new one is a row of formats and a reader.
type Format struct {
	// Several says that a file may hold several arrays, which have names: see [EntriesNPZ] and
	// [ReadTexts].
	Several bool
	// Open opens the array of a file or, where there are several, the one of this name.
	Open func(ctx context.Context, path, name string, opts Options) (*Array, error)

	extensions []string // in lower case
	within     []string // what names of files may contain instead of an extension
}

var formats = []Format{
	{extensions: []string{".npy"}, Open: func(_ context.Context, path, _ string, _ Options) (*Array, error) { return OpenNPY(path) }},
	{extensions: []string{".npz"}, Open: OpenNPZ, Several: true},
	{extensions: []string{".idx"}, within: []string{"-ubyte", ".idx3"},
		Open: func(ctx context.Context, path, _ string, opts Options) (*Array, error) {
			return OpenIDX(ctx, path, opts)
		}},
}

// FormatOf returns the format of a file by its name; nil means that it is no array.
func FormatOf(path string) *Format {
	ext, base := fault.Extension(path), strings.TrimSuffix(strings.ToLower(filepath.Base(path)), ".gz")
	for i, f := range formats {
		if slices.Contains(f.extensions, ext) || slices.ContainsFunc(f.within, func(part string) bool { return strings.Contains(base, part) }) {
			return &formats[i]
		}
	}
	return nil
}
