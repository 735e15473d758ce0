package main

import (
	"fmt"
	"io"
	"strings"

	"credence/dataset"
)

// withFeatureHint says what to do if data lack features of a model.
func withFeatureHint(err error) error {
	return withHintOn(err, hint{dataset.ErrMissingFeature,
		"give every file that the model was trained on; credence inspect RUN --json lists its features"})
}

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
		text, err := io.ReadAll(stdin) // never nil
		if err != nil {
			return nil, fmt.Errorf("reading standard input: %w", err)
		}
		return text, nil
	}
	return nil, usagef("- stands for standard input, which can be one file only, found it in %s", strings.Join(files, " "))
}
