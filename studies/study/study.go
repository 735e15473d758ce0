// Package study holds the studies: those of Wu et al. (ICML 2019) and further ones on people's votes and on raters. Each is
// a [Study], which [Reproduce] runs in a [Folder].
package study

import (
	"context"
	"fmt"
)

// A Study fits models to data whose truth is known, or to votes of which some are held back, and measures
// how far their predictions can be trusted. Its JSON are the settings that its numbers depend on.
type Study interface {
	// Name names the study on the command line, in its folder, and among the pages.
	Name() string

	// Prepare checks the settings, reads the data that all pieces need, and returns the number of pieces.
	Prepare(ctx context.Context, f *Folder) (pieces int, err error)

	// Measure fits and measures piece by piece: pieces that the folder has are not repeated.
	Measure(ctx context.Context, f *Folder) (Results, error)
}

// Results are the measurements of a study.
type Results interface {
	// WriteTables and WriteFigures write tables and figures into the folder.
	WriteTables(f *Folder) error
	WriteFigures(f *Folder) error

	// Numbers returns the content of numbers.json.
	Numbers() any

	// Page returns the data for the template of the page, pages/NAME.md.
	Page(f *Folder) (any, error)
}

// Reproduce runs a study in a folder: its pieces, then tables, numbers.json, figures and the page. A study that
// was stopped continues with the pieces that are missing.
func Reproduce(ctx context.Context, s Study, f *Folder) error {
	pieces, err := s.Prepare(ctx, f)
	if err != nil {
		return err
	}
	f.total = pieces
	r, err := s.Measure(ctx, f)
	if err != nil {
		return err
	}
	return write(f, s.Name(), r)
}

// write writes the files of the study of that name.
func write(f *Folder, name string, r Results) error {
	if err := r.WriteTables(f); err != nil {
		return err
	}
	if err := f.writeJSON("numbers.json", r.Numbers()); err != nil {
		return err
	}
	if err := r.WriteFigures(f); err != nil {
		return err
	}
	page, err := r.Page(f)
	if err != nil {
		return fmt.Errorf("the page of study %s: %w", name, err)
	}
	return f.writePage(name+".md", page)
}
