package credence_test

import (
	"encoding/json"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestPublicAPI checks that no exported declaration of a public package shows a type of internal/, which other modules
// could not name.
func TestPublicAPI(t *testing.T) {
	touchSources(t)
	out, err := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Export,Name", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	exports := map[string]string{} // by import path, the file with the types of a package
	var public []string
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct{ ImportPath, Export, Name string }
		if err := dec.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		name, ours := strings.CutPrefix(p.ImportPath, modulePath+"/")
		if ours && p.Name != "main" && !internal(p.ImportPath) && !strings.HasPrefix(name, "studies/") {
			public = append(public, p.ImportPath)
		}
	}
	if len(public) < 8 {
		t.Fatalf("public packages %q: expected eight or more", public)
	}
	imp := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})
	for _, path := range public {
		p, err := imp.Import(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, problem := range shownInternals(p) {
			t.Error(problem)
		}
	}
}

// internal reports whether other modules cannot import a package of this one.
func internal(path string) bool {
	return strings.HasPrefix(path, modulePath+"/internal/")
}

// shownInternals returns, in order, where exported declarations of p show types of internal packages.
func shownInternals(p *types.Package) []string {
	var problems []string
	for _, name := range p.Scope().Names() {
		o := p.Scope().Lookup(name)
		if !o.Exported() {
			continue
		}
		show := func(where string, t types.Type) {
			for _, hidden := range internalTypes(t, map[types.Type]bool{}) {
				problems = append(problems, fmt.Sprintf("%s.%s shows %s", p.Name(), where, hidden))
			}
		}
		named, isType := o.(*types.TypeName)
		if !isType {
			show(name, o.Type())
			continue
		}
		if alias, ok := named.Type().(*types.Alias); ok {
			show(name, alias.Rhs())
			continue
		}
		declared := named.Type().(*types.Named)
		if s, ok := declared.Underlying().(*types.Struct); ok {
			for f := range s.Fields() {
				if f.Exported() {
					show(name+"."+f.Name(), f.Type())
				}
			}
		} else {
			show(name, declared.Underlying())
		}
		for m := range declared.Methods() {
			if m.Exported() {
				show(name+"."+m.Name(), m.Type())
			}
		}
	}
	slices.Sort(problems)
	return problems
}

// internalTypes returns the types of internal packages that t is made of.
func internalTypes(t types.Type, seen map[types.Type]bool) (found []string) {
	if seen[t] {
		return nil
	}
	seen[t] = true
	part := func(t types.Type) { found = append(found, internalTypes(t, seen)...) }
	switch t := t.(type) {
	case *types.Alias:
		part(t.Rhs())
	case *types.Named:
		if pkg := t.Obj().Pkg(); pkg != nil && internal(pkg.Path()) {
			found = append(found, t.String())
		}
		for arg := range t.TypeArgs().Types() {
			part(arg)
		}
	case *types.Pointer:
		part(t.Elem())
	case *types.Slice:
		part(t.Elem())
	case *types.Array:
		part(t.Elem())
	case *types.Chan:
		part(t.Elem())
	case *types.Map:
		part(t.Key())
		part(t.Elem())
	case *types.Signature:
		for v := range t.Params().Variables() {
			part(v.Type())
		}
		for v := range t.Results().Variables() {
			part(v.Type())
		}
	case *types.Interface:
		for m := range t.Methods() {
			if m.Exported() {
				part(m.Type())
			}
		}
	case *types.Struct:
		for f := range t.Fields() {
			part(f.Type())
		}
	}
	return found
}
