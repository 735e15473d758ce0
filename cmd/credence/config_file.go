package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/spf13/pflag"
)

// A configuration file holds the long flags of a verb, one key each:
//
//	data: items.csv
//	widths: [64, 64]
//
// Lists are YAML lists. What the command line gives stays.

// readConfig sets the flags of f that the file names and the command line did
// not. Those of never are about one call and have no place in a file.
func readConfig(path string, f *pflag.FlagSet, never []string) (err error) {
	// The YAML module panics on some malformed values.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("reading %s: malformed YAML: %v", path, p)
		}
	}()
	text, err := os.ReadFile(path)
	if err != nil {
		if pe, ok := errors.AsType[*os.PathError](err); ok {
			err = pe.Err
		}
		return fmt.Errorf("reading %s: %w", path, err)
	}
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		if ye, ok := errors.AsType[yaml.Error](err); ok && ye.GetToken() != nil {
			p := ye.GetToken().Position
			return fmt.Errorf("%s:%d:%d: %s", path, p.Line, p.Column, ye.GetMessage())
		}
		return fmt.Errorf("reading %s: %s", path, yaml.FormatError(err, false, false))
	}
	var keys []*ast.MappingValueNode
	for _, doc := range file.Docs {
		switch body := doc.Body.(type) {
		case nil, *ast.CommentGroupNode:
		case *ast.MappingNode:
			keys = append(keys, body.Values...)
		case *ast.MappingValueNode:
			keys = append(keys, body)
		default:
			p := body.GetToken().Position
			return fmt.Errorf("%s:%d:%d: expected keys and values such as \"epochs: 100\"", path, p.Line, p.Column)
		}
	}
	given := map[string]bool{}
	f.Visit(func(flag *pflag.Flag) { given[flag.Name] = true })
	for _, k := range keys {
		p := k.Key.GetToken().Position
		bad := func(format string, args ...any) error {
			return fmt.Errorf("%s:%d:%d: %s", path, p.Line, p.Column, fmt.Sprintf(format, args...))
		}
		name := scalar(k.Key)
		flag := f.Lookup(name)
		if slices.Contains(never, name) {
			return bad("%s has its place on the command line, not in a file", name)
		}
		if flag == nil {
			err := bad("unknown key %q", name)
			if near := nearestFlag(name, f, never); near != nil {
				return withHint(err, fmt.Sprintf("did you mean %q (%s)?", near.Name, defaultOf(near)))
			}
			return err
		}
		if given[name] {
			continue
		}
		p = k.Value.GetToken().Position
		if err := setFromYAML(f, flag, k.Value); err != nil {
			return bad("%s: %v", name, err)
		}
	}
	return nil
}

func defaultOf(f *pflag.Flag) string {
	if f.DefValue == "" || f.DefValue == "0" || f.DefValue == "[]" {
		return "left out, it is chosen from the data"
	}
	return "default " + f.DefValue
}

// setFromYAML sets a flag to a scalar or to a list of them.
func setFromYAML(f *pflag.FlagSet, flag *pflag.Flag, n ast.Node) error {
	list, many := flag.Value.(pflag.SliceValue)
	var values []string
	switch n := n.(type) {
	case *ast.NullNode:
		return nil
	case *ast.SequenceNode:
		if !many {
			return errors.New("expected one value, found a list")
		}
		for _, v := range n.Values {
			if _, ok := v.(ast.ScalarNode); !ok {
				return errors.New("expected a list of plain values")
			}
			values = append(values, scalar(v))
		}
	case ast.ScalarNode:
		values = []string{scalar(n)}
	default:
		return errors.New("expected a plain value")
	}
	if many {
		flag.Changed = true
		return list.Replace(values)
	}
	if err := f.Set(flag.Name, values[0]); err != nil {
		// pflag repeats the name and the value.
		return fmt.Errorf("%q is not %s", values[0], expected(flag.Value.Type()))
	}
	return nil
}

func expected(kind string) string {
	switch kind {
	case "bool":
		return "true or false"
	case "int", "uint64":
		return "a whole number"
	case "float64":
		return "a number"
	case "bytes":
		return "a size such as 500MB or 2GB"
	}
	return "a " + kind
}

// scalar returns the text of a plain value, without quotes.
func scalar(n ast.Node) string {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value
	case *ast.LiteralNode:
		return n.Value.Value
	}
	return n.GetToken().Value
}

// nearestFlag returns the flag whose name takes the fewest changes, if few.
func nearestFlag(name string, f *pflag.FlagSet, never []string) *pflag.Flag {
	var best *pflag.Flag
	least := max(2, len(name)/3) + 1
	f.VisitAll(func(flag *pflag.Flag) {
		if slices.Contains(never, flag.Name) {
			return
		}
		if d := distance(strings.ReplaceAll(name, "_", "-"), flag.Name); d < least {
			best, least = flag, d
		}
	})
	return best
}

// distance is how many letters have to be put in, taken out or replaced.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// writeConfig writes the flags of f that are set, but for those of never, in
// the form that readConfig reads.
func writeConfig(w io.Writer, f *pflag.FlagSet, never []string) error {
	var list yaml.MapSlice
	f.VisitAll(func(flag *pflag.Flag) {
		if slices.Contains(never, flag.Name) || !flag.Changed {
			return
		}
		var value any = flag.Value.String()
		text := flag.Value.String()
		switch flag.Value.Type() {
		case "bool":
			value = text == "true"
		case "int", "uint64":
			value, _ = strconv.ParseUint(text, 10, 64)
			if n, err := strconv.ParseInt(text, 10, 64); err == nil {
				value = n
			}
		case "float64":
			value, _ = strconv.ParseFloat(text, 64)
		}
		if s, ok := flag.Value.(pflag.SliceValue); ok {
			value = s.GetSlice()
			if flag.Value.Type() != "stringSlice" {
				var numbers []float64
				for _, x := range s.GetSlice() {
					v, _ := strconv.ParseFloat(x, 64)
					numbers = append(numbers, v)
				}
				value = numbers
				if flag.Value.Type() == "intSlice" {
					var whole []int
					for _, v := range numbers {
						whole = append(whole, int(v))
					}
					value = whole
				}
			}
		}
		list = append(list, yaml.MapItem{Key: flag.Name, Value: value})
	})
	text, err := yaml.MarshalWithOptions(list, yaml.Flow(false), yaml.UseLiteralStyleIfMultiline(true))
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// numberList is a flag of numbers that a configuration file holds as a list.
type numberList struct{ numbers }

func (n *numberList) String() string        { return strings.Join(n.GetSlice(), ",") }
func (n *numberList) Append(s string) error { return n.Set(s) }
func (n *numberList) Replace(list []string) error {
	n.changed = false
	for _, s := range list {
		if err := n.Set(s); err != nil {
			return err
		}
	}
	return nil
}

func (n *numberList) GetSlice() []string {
	var list []string
	for _, v := range n.values {
		list = append(list, strconv.FormatFloat(v, 'g', -1, 64))
	}
	return list
}
