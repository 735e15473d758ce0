package main

import (
	"embed"
	"strings"
)

// helpFiles are the long help texts, of 80 columns: what a verb does, reads and writes.
//
//go:embed help/*.txt
var helpFiles embed.FS

// helpText returns the help of a verb.
func helpText(verb string) string {
	text, err := helpFiles.ReadFile("help/" + verb + ".txt")
	if err != nil {
		panic(err) // the files are part of the program
	}
	return strings.TrimSuffix(string(text), "\n")
}
