package study

import (
	"bytes"
	"embed"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"sync"
	"text/template"

	"credence/evaluate"
	"credence/internal/words"
)

// pageFiles are the pages of the studies: Markdown with places for numbers, one
// file per study, with lines wrapped for editing.
//
//go:embed pages/*.md
var pageFiles embed.FS

// pages returns the parsed files, with the functions that format numbers. They are parsed on first use:
// that takes a millisecond, which would delay every start of the program.
var pages = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"capital":   capital,
		"command":   func() string { return "" }, // each page has its own
		"cell":      tableCell,
		"cells":     tableCells,
		"digits":    digits,
		"eachSeed":  eachSeed,
		"epochs":    epochs,
		"joined":    joined,
		"percent":   percent,
		"percentOf": percentOf,
		"plusMinus": plusMinus,
		"plural":    words.Plural[int],
		"points":    points,
		"share":     withError,
		"spelled":   spelled,
		"thousands": words.Thousands,
		"word":      word,
	}).ParseFS(pageFiles, "pages/*.md"))
})

// writePage writes README.md: the page of the given name with its numbers.
func (f *Folder) writePage(name string, numbers any) error {
	var b strings.Builder
	list, err := pages().Clone()
	if err != nil {
		return err
	}
	list.Funcs(template.FuncMap{"command": func() string { return f.Command }})
	if err := list.ExecuteTemplate(&b, name, numbers); err != nil {
		return fmt.Errorf("the page of the study: %w", err)
	}
	return f.write("README.md", func(w io.Writer) error {
		_, err := w.Write(fill(b.String()))
		return err
	})
}

// fill takes the line breaks of the templates out of paragraphs and items of
// lists, and leaves headings, rows of tables and code unchanged. A paragraph
// that begins with ![](file) is a figure: its text becomes both the description
// of the picture and the caption below. Several blank lines count as one.
func fill(text string) []byte {
	var out bytes.Buffer
	var open []string // lines of the paragraph or item being read
	closeText := func() {
		if open == nil {
			return
		}
		s := strings.Join(strings.Fields(strings.Join(open, " ")), " ")
		if rest, ok := strings.CutPrefix(s, "![]("); ok {
			file, caption, _ := strings.Cut(rest, ") ")
			alt := strings.NewReplacer("[", "(", "]", ")").Replace(caption)
			s = fmt.Sprintf("![%s](%s)\n\n*%s*", alt, file, caption)
		}
		out.WriteString(s + "\n")
		open = nil
	}
	code := false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		fence := strings.HasPrefix(line, "```")
		switch {
		case fence || code || strings.HasPrefix(line, "|") || strings.HasPrefix(line, "#"):
			closeText()
			out.WriteString(line + "\n")
			code = code != fence
		case strings.TrimSpace(line) == "":
			closeText()
			if out.Len() > 0 && !bytes.HasSuffix(out.Bytes(), []byte("\n\n")) {
				out.WriteByte('\n')
			}
		case strings.HasPrefix(line, "- "):
			closeText()
			open = []string{line}
		default:
			open = append(open, line)
		}
	}
	closeText()
	return append(bytes.TrimRight(out.Bytes(), "\n"), '\n')
}

// tableCell escapes a text for a table, so that its bars do not end the cell.
func tableCell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

// tableCells are several of a row.
func tableCells(list []string) string {
	var row []string
	for _, s := range list {
		row = append(row, tableCell(s))
	}
	return strings.Join(row, " | ")
}

// plusMinus writes a mean with its standard error, where it has one.
func plusMinus(s summary, n int) string {
	if !s.Mean.Known() {
		return "–"
	}
	text := digits(s.Mean, n)
	if s.SE.Known() {
		text += " ± " + digits(s.SE, n)
	}
	return text
}

func percentOf(s summary, n int) string {
	return plusMinus(summary{100 * s.Mean, 100 * s.SE}, n)
}

// digits formats a number with the given number of decimals; an unknown number is empty.
func digits(x evaluate.Number, n int) string {
	if !x.Known() {
		return ""
	}
	return strconv.FormatFloat(float64(x), 'f', n, 64)
}

// points writes a share in percentage points.
func points(x evaluate.Number, n int) string { return digits(100*x, n) }

// percent writes a share in percent.
func percent(x float64) string {
	if math.IsNaN(x) {
		return "–"
	}
	return strconv.FormatFloat(100*x, 'f', 1, 64)
}

func epochs(n int) string { return spelled(n, "epoch") }

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// joined writes numbers with spaces between them.
func joined(numbers []int) string { return strings.Trim(fmt.Sprint(numbers), "[]") }

// spelled is [words.Plural] with small numbers as words: one vote, two votes.
func spelled(n int, noun string) string { return word(n) + " " + words.Noun(n, noun) }

// word returns a number from 0 to 5 as a word, and others as digits.
func word(n int) string {
	if small := []string{"no", "one", "two", "three", "four", "five"}; n >= 0 && n < len(small) {
		return small[n]
	}
	return words.Thousands(n)
}
