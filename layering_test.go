// Package credence_test holds the checks that concern the module as a whole.
package credence_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// modulePath is the path of this module; tools/rename-module changes it.
const modulePath = "credence"

// testOnly are the packages that any test may import and no other code may.
var testOnly = []string{"internal/oracle", "internal/python", "internal/golden", "internal/testsize"}

// forStudies are the packages of internal/ that studies may import: that they need no other shows that the public
// packages suffice.
var forStudies = []string{"internal/plot", "internal/rng", "internal/par", "internal/atomicfile", "internal/words",
	"internal/simulation", "internal/clinical", "internal/cohort", "internal/mnist", "internal/array"}

// goPackage is the part of the output of go list that matters here.
type goPackage struct {
	ImportPath                         string
	Imports, TestImports, XTestImports []string
}

// TestImportOrder checks that every package of the module has its place in the
// package table of ARCHITECTURE.md and imports only what stands before it.
func TestImportOrder(t *testing.T) {
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	order, err := packageTable(string(text))
	if err != nil {
		t.Fatalf("ARCHITECTURE.md: %v", err)
	}
	touchSources(t)
	found := map[string]bool{}
	for _, arch := range []string{"amd64", "arm64"} { // files for one of them import on their own
		for _, p := range listPackages(t, arch) {
			for _, problem := range checkImports(modulePath, order, p) {
				found[problem] = true
			}
		}
	}
	for problem := range found {
		t.Error(problem)
	}
}

// packageTable returns the paths between backticks in the first column of the
// table whose first column is headed "package", from top to bottom.
func packageTable(markdown string) ([]string, error) {
	var order []string
	inTable := false
	for line := range strings.Lines(markdown) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 || strings.TrimSpace(cells[0]) != "" {
			inTable = false
			continue
		}
		if strings.EqualFold(strings.TrimSpace(cells[1]), "package") {
			inTable = true
		}
		if !inTable {
			continue
		}
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[1], -1) {
			if slices.Contains(order, m[1]) {
				return nil, fmt.Errorf("the package table lists %s twice", m[1])
			}
			order = append(order, m[1])
		}
	}
	if len(order) == 0 {
		return nil, errors.New("no table whose first column is headed \"package\" and lists packages in backticks")
	}
	return order, nil
}

// checkImports returns what is wrong with the place of p in order, and with
// what p and its tests import of the module.
func checkImports(module string, order []string, p goPackage) []string {
	name := strings.TrimPrefix(p.ImportPath, module+"/")
	if name == module {
		return nil // the root has nothing but this test
	}
	place := slices.Index(order, name)
	if place < 0 {
		return []string{name + " is not in the package table of ARCHITECTURE.md"}
	}
	var problems []string
	check := func(importer string, imports []string, inTest bool) {
		for _, path := range imports {
			imported, ours := strings.CutPrefix(path, module+"/")
			switch {
			case !ours || imported == name:
			case slices.Contains(testOnly, imported):
				if !inTest {
					problems = append(problems, fmt.Sprintf("%s imports %s, which is for tests only", importer, imported))
				}
			case strings.HasPrefix(name, "studies/") && strings.HasPrefix(imported, "internal/") && !slices.Contains(forStudies, imported):
				problems = append(problems, fmt.Sprintf("%s imports %s, which is not among the internal packages for studies", importer, imported))
			case slices.Index(order, imported) > place:
				problems = append(problems, fmt.Sprintf(
					"%s imports %s, which comes after %s in the package table of ARCHITECTURE.md", importer, imported, name))
			}
		}
	}
	check(name, p.Imports, false)
	check("the test of "+name, slices.Concat(p.TestImports, p.XTestImports), true)
	return problems
}

// listPackages returns the packages of the module as built for arch.
func listPackages(t *testing.T, arch string) []goPackage {
	t.Helper()
	var stderr strings.Builder
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,TestImports,XTestImports", "./...")
	cmd.Env = append(os.Environ(), "GOARCH="+arch, "CGO_ENABLED=0")
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &stderr)
	}
	var list []goPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := dec.Decode(&p); err == io.EOF {
			return list
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		list = append(list, p)
	}
}

// touchSources reads every folder of the module itself, since go test sees what
// a test reads but not what go list reads, and would go on reporting a cached
// success after an import has changed.
func touchSources(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && path != "." && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestPackageTable(t *testing.T) {
	const doc = "| module | why |\n| --- | --- |\n| `cobra` | verbs |\n\nText | with `bars` | in it.\n\n" +
		"| Package | what lives there |\n| --- | --- |\n| `a` | uses `x` |\n| `b/c`, `d` | |\n\n| other | |\n| `e` | |\n"
	got, err := packageTable(doc)
	if want := []string{"a", "b/c", "d"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("package table %q, %v; want %q", got, err, want)
	}
	for _, bad := range []string{"", "| package |\n| --- |\n", "| package |\n|---|\n| `a` |\n| `b`, `a` |\n"} {
		if got, err := packageTable(bad); err == nil {
			t.Errorf("package table of %q = %q, want an error", bad, got)
		}
	}
}

func TestCheckImports(t *testing.T) {
	order := []string{"internal/special", "internal/oracle", "internal/rng", "mixture", "nn", "cmd/credence", "studies/study"}
	for _, c := range []struct {
		p    goPackage
		want string
	}{
		{goPackage{ImportPath: modulePath}, ""},
		{goPackage{ImportPath: modulePath + "/mixture", Imports: []string{"math", modulePath + "/internal/special"},
			TestImports: []string{modulePath + "/internal/oracle"}, XTestImports: []string{modulePath + "/mixture"}}, ""},
		{goPackage{ImportPath: modulePath + "/internal/special", XTestImports: []string{modulePath + "/internal/oracle"}}, ""},
		{goPackage{ImportPath: modulePath + "/util"}, "util is not in the package table of ARCHITECTURE.md"},
		{goPackage{ImportPath: modulePath + "/mixture", Imports: []string{modulePath + "/nn"}},
			"mixture imports nn, which comes after mixture in the package table of ARCHITECTURE.md"},
		{goPackage{ImportPath: modulePath + "/mixture", XTestImports: []string{modulePath + "/nn"}},
			"the test of mixture imports nn, which comes after mixture in the package table of ARCHITECTURE.md"},
		{goPackage{ImportPath: modulePath + "/nn", Imports: []string{modulePath + "/internal/oracle"}},
			"nn imports internal/oracle, which is for tests only"},
		{goPackage{ImportPath: modulePath + "/studies/study", Imports: []string{modulePath + "/nn", modulePath + "/internal/rng",
			modulePath + "/internal/special"}},
			"studies/study imports internal/special, which is not among the internal packages for studies"},
	} {
		if got := strings.Join(checkImports(modulePath, order, c.p), "\n"); got != c.want {
			t.Errorf("%s: %q, want %q", c.p.ImportPath, got, c.want)
		}
	}
}
