package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// readStdin returns the text of standard input if one of the files is called
// "-", and nil otherwise. Only one of them can be.
func readStdin(stdin io.Reader, files ...string) ([]byte, error) {
	n := 0
	for _, f := range files {
		if f == "-" {
			n++
		}
	}
	switch n {
	case 0:
		return nil, nil
	case 1:
		text, err := io.ReadAll(stdin)
		if err != nil {
			return nil, fmt.Errorf("reading standard input: %w", err)
		}
		return slices.Concat([]byte{}, text), nil // not nil
	}
	return nil, usagef("- stands for standard input, which can be one file only, found it in %s", strings.Join(files, " "))
}
