// Package config is the options of credence train, which are flags, keys of the
// configuration file and variables of the environment at once.
//
// [Options] is the one table of them: a row names an option, says what it does
// and points to its field in [Settings]; types and defaults are those of the
// fields. [Settings.Field] is an option as a flag, [Settings.Environment] and
// [Settings.File] fill in what flags leave open, [Settings.Show] tells what holds
// and where it comes from, [Settings.WriteRecord] writes what repeats a run,
// [Settings.WriteTemplate] a file to start from, and [WriteSchema] publishes the
// keys as a JSON Schema, for editors. Other verbs take some of the rows.
//
// A file is read strictly: a key that is unknown, given twice or of the wrong
// type is an [Error] with its place and, where there is one, the nearest key and
// its default. What is written reads back the same.
package config
