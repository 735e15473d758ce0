package words

import (
	"runtime"
	"strings"
)

// Quote quotes an argument for a shell of this system, if that is necessary.
func Quote(s string) string { return QuoteFor(runtime.GOOS, s) }

// QuoteFor quotes an argument for a POSIX shell or, on Windows, so that both of its shells understand it: names have no quotes
// there, and backslashes are separators.
func QuoteFor(system, s string) string {
	signs := "-_./=,:+@%"
	if system == "windows" {
		signs = `-_./=:+\`
	}
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(signs, r) || r > 127
	}
	switch {
	case s != "" && strings.TrimFunc(s, plain) == "":
		return s
	case system == "windows":
		return `"` + s + `"`
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
