package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"credence/internal/browser"
)

// shellWord matches a word of a command line: quoted as a whole, or without quotes and blanks.
var shellWord = regexp.MustCompile(`'[^']*'|"[^"]*"|\S+`)

// TestClinical runs the commands of docs/clinical.md on the spreadsheet that ships with it. If there is a browser, the
// PDF file has numbered pages.
func TestClinical(t *testing.T) {
	if testing.Short() {
		t.Skip("trains a model")
	}
	doc, err := os.ReadFile("../../docs/clinical.md")
	if err != nil {
		t.Fatal(err)
	}
	card, err := os.ReadFile("../../docs/clinical/card.yaml")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../docs/clinical")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	printer, noBrowser := browser.Find()
	if noBrowser == nil { // one that cannot run here, as in some containers, is as good as none
		_, noBrowser = browser.PDF(t.Context(), printer, []byte("<!DOCTYPE html><title>Title</title>"))
	}
	ran := 0
	for block := range strings.SplitSeq(string(doc), "```sh\n") {
		block, _, fenced := strings.Cut(block, "\n```")
		if ran == 0 && !strings.HasPrefix(block, "credence ") || !fenced {
			continue
		}
		for line := range strings.SplitSeq(strings.ReplaceAll(block, "\\\n", " "), "\n") {
			var args []string
			for _, word := range shellWord.FindAllString(line, -1) {
				args = append(args, strings.Trim(word, `'"`))
			}
			if args[0] != "credence" {
				t.Fatalf("expected a command of credence, found %q", line)
			}
			ran++
			if strings.HasSuffix(line, ".pdf") && noBrowser != nil {
				continue
			}
			var out, messages bytes.Buffer
			if code := program(args[1:], nil, &out, &messages); code != 0 {
				t.Fatalf("%s\nexited with code %d: %s", line, code, messages.String())
			}
		}
	}
	if ran != 8 {
		t.Errorf("%d commands, want 8", ran)
	}
	for _, quoted := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(doc, -1) {
		for line := range strings.Lines(string(quoted[1])) {
			if !bytes.Contains(card, []byte(line)) {
				t.Errorf("the page quotes a line that is not in the card: %s", line)
			}
		}
	}
	if noBrowser != nil {
		t.Skipf("the PDF file was not printed: %v", noBrowser)
	}
	checkPDF(t, "report.pdf", browser.NumbersPages(t.Context(), printer))
}

// checkPDF checks that a PDF file has several pages and, if pdftotext is there to read them, what the first has and
// that pages are numbered.
func checkPDF(t *testing.T, file string, numbered bool) {
	t.Helper()
	pdf, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pages := len(regexp.MustCompile(`/Type\s*/Page\b[^s]`).FindAll(pdf, -1))
	if pages < 10 || !bytes.HasPrefix(pdf, []byte("%PDF-")) {
		t.Errorf("%s has %d pages and begins %q", file, pages, pdf[:min(8, len(pdf))])
	}
	reader, err := exec.LookPath("pdftotext")
	if err != nil {
		t.Log("the text of the PDF file was not read: no pdftotext")
		return
	}
	text, err := exec.Command(reader, file, "-").Output()
	if err != nil {
		t.Fatal(err)
	}
	for i, page := range strings.Split(strings.TrimSuffix(string(text), "\f"), "\f") {
		want := []string{}
		if numbered {
			want = append(want, fmt.Sprintf("Page %d of %d", i+1, pages))
		}
		if i == 0 {
			want = append(want, "At a glance", "Intended use", "Main results", "Subgroups", "Sensitivity")
		}
		for _, part := range want {
			if !strings.Contains(page, part) {
				t.Errorf("printed page %d lacks %q", i+1, part)
			}
		}
	}
}
