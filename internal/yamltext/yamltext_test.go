package yamltext

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name, text string
		twice      bool
		bodies     int
		line       int    // of the error
		want       string // the error
	}{
		{name: "one document", text: "a: 1\n", bodies: 1},
		{name: "two documents", text: "a: 1\n---\nb: 2\n", bodies: 2},
		{name: "marked as UTF-8", text: "\ufeffa: 1\n", bodies: 1},
		{name: "a key twice, allowed", text: "a: 1\na: 2\n", twice: true, bodies: 1},
		{name: "a key twice", text: "a: 1\na: 2\n", line: 2, want: "already defined"},
		{name: "no YAML", text: "a: [1\n", line: 1, want: "line 1, column"},
		{name: "binary", text: "a: \x00", want: "expected UTF-8 text"},
		{name: "no UTF-8", text: "a: \xff", want: "expected UTF-8 text"},
		{name: "deep", text: strings.Repeat("[", 5000), want: "nested deeper than 100 levels"},
		{name: "deep lists on a line", text: strings.Repeat("- ", 80_000), want: "nested deeper than 100 levels"},
		{name: "deep keys on a line", text: strings.Repeat("? ", 80_000), want: "nested deeper than 100 levels"},
		{name: "some lists on a line", text: strings.Repeat("- ", 99) + "a", bodies: 1},
		{name: "deep indentation", text: staircase(1400), want: "nested deeper than 100 levels"},
		{name: "many lines", text: strings.Repeat("-\n", 20_001), want: "more than 20000 lines"},
		{name: "large", text: strings.Repeat("# xyzxyz", MaxBytes/8+1), want: "more than 1048576 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bodies, err := Parse([]byte(c.text), c.twice)
			if c.want == "" {
				if err != nil || len(bodies) != c.bodies {
					t.Errorf("%d documents, %v, want %d", len(bodies), err, c.bodies)
				}
				return
			}
			e, ok := errors.AsType[*Error](err)
			if !ok || !strings.Contains(err.Error(), c.want) || e.Line != c.line {
				t.Errorf("error %v, want one with %q in line %d", err, c.want, c.line)
			}
		})
	}
}

// staircase returns a text in which every line is indented further than the previous one.
func staircase(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

func TestReadFile(t *testing.T) {
	if _, err := ReadFile("none.yaml"); err == nil || err.Error() != "reading none.yaml: no such file or directory" {
		t.Errorf("error %v", err)
	}
	path := filepath.Join(t.TempDir(), "large.yaml")
	if err := os.WriteFile(path, make([]byte, 2*MaxBytes), 0o644); err != nil {
		t.Fatal(err)
	}
	if text, err := ReadFile(path); err != nil || len(text) != MaxBytes+1 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

func TestRecover(t *testing.T) {
	err := func() (err error) {
		defer Recover(&err)
		panic("no token")
	}()
	if err == nil || err.Error() != "malformed YAML: no token" {
		t.Errorf("error %v", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"a: 1", "- x\n- {y: [1, 2]}", "!!seq a", "a: &b *b", "? [", "\t", "%YAML"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, err := Parse(text, false); err != nil {
			if _, ok := errors.AsType[*Error](err); !ok {
				t.Errorf("error of type %T", err)
			}
		}
	})
}
