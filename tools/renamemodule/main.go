// Command renamemodule gives the module in a folder another path: module clauses, imports and other quoted
// package paths of Go files, links of doc comments, and package paths in prose, scripts and deploy files.
//
// A name is rewritten only where it is a package of this module, so that folders, programs and JSON keys of the same name
// stay as they are.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"go/format"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

func main() {
	root := flag.String("root", ".", "`folder` of the module")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: rename-module PATH\n\nPATH is the new path of the module, such as example.org/team/credence.")
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	changed, err := rename(*root, flag.Arg(0))
	if err != nil {
		fmt.Fprintln(os.Stderr, "rename-module:", err)
		os.Exit(1)
	}
	fmt.Printf("%d files rewritten; \"go build ./... && go test ./...\" checks them\n", changed)
}

// rename gives the module in folder root the path to, and returns the number of files it rewrote.
func rename(root, to string) (int, error) {
	if err := module.CheckPath(to); err != nil {
		return 0, err
	}
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return 0, err
	}
	from := modfile.ModulePath(text)
	switch from {
	case "":
		return 0, fmt.Errorf("%s: expected a module clause, found none", filepath.Join(root, "go.mod"))
	case to:
		return 0, fmt.Errorf("the module is %s already", to)
	}
	files, err := tracked(root)
	if err != nil {
		return 0, err
	}
	r := newRenamer(from, to, files)
	// All files are rewritten in memory first, so that an error leaves the tree as it was.
	rewritten := map[string][]byte{}
	for _, name := range files {
		full := filepath.Join(root, name)
		if info, err := os.Lstat(full); err != nil || !info.Mode().IsRegular() {
			continue // a link, or removed from the working tree
		}
		old, err := os.ReadFile(full)
		if err != nil {
			return 0, err
		}
		text, err := r.file(name, old)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		if !bytes.Equal(old, text) {
			rewritten[full] = text
		}
	}
	for name, text := range rewritten {
		if err := os.WriteFile(name, text, 0o644); err != nil { // an existing file keeps its mode
			return 0, err
		}
	}
	return len(rewritten), nil
}

// tracked returns the files that git tracks in root, or all files where root is no checkout.
func tracked(root string) ([]string, error) {
	out, err := exec.Command("git", "-C", root, "ls-files", "-z").Output()
	if err == nil {
		return strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 }), nil
	}
	var files []string
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err = filepath.Rel(root, name)
		files = append(files, filepath.ToSlash(name))
		return err
	})
	return files, err
}

// A renamer rewrites the text of files.
type renamer struct {
	from, to string
	// module matches the path in the clauses of a go.mod file, quoted a string of Go that is a package's path,
	// link a link in a doc comment, prose a package in documents and scripts.
	module, quoted, link, prose *regexp.Regexp
}

// newRenamer returns a renamer for the packages that are among files.
func newRenamer(from, to string, files []string) *renamer {
	dirs := map[string]bool{}
	for _, f := range files {
		if strings.HasSuffix(f, ".go") || path.Base(f) == "go.mod" {
			for d := path.Dir(f); d != "."; d = path.Dir(d) {
				dirs[d] = true
			}
		}
	}
	longestFirst := slices.SortedFunc(maps.Keys(dirs), func(a, b string) int { return len(b) - len(a) })
	packages := "(?:" + strings.Join(longestFirst, "|") + ")"
	q := regexp.QuoteMeta(from)
	return &renamer{from: from, to: to,
		module: regexp.MustCompile(`(?m)^(\s*(?:module|require|replace|tool)?\s*)` + q + `((?:/\S*)?(?:\s|$))`),
		quoted: regexp.MustCompile("([\"`])" + q + "(/" + packages + ")([\"`.])"),
		link:   regexp.MustCompile(`(\[\*?)` + q + `(/` + packages + `[.\]])`),
		prose: regexp.MustCompile("(?m)(^|[\\s`\"'=(])" + q +
			"((?:/" + packages + ")(?:[\\s`\"'),;:]|[.@]\\S|\\.$|$)|@v[0-9]|=\\.\\./)"),
	}
}

// file returns the text of a file with the new path.
func (r *renamer) file(name string, text []byte) ([]byte, error) {
	if bytes.IndexByte(text[:min(len(text), 8000)], 0) >= 0 {
		return text, nil // not text
	}
	path, ext := []byte("${1}"+r.to+"${2}"), filepath.Ext(name)
	switch {
	case filepath.Base(name) == "go.mod":
		return r.module.ReplaceAll(text, path), nil
	case ext == ".go":
		text = r.quoted.ReplaceAll(text, []byte("${1}"+r.to+"${2}${3}"))
		text = moduleConst.ReplaceAll(text, []byte("${1}"+r.to+"${2}"))
		return format.Source(r.link.ReplaceAll(text, path)) // imports may stand in another order
	case name == "CHANGELOG.md" || strings.Contains(name, "testdata/") && ext != ".txtar":
		return text, nil // history and data
	case slices.Contains([]string{".md", ".txt", ".txtar", ".yaml", ".yml", ".toml", ".py", ".sh", ".service", ""}, ext):
		// Twice, since a match takes the character behind it, which may begin the next.
		return r.prose.ReplaceAll(r.prose.ReplaceAll(text, path), path), nil
	}
	return text, nil
}

// moduleConst is how a Go file states the module's own path where it needs it.
var moduleConst = regexp.MustCompile(`(?m)^(const modulePath = ")[^"]*(")`)
