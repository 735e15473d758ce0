package main

import (
	"errors"
	"fmt"
	"testing"

	"github.com/spf13/pflag"

	"credence/dataset"
)

func TestAdviceOn(t *testing.T) {
	train, _, err := newRoot().Find([]string{"train"})
	if err != nil {
		t.Fatal(err)
	}
	flags := train.Flags()
	for s := dataset.SetItem; s <= dataset.SetSheet; s++ {
		f, ok := settingFlags[s]
		if !ok || flags.Lookup(f.flag) == nil || f.known == "" && f.open == "" {
			t.Errorf("setting %d has the flag %+v", s, f)
		}
	}
	set := func(s ...dataset.Setting) []dataset.Setting { return s }
	for _, c := range []struct {
		advice dataset.Advice
		want   string
	}{
		{dataset.Advice{Settings: set(dataset.SetItem)}, "name the column of the items with --item"},
		{dataset.Advice{Settings: set(dataset.SetVotes, dataset.SetVoteColumns, dataset.SetLabel)},
			"give the file of votes with --votes, name the columns of votes with --vote-columns, or name the column of labels, one per row, with --label"},
		{dataset.Advice{Settings: set(dataset.SetMissing, dataset.SetCategorical), Column: "a", Value: "n.a., old"},
			`use --na '"n.a., old"' if it means a missing value, or read its values as categories with --categorical a`},
		{dataset.Advice{Settings: set(dataset.SetItem, dataset.SetIgnore), Column: "it's, \"x\""},
			`use --item 'it'\''s, "x"' if it identifies the items, or exclude the column with --ignore '"it'\''s, ""x"""'`},
		{dataset.Advice{Settings: set(dataset.SetForm), Forms: []dataset.Form{dataset.Long, dataset.Form(2)}},
			"specify --votes-form long or --votes-form wide"},
		{dataset.Advice{Settings: set(dataset.SetForm)}, "if these are votes, specify their form with --votes-form"},
	} {
		err := fmt.Errorf("reading x: %w", &dataset.ParseError{File: "x", Msg: "m", Err: &c.advice})
		if got := adviceOn(err, flags); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
		if got, want := warningText(err), err.Error()+"; "+c.want; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	// Flags that a verb does not have are not suggested.
	few := pflag.NewFlagSet("few", pflag.ContinueOnError)
	few.String("label", "", "")
	all := &dataset.Advice{Settings: set(dataset.SetVotes, dataset.SetLabel)}
	if got, want := adviceOn(all, few), "name the column of labels, one per row, with --label"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := adviceOn(errors.New("x"), few) + warningText(errors.New("x")); got != "x" {
		t.Error(got)
	}
}
