// Package jsontext reads JSON text: a [Scanner] for readers of files, which see a part of the text at a
// time and build values, and for readers of requests, which have all of it and build none. Both take NaN
// and infinities for numbers, as Python writes them, and refuse text that is not UTF-8, where the standard
// library would replace bytes. They word errors themselves.
package jsontext

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Kind is a kind of problem.
type Kind uint8

const (
	None             Kind = iota
	Unfinished            // the text ends before a string does
	UnfinishedEscape      // the text ends within an escape of a string
	Control               // a control character in a string
	NotUTF8               // the string that ends here is not UTF-8
	BadEscape             // no escape of JSON, behind the backslash at this place
	BadHex                // no four hexadecimal digits behind \u at this place
	TooLong               // a string has more bytes than the scanner takes
	NoString              // no string or key where one is expected
	NoObject              // no object where one is expected
	NoArray               // no array where one is expected
	NoColon               // no colon behind a key
	NoComma               // neither a comma nor the closing bracket behind a value
	ExtraComma            // a comma before the closing bracket
)

// blank reports whether c is white space between tokens.
func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// plain returns how many bytes of text stand for themselves in a string: those before a quote,
// a backslash or a control character.
func plain(text []byte) int {
	for i, c := range text {
		if c == '"' || c == '\\' || c < ' ' {
			return i
		}
	}
	return len(text)
}

// appendString decodes what follows the opening quote of a string and appends it to buf. It takes n bytes
// of text: up to the closing quote and with it, or up to the problem. An unfinished string goes on
// when it is called again with the buffer and with text[n:], followed by more.
func appendString(buf, text []byte) (out []byte, n int, p Kind) {
	for {
		k := plain(text[n:])
		buf = append(buf, text[n:n+k]...)
		n += k
		switch {
		case n == len(text):
			return buf, n, Unfinished
		case text[n] == '"' && !utf8.Valid(buf):
			return buf, n + 1, NotUTF8
		case text[n] == '"':
			return buf, n + 1, None
		case text[n] != '\\':
			return buf, n, Control
		}
		r, k, p := escape(text[n:])
		if p != None {
			return buf, n, p
		}
		buf = utf8.AppendRune(buf, r)
		n += k
	}
}

// escape returns the character of an escape, which text begins with, and its length. Halves of a pair
// of surrogates that stand alone become U+FFFD, as in the standard library.
func escape(text []byte) (r rune, n int, p Kind) {
	if len(text) < 2 {
		return 0, 0, Unfinished
	}
	if i := strings.IndexByte(`"\/bfnrt`, text[1]); i >= 0 {
		return rune("\"\\/\b\f\n\r\t"[i]), 2, None
	}
	if text[1] != 'u' {
		return 0, 0, BadEscape
	}
	if r, p = hex(text[2:]); p != None || !utf16.IsSurrogate(r) {
		return r, 6, p
	}
	rest := text[6:]
	if len(rest) < 2 && strings.HasPrefix(`\u`, string(rest)) {
		return 0, 0, Unfinished
	}
	if bytes.HasPrefix(rest, []byte(`\u`)) {
		low, p := hex(rest[2:])
		if p == Unfinished {
			return 0, 0, p
		}
		if pair := utf16.DecodeRune(r, low); p == None && pair != utf8.RuneError {
			return pair, 12, None
		}
	}
	return utf8.RuneError, 6, None
}

// hex reads four hexadecimal digits.
func hex(text []byte) (rune, Kind) {
	if len(text) < 4 {
		return 0, Unfinished
	}
	x, err := strconv.ParseUint(string(text[:4]), 16, 16)
	if err != nil {
		return 0, BadHex
	}
	return rune(x), None
}

// wordLen returns the length of the number or word that text begins with.
func wordLen(text []byte) int {
	for i, c := range text {
		if !(c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') {
			return i
		}
	}
	return len(text)
}

// IsNumber reports whether a text is a number as JSON writes them.
func IsNumber(text string) bool {
	text = strings.TrimPrefix(text, "-")
	rest := strings.TrimLeft(text, "0123456789")
	whole := text[:len(text)-len(rest)]
	if whole == "" || len(whole) > 1 && whole[0] == '0' {
		return false
	}
	if after, ok := strings.CutPrefix(rest, "."); ok {
		rest = strings.TrimLeft(after, "0123456789")
		if len(rest) == len(after) {
			return false
		}
	}
	if rest == "" {
		return true
	}
	if rest[0] != 'e' && rest[0] != 'E' {
		return false
	}
	rest = rest[1:]
	if rest != "" && (rest[0] == '+' || rest[0] == '-') {
		rest = rest[1:]
	}
	return rest != "" && strings.Trim(rest, "0123456789") == ""
}
