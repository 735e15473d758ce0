// Command site renders the documentation of the repository as static HTML pages, and checks it: every link and anchor
// between pages leads somewhere, and every command in an example has a verb and flags that the program has.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"html/template"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

func main() {
	root := flag.String("root", ".", "`folder` of the repository")
	out := flag.String("out", "", "`folder` to write the pages to (default: check only)")
	program := flag.String("program", "", "credence `binary` to check examples with (default: none are checked)")
	flag.Parse()
	s := &site{root: *root, pages: map[string]*page{}}
	err := s.read()
	if err == nil && *program != "" {
		err = s.readVerbs(*program)
	}
	if err == nil {
		err = s.check()
	}
	if err == nil && *out != "" {
		err = s.write(*out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
	fmt.Printf("%d pages, %d links and %d commands checked\n", len(s.pages), s.links, s.commands)
}

// site is the set of pages.
type site struct {
	root            string
	pages           map[string]*page    // by path in the repository, with slashes
	verbs           map[string][]string // flags by verb; nil if commands are not checked
	links, commands int
	errs            []error
}

// page is a Markdown file.
type page struct {
	name    string
	source  []byte
	doc     ast.Node
	anchors map[string]bool
}

var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID()))

// read parses all Markdown files that git has.
func (s *site) read() error {
	list, err := exec.Command("git", "-C", s.root, "ls-files", "*.md").Output()
	if err != nil {
		return fmt.Errorf("listing the pages: %w", err)
	}
	for name := range strings.FieldsSeq(string(list)) {
		if strings.Contains(name, "testdata/") || strings.HasPrefix(name, ".github/") || strings.HasPrefix(name, "studies/study/pages/") { // templates
			continue
		}
		source, err := os.ReadFile(filepath.Join(s.root, filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed, but not yet in a commit
		}
		if err != nil {
			return err
		}
		p := &page{name: name, source: source, anchors: map[string]bool{}}
		p.doc = markdown.Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext(parser.WithIDs(githubIDs{}))))
		for n := range nodes(p.doc) {
			if id, ok := n.AttributeString("id"); ok {
				p.anchors[string(id.([]byte))] = true
			}
		}
		s.pages[name] = p
	}
	return nil
}

// githubIDs makes the anchors of headings as GitHub does, but does not number equal ones.
type githubIDs struct{}

func (githubIDs) Generate(value []byte, _ ast.NodeKind) []byte {
	var b strings.Builder
	for _, r := range strings.ToLower(string(value)) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r > 127:
			b.WriteRune(r)
		}
	}
	return []byte(b.String())
}

func (githubIDs) Put([]byte) {}

// nodes runs through a document.
func nodes(doc ast.Node) func(yield func(ast.Node) bool) {
	return func(yield func(ast.Node) bool) {
		ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
			if entering && !yield(n) {
				return ast.WalkStop, nil
			}
			return ast.WalkContinue, nil
		})
	}
}

// readVerbs asks the program for its verbs and flags.
func (s *site) readVerbs(program string) error {
	out, err := exec.Command(program, "config", "schema", "--verbs").Output()
	if err != nil {
		return fmt.Errorf("%s config schema --verbs: %w", program, err)
	}
	var schema struct {
		Verbs []struct {
			Name  string
			Flags []struct{ Name string }
		}
	}
	if err := json.Unmarshal(out, &schema); err != nil {
		return err
	}
	s.verbs = map[string][]string{}
	for _, v := range schema.Verbs {
		flags := []string{"help", "help-all", "version"}
		for _, f := range v.Flags {
			flags = append(flags, f.Name)
		}
		s.verbs[v.Name] = flags
	}
	return nil
}

// check checks links and commands, and returns all errors.
func (s *site) check() error {
	for _, name := range s.names() {
		p := s.pages[name]
		for n := range nodes(p.doc) {
			switch n := n.(type) {
			case *ast.Link:
				s.checkLink(p, string(n.Destination))
			case *ast.Image:
				s.checkLink(p, string(n.Destination))
			case *ast.FencedCodeBlock:
				if lang := string(n.Language(p.source)); s.verbs != nil && (lang == "sh" || lang == "bash") {
					s.checkCommands(p, string(n.Lines().Value(p.source)))
				}
			}
		}
	}
	return errors.Join(s.errs...)
}

func (s *site) names() []string {
	var list []string
	for name := range s.pages {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

func (s *site) errorf(p *page, format string, args ...any) {
	s.errs = append(s.errs, fmt.Errorf("%s: "+format, append([]any{p.name}, args...)...))
}

// checkLink checks that a link inside the repository leads to a file, and its anchor to a heading.
func (s *site) checkLink(p *page, link string) {
	u, err := url.Parse(link)
	if err != nil || u.Scheme != "" || u.Host != "" {
		return // of the web
	}
	s.links++
	to := p.name
	if u.Path != "" {
		to = path.Join(path.Dir(p.name), u.Path)
	}
	if _, err := os.Stat(filepath.Join(s.root, filepath.FromSlash(to))); err != nil {
		s.errorf(p, "link %s: expected a file, found none at %s", link, to)
		return
	}
	if target := s.pages[to]; u.Fragment != "" && target != nil && !target.anchors[u.Fragment] {
		s.errorf(p, "link %s: expected a heading with this anchor in %s, found none", link, to)
	}
}

// checkCommands checks the commands of an example.
func (s *site) checkCommands(p *page, script string) {
	script = strings.ReplaceAll(script, "\\\n", " ")
	for line := range strings.Lines(script) {
		line, _, _ = strings.Cut(line, " #")
		for command := range strings.FieldsFuncSeq(line, func(r rune) bool { return r == '|' || r == ';' || r == '&' }) {
			words := strings.Fields(command)
			if len(words) > 2 && words[0] == "go" && words[1] == "run" && words[2] == "./cmd/credence" {
				words = words[2:]
			}
			if len(words) < 2 || path.Base(words[0]) != "credence" || strings.HasPrefix(words[1], "-") {
				continue
			}
			s.commands++
			verb := words[1]
			if len(words) > 2 && s.verbs[verb] == nil {
				verb += " " + words[2]
			}
			flags, ok := s.verbs[verb]
			if !ok && (words[1] == "help" || words[1] == "completion") {
				continue
			}
			if !ok {
				s.errorf(p, "%q: expected a verb of credence, found %q", strings.TrimSpace(command), words[1])
				continue
			}
			for _, w := range words {
				name, long := strings.CutPrefix(w, "--")
				name, _, _ = strings.Cut(name, "=")
				if long && name != "" && !slices.Contains(flags, strings.Trim(name, "[]…")) {
					s.errorf(p, "%q: credence %s has no flag --%s", strings.TrimSpace(command), verb, name)
				}
			}
		}
	}
}

var layout = template.Must(template.New("page").Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Title}}</title><style>
:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:52rem;margin:0 auto;padding:1rem}
pre,code{font-family:ui-monospace,monospace;font-size:.9em}
pre{overflow-x:auto;padding:.8rem;background:color-mix(in srgb,currentColor 8%,transparent);border-radius:6px}
table{border-collapse:collapse;display:block;overflow-x:auto}th,td{border:1px solid color-mix(in srgb,currentColor 25%,transparent);padding:.3rem .6rem;text-align:left;vertical-align:top}
img{max-width:100%}nav{border-bottom:1px solid color-mix(in srgb,currentColor 25%,transparent);margin-bottom:1rem;padding-bottom:.5rem}
</style></head><body><nav><a href="{{.Home}}README.html">Credence</a> · <a href="{{.Home}}docs/README.html">Documentation</a></nav>
<main>{{.Body}}</main></body></html>
`))

// write renders all pages to a folder, and copies the images that they show.
func (s *site) write(out string) error {
	for _, name := range s.names() {
		p := s.pages[name]
		title := name
		for n := range nodes(p.doc) {
			switch n := n.(type) {
			case *ast.Heading:
				if n.Level == 1 && title == name {
					title = string(n.Lines().Value(p.source))
				}
			case *ast.Link:
				n.Destination = rendered(s, p, string(n.Destination))
			case *ast.Image:
				if err := s.copyFile(p, string(n.Destination), out); err != nil {
					return err
				}
			}
		}
		var body, b bytes.Buffer
		if err := markdown.Renderer().Render(&body, p.source, p.doc); err != nil {
			return err
		}
		err := layout.Execute(&b, map[string]any{"Title": title, "Home": strings.Repeat("../", strings.Count(name, "/")), "Body": template.HTML(body.String())})
		if err != nil {
			return err
		}
		if err := writeFile(filepath.Join(out, strings.TrimSuffix(name, ".md")+".html"), b.Bytes()); err != nil {
			return err
		}
	}
	return writeFile(filepath.Join(out, "index.html"), []byte(`<!DOCTYPE html><meta http-equiv="refresh" content="0; url=README.html"><a href="README.html">Credence</a>`))
}

// rendered returns the link to a page as it is rendered; other links stay.
func rendered(s *site, p *page, link string) []byte {
	u, err := url.Parse(link)
	if err == nil && u.Host == "" && u.Path != "" && s.pages[path.Join(path.Dir(p.name), u.Path)] != nil {
		u.Path = strings.TrimSuffix(u.Path, ".md") + ".html"
		link = u.String()
	}
	return []byte(link)
}

// copyFile copies the file that a page shows.
func (s *site) copyFile(p *page, link, out string) error {
	u, err := url.Parse(link)
	if err != nil || u.Host != "" {
		return nil
	}
	name := filepath.FromSlash(path.Join(path.Dir(p.name), u.Path))
	body, err := os.ReadFile(filepath.Join(s.root, name))
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(out, name), body)
}

func writeFile(name string, body []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	return os.WriteFile(name, body, 0o666)
}
