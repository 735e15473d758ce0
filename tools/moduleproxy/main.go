// Command moduleproxy writes a module as the files of a Go module proxy, which GOPROXY=file://DIR serves:
//
//	moduleproxy -root MODULE -version v0.1.0 DIR
//
// It shows before a release that "go install" works from it.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

func main() {
	root := flag.String("root", ".", "`folder` of the module")
	version := flag.String("version", "v0.1.0", "`version` to give it")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: moduleproxy [-root FOLDER] [-version VERSION] DIR")
		os.Exit(2)
	}
	if err := write(*root, *version, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "moduleproxy:", err)
		os.Exit(1)
	}
}

// write writes the module in folder root under dir.
func write(root, version, dir string) error {
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return err
	}
	m := module.Version{Path: modfile.ModulePath(text), Version: version}
	escaped, err := module.EscapePath(m.Path)
	if err != nil {
		return err
	}
	dir = filepath.Join(dir, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	info, err := json.Marshal(map[string]any{"Version": version, "Time": time.Now().UTC().Truncate(time.Second)})
	if err != nil {
		return err
	}
	for name, text := range map[string][]byte{"list": []byte(version + "\n"), version + ".info": info, version + ".mod": text} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	f, err := os.Create(filepath.Join(dir, version+".zip"))
	if err != nil {
		return err
	}
	if err := zip.CreateFromDir(f, m, root); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
