package array

import (
	"archive/zip"
	"encoding/binary"
	"fmt"
	"io"
	"unicode/utf8"
)

// Named is an array of float32 in row-major order with its name in an NPZ file.
type Named struct {
	Name   string
	Shape  []int
	Values []float32
}

// WriteNPZ writes an NPZ file of arrays and, as the array "ids", the ids of their rows. It is not compressed, as by numpy.savez.
func WriteNPZ(w io.Writer, ids []string, arrays []Named) error {
	z := zip.NewWriter(w)
	entry := func(name string) (io.Writer, error) {
		return z.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: zip.Store})
	}
	f, err := entry("ids")
	if err == nil {
		err = writeTexts(f, ids)
	}
	for _, a := range arrays {
		if err != nil {
			return err
		}
		if f, err = entry(a.Name); err == nil {
			err = WriteNPY(f, a.Shape, a.Values)
		}
	}
	if err != nil {
		return err
	}
	return z.Close()
}

// writeTexts writes an array of texts, with four bytes per character and the length of the longest.
func writeTexts(w io.Writer, texts []string) error {
	longest := 1
	for _, t := range texts {
		longest = max(longest, utf8.RuneCountInString(t))
	}
	if _, err := w.Write(headerNPY(fmt.Sprintf("'<U%d'", longest), []int{len(texts)})); err != nil {
		return err
	}
	for _, t := range texts {
		b := make([]byte, 0, 4*longest)
		for _, r := range t {
			b = binary.LittleEndian.AppendUint32(b, uint32(r))
		}
		if _, err := w.Write(b[:4*longest]); err != nil {
			return err
		}
	}
	return nil
}
