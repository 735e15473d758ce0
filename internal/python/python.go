// Package python finds the interpreter of Python that tests compare our files
// with. Tests alone import it.
package python

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Interpreter returns an interpreter of Python that has the modules: the one
// that CREDENCE_PYTHON names, or else python3. Without CREDENCE_PYTHON, a test
// whose modules are missing is skipped; with it, such a test fails, so that
// nobody who names an interpreter believes in a comparison that was not made.
func Interpreter(t testing.TB, modules ...string) string {
	t.Helper()
	exe := os.Getenv("CREDENCE_PYTHON")
	named := exe != ""
	if !named {
		exe = "python3"
	}
	out, err := exec.Command(exe, "-c", "import "+strings.Join(modules, ", ")).CombinedOutput()
	switch {
	case err == nil:
	case named:
		t.Fatalf("CREDENCE_PYTHON names %s, which does not import %s: %v\n%s", exe, strings.Join(modules, " and "), err, out)
	default:
		t.Skipf("%s does not import %s: set CREDENCE_PYTHON", exe, strings.Join(modules, " and "))
	}
	return exe
}

// Check has a program of Python, which imports the module, look at the file at path,
// as a subtest.
func Check(t *testing.T, module, program, path string) {
	t.Run(module, func(t *testing.T) {
		interpreter := Interpreter(t, module)
		if out, err := exec.Command(interpreter, "-c", program, path).CombinedOutput(); err != nil {
			t.Errorf("%s does not read our file: %v\n%s", module, err, out)
		}
	})
}
