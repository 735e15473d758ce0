package printout

import (
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	for _, c := range []struct {
		name           string
		table          *Table
		text, markdown string
	}{
		{"aligned", NewTable(0),
			"name     n\nη        1\na|b   1000\nbare\n",
			"| name | n |\n| --- | ---: |\n| η | 1 |\n| a\\|b | 1000 |\n| bare | |\n"},
		{"bare", NewTable(0).Bare(),
			"name     n\nη        1\na|b   1000\nbare\n",
			"| | |\n| --- | ---: |\n| name | n |\n| η | 1 |\n| a\\|b | 1000 |\n| bare | |\n"},
	} {
		c.table.Add("name", "n")
		c.table.Add("η", "1")
		c.table.Add("a|b", "1000")
		c.table.Add("bare")
		for markdown, want := range map[bool]string{false: c.text, true: c.markdown} {
			p := &Page{Markdown: markdown}
			if p.Table(c.table); p.String() != want {
				t.Errorf("%s:\n%s\nwant\n%s", c.name, p, want)
			}
		}
	}
}

func TestPage(t *testing.T) {
	write := func(p *Page) string {
		p.Sections(
			func(p *Page) { p.Paragraph("Data  ", "three words here") },
			func(*Page) {}, // writes nothing
			func(p *Page) { p.Bullets([]string{"mind this"}) })
		return p.String()
	}
	if got, want := write(&Page{Width: 18}), "Data  three words\n      here\n\nWarnings\n  - mind this\n"; got != want {
		t.Errorf("text %q, want %q", got, want)
	}
	if got, want := write(&Page{Markdown: true}), "**Data** three words here\n\n## Warnings\n\n- mind this\n"; got != want {
		t.Errorf("Markdown %q, want %q", got, want)
	}
}

func TestText(t *testing.T) {
	var b strings.Builder
	Wrap(&b, "", "a word that is longer than the width", 6)
	if got, want := b.String(), "a word\nthat\nis\nlonger\nthan\nthe\nwidth\n"; got != want {
		t.Errorf("wrapped as %q, want %q", got, want)
	}
	if got := Ellipsis("ηηηηηηηηη", 8); got != "ηηηηηηη…" {
		t.Errorf("cut to %s", got)
	}
	if got := Ellipsis("short", 3); got != "short" {
		t.Errorf("cut to %s", got)
	}
	for x, want := range map[float64]string{0: "0.0000", 1e-9: "<0.0001", 0.25: "0.2500", 1 - 1e-9: ">0.9999", 1: "1.0000"} {
		if got := Share(x); got != want {
			t.Errorf("%v is shown as %s, want %s", x, got, want)
		}
	}
	for level, want := range map[float64]string{0.95: "95%", 0.999: "99.9%", 0.07: "7%"} {
		if got := Percent(level); got != want {
			t.Errorf("%v is shown as %s, want %s", level, got, want)
		}
	}
}

// TestForeign: text from files is escaped for terminals and for HTML.
func TestForeign(t *testing.T) {
	const evil = "a\x1b]0;x\a\u202e\r<script>[b](javascript:c)"
	for _, c := range []struct {
		markdown bool
		want     string
	}{
		{false, `a\x1b]0;x\x07\u202e\x0d<script>[b](javascript:c)`},
		{true, `a\x1b]0;x\x07\u202e\x0d&lt;script>[b]\(javascript:c)`},
	} {
		p := &Page{Markdown: c.markdown, Width: 200}
		p.Heading("%s", evil)
		p.Paragraph("", evil)
		p.Note("%s", evil)
		p.Bullets([]string{evil})
		table := NewTable(0)
		table.Add(evil, "two\nlines\tmore")
		p.Table(table)
		got := p.String()
		if n := strings.Count(got, c.want); n != 5 || strings.ContainsAny(got, "\x1b\a\r\u202e") || !strings.Contains(got, `two\x0alines\x09more`) {
			t.Errorf("Markdown %t: %d times in\n%s", c.markdown, n, got)
		}
	}
	if got := Plain("η\t1\n"); got != "η\t1\n" {
		t.Errorf("%q", got)
	}
}
