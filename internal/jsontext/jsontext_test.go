package jsontext

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"
)

// pieces decodes a string that arrives k bytes at a time.
func pieces(text []byte, k int) (out []byte, rest []byte, p Kind) {
	var have []byte
	for {
		var n int
		out, n, p = appendString(out, have)
		have = have[n:]
		if p != Unfinished || len(text) == 0 {
			return out, append(have, text...), p
		}
		more := min(k, len(text))
		have, text = append(have, text[:more]...), text[more:]
	}
}

// FuzzString: strings are decoded as by the standard library, however the text is split.
func FuzzString(f *testing.F) {
	for _, s := range []string{`a"`, `\u00e9\ud83d\ude00\n"x`, `\ud800"`, `\ud800\u0041"`, `\ud800\u00zz"`, `\ud800\n"`, `\q"`, `\u12g4"`, "\xff\"", "a\tb\"", `\ud83d`, `\`, ``} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		whole, n, p := appendString(nil, text)
		for _, k := range []int{1, 3} {
			out, rest, q := pieces(bytes.Clone(text), k)
			if !bytes.Equal(out, whole) || q != p || !bytes.Equal(rest, text[n:]) {
				t.Fatalf("%q, %d bytes at a time: %q, %q, %d; at once: %q, %q, %d", text, k, out, rest, q, whole, text[n:], p)
			}
		}
		var want string
		err := json.Unmarshal(append([]byte{'"'}, text[:n]...), &want)
		if (p == None) != (err == nil) && p != NotUTF8 || p == None && string(whole) != want || p == NotUTF8 && utf8.Valid(whole) {
			t.Errorf("%q: %q, %d; the standard library: %q, %v", text, whole, p, want, err)
		}
	})
}
