package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"credence/dataset"
	"credence/internal/config"
)

// evaluationData returns how the features in files are read, and their votes.
func evaluationData(s *config.Settings, data []string, truth string, stdin io.Reader) (dataset.LoadOptions, error) {
	o := s.LoadOptions()
	o.Data, o.Truth = data, truth
	if o.Votes != "" {
		o.FeatureOptions.Ignore = nil
	}
	text, err := readStdin(stdin, slices.Concat(o.Data, []string{o.Votes, o.Truth})...)
	o.FeatureOptions.Stdin, o.VotesOptions.Stdin = text, text
	return o, err
}

// dataWarnings writes the warnings of data that nothing is to be learned from,
// without those that are about learning alone.
func dataWarnings(w io.Writer, ds *dataset.Dataset) {
	for _, err := range ds.Warnings {
		if errors.Is(err, dataset.ErrOneVote) {
			continue
		}
		text := err.Error()
		if n, ok := errors.AsType[dataset.Unvoted](err); ok {
			text = plural(int(n), "item") + " without votes"
		}
		fmt.Fprintf(w, "credence: warning: %s\n", text)
	}
}

// wrapped writes text in lines of at most width characters, the first after
// lead and the others indented as far.
func wrapped(w io.StringWriter, lead, text string, width int) {
	indent := strings.Repeat(" ", len([]rune(lead)))
	line := lead
	room := width - len(indent)
	used := 0
	for word := range strings.FieldsSeq(text) {
		n := len([]rune(word))
		if used > 0 && used+1+n > room {
			w.WriteString(line + "\n")
			line, used = indent, 0
		}
		if used > 0 {
			line += " "
			used++
		}
		line += word
		used += n
	}
	w.WriteString(line + "\n")
}
