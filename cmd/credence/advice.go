package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"credence/dataset"
	"credence/internal/printout"
	"credence/internal/words"
)

// settingFlags says which flag makes a setting, and what to do with it: the first
// sentence where the column, or the value, is known, and the second where it is not.
// [WORD] stands for it, as the flag takes it.
var settingFlags = map[dataset.Setting]struct{ flag, known, open string }{
	dataset.SetItem:        {"item", "say --item [WORD] if it names the items", "name the column of the items with --item"},
	dataset.SetVotesItem:   {"votes-item", "", "name the column of the items among the votes with --votes-item"},
	dataset.SetLabel:       {"label", "", "name the column of labels, one per row, with --label"},
	dataset.SetTotal:       {"total", "", "name the column of totals with --total"},
	dataset.SetVotes:       {"votes", "", "give the file of votes with --votes"},
	dataset.SetVoteColumns: {"vote-columns", "name the columns of votes with --vote-columns [WORD]", "name the columns of votes with --vote-columns"},
	dataset.SetForm:        {"votes-form", "say which with [WORD]", "if these are votes, say in which form with --votes-form"},
	dataset.SetClasses:     {"classes", "", "name all classes with --classes"},
	dataset.SetIgnore:      {"ignore", "leave the column out with --ignore [WORD]", "leave out with --ignore what does not belong"},
	dataset.SetGroup:       {"group", "", "name the column of groups with --group"},
	dataset.SetCategorical: {"categorical", "take its values as categories with --categorical [WORD]", "name columns of categories with --categorical"},
	dataset.SetText:        {"text", "learn from its words with --text [WORD]", "name columns of text with --text"},
	dataset.SetMissing:     {"na", "say --na [WORD] if it stands for a missing value", ""},
	dataset.SetImages:      {"image-column", "read the files with --image-column [WORD]", "name the column of their paths with --image-column"},
	dataset.SetArray:       {"array", "", "name it with --array"},
	dataset.SetSheet:       {"sheet", "", "name the sheet with --sheet, that of a file of votes with --votes-sheet"},
}

// adviceOn says which flags would settle an error or a warning about data, or "".
// With flags, those that a verb does not have are left out.
func adviceOn(err error, flags *pflag.FlagSet) string {
	a, ok := errors.AsType[*dataset.Advice](err)
	if !ok {
		return ""
	}
	var list []string
	for _, s := range a.Settings {
		f := settingFlags[s]
		if flags != nil && flags.Lookup(f.flag) == nil {
			continue
		}
		word := ""
		switch {
		case s == dataset.SetMissing:
			word = listWord(a.Value)
		case s == dataset.SetVoteColumns:
			word = strings.Join(words.Each(a.Columns, listWord), ",")
		case s == dataset.SetForm:
			word = formFlags(a.Forms)
		case s == dataset.SetItem || s == dataset.SetImages:
			word = shellWord(a.Column)
		default:
			word = listWord(a.Column)
		}
		if word != "" && f.known != "" {
			list = append(list, strings.Replace(f.known, "[WORD]", word, 1))
		} else {
			list = append(list, f.open)
		}
	}
	if n := len(list); n > 1 {
		return strings.Join(list[:n-1], ", ") + ", or " + list[n-1]
	}
	return strings.Join(list, "")
}

// formFlags lists the flags for forms of votes.
func formFlags(forms []dataset.Form) string {
	flag := func(f dataset.Form) string { return fmt.Sprintf("--votes-form %v", f) }
	return strings.Join(words.Each(forms, flag), " or ")
}

// warningText writes a warning about data with the flags that would settle it.
func warningText(err error) string {
	text := err.Error()
	if advice := adviceOn(err, nil); advice != "" {
		text += "; " + advice
	}
	return printout.Plain(text)
}

// listWord writes a column's name as a flag takes it that lists columns, where
// commas part the names.
func listWord(name string) string {
	if strings.ContainsAny(name, ",\"\n") {
		name = `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
	}
	return shellWord(name)
}

// shellWord writes a column's name as a command line takes it.
func shellWord(name string) string {
	if strings.ContainsAny(name, " \t\"'`$\\&|;<>()*?[]{}~#!") {
		return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
	}
	return name
}
