package volume

import (
	"context"
	"path/filepath"
	"strings"
)

// Format is a file format of volumes: what the package that reads it offers to callers, who
// know it by nothing else.
type Format struct {
	Name string // in messages
	// Extensions are those of its files, in lower case; each may be followed by .gz.
	Extensions []string
	// Voxels is the extension of files that hold the voxels of another, which is the volume; "" if
	// there are none.
	Voxels string
	// Files returns the files that the volume at path is made of.
	Files func(path string) ([]string, error)
	// Header reads what is known of the volume at path before its voxels are read.
	Header func(path string) (Header, error)
	// Read reads the volume at path. Header.Memory says what it takes.
	Read func(ctx context.Context, path string) (*Volume, error)
}

// SplitName returns a path without the extension of a volume, and the extension in lower case,
// without .gz; "" if it has none of those given.
func SplitName(path string, extensions []string) (stem, ext string) {
	low := strings.TrimSuffix(strings.ToLower(path), ".gz")
	for _, e := range extensions {
		if strings.HasSuffix(low, e) && len(filepath.Base(low)) > len(e) {
			return path[:len(low)-len(e)], e
		}
	}
	return path, ""
}

// Header is what a file says about its volume.
type Header struct {
	Dim [3]int // voxels along the axes of the file
	// Oriented is false if the file does not say where left and right are.
	Oriented bool
}

// Memory returns the most bytes that reading the first volume and bringing it to a grid
// take at a time: the voxels, a copy of them in another order, and those of the grid along
// one axis, then along two.
func (h Header) Memory(grid [3]int) int64 {
	d := h.Dim
	n := int64(d[0]) * int64(d[1]) * int64(d[2])
	// Which axis of the file becomes which of the grid is not known yet.
	g := int64(max(grid[0], grid[1], grid[2]))
	along1 := n / int64(min(d[0], d[1], d[2])) * g
	along2 := int64(max(d[0], d[1], d[2])) * g * g
	return 4 * (2*n + along1 + along2 + 2*g*g*g)
}
