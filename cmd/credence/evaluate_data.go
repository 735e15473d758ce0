package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"credence/dataset"
)

// evaluateData are the flags that say how votes, and the features of held-out
// items, are read.
type evaluateData struct {
	dataFlags
	truth string
}

// addVotes adds the flags on the form of a file of votes.
func (d *evaluateData) addVotes(f *pflag.FlagSet) {
	d.declareVotes(f)
	f.StringSliceVar(&d.voteColumns, "vote-columns", nil, "`columns` of votes, if not in the long form")
	f.StringSliceVar(&d.ignore, "ignore", nil, "`columns` to leave out")
}

// addFeatures adds the flags on the files that are read beside a model.
func (d *evaluateData) addFeatures(f *pflag.FlagSet) {
	f.StringVar(&d.votes, "votes", "", "`file` of the votes, if they are not beside the features")
	f.StringVar(&d.truth, "truth", "", "`file` of true probabilities, one column a class")
	f.StringVar(&d.group, "group", "", "`column` whose equal values keep items together")
	d.declareFeatures(f)
}

// readVotes returns what the flags on votes say.
func (d *evaluateData) readVotes() (dataset.VotesOptions, error) {
	o, err := d.votesOptions()
	o.Ignore = d.ignore
	return o, err
}

// loadOptions returns how the features in files are read, and their votes.
func (d *evaluateData) loadOptions(data []string) (o dataset.LoadOptions, err error) {
	o = dataset.LoadOptions{Data: data, Votes: d.votes, Truth: d.truth}
	if o.VotesOptions, err = d.readVotes(); err != nil {
		return o, err
	}
	if o.FeatureOptions, err = d.featureOptions(); err != nil {
		return o, err
	}
	if d.votes != "" {
		o.FeatureOptions.Ignore = nil
	}
	return o, nil
}

// readStdin reads the one file that is called -.
func (d *evaluateData) readStdin(stdin io.Reader, o *dataset.LoadOptions) error {
	text, err := readStdin(stdin, slices.Concat(o.Data, []string{o.Votes, o.Truth})...)
	o.FeatureOptions.Stdin, o.VotesOptions.Stdin = text, text
	return err
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
