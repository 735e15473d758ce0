package words

import "testing"

func TestQuoteFor(t *testing.T) {
	for _, x := range []struct{ system, name, want string }{
		{"linux", "runs/a-1.csv", "runs/a-1.csv"},
		{"linux", "", "''"},
		{"linux", "my runs/a", "'my runs/a'"},
		{"linux", `a\b`, `'a\b'`},
		{"darwin", "it's", `'it'\''s'`},
		{"windows", `C:\runs\a`, `C:\runs\a`},
		{"windows", "", `""`},
		{"windows", `C:\my runs\a`, `"C:\my runs\a"`},
		{"windows", "it's", `"it's"`},
		{"windows", "50%", `"50%"`},
		{"windows", "a,b", `"a,b"`}, // a list, to PowerShell
	} {
		if got := QuoteFor(x.system, x.name); got != x.want {
			t.Errorf("%s: %s became %s, want %s", x.system, x.name, got, x.want)
		}
	}
}
