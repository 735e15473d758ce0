package tokenizer

import (
	"iter"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// normalizer describes what is done to the characters of a text before it is split, in the order of the fields; absent ones
// have the defaults of the library.
type normalizer struct {
	component
	CleanText    *bool `json:"clean_text"`           // drop control characters, and make all white space a blank
	Chinese      *bool `json:"handle_chinese_chars"` // every ideograph is a word
	StripAccents *bool `json:"strip_accents"`        // drop combining marks; absent: if texts become lower case
	Lowercase    *bool `json:"lowercase"`
}

func unless(set *bool, absent bool) bool {
	if set == nil {
		return absent
	}
	return *set
}

// apply returns the normalized text. A nil normalizer returns the text itself.
func (n *normalizer) apply(text string) string {
	if n == nil {
		return text
	}
	lower := unless(n.Lowercase, true)
	strip := unless(n.StripAccents, lower)
	clean, chinese := unless(n.CleanText, true), unless(n.Chinese, true)
	var b strings.Builder
	b.Grow(len(text))
	for _, r := range text {
		switch {
		case clean && isControl(r):
		case clean && unicode.IsSpace(r):
			b.WriteByte(' ')
		case chinese && isIdeograph(r):
			b.WriteByte(' ')
			b.WriteRune(r)
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
	}
	text = b.String()
	if strip {
		text = strings.Map(func(r rune) rune {
			if isMark(r) {
				return -1
			}
			return r
		}, norm.NFD.String(text))
	}
	if lower {
		text = strings.ReplaceAll(text, "İ", "i\u0307") // the one letter whose lower case are two characters
		text = strings.Map(toLower, text)
	}
	return text
}

// words returns the words of a text after normalization: what white space separates, with every punctuation mark as a word of
// its own.
func (n *normalizer) words(text string) iter.Seq[string] {
	text = n.apply(text)
	return func(yield func(string) bool) {
		start := 0
		for i, r := range text {
			space, mark := unicode.IsSpace(r), isPunctuation(r)
			if !space && !mark {
				continue
			}
			if i > start && !yield(text[start:i]) {
				return
			}
			start = i + len(string(r))
			if mark && !yield(text[i:start]) {
				return
			}
		}
		if start < len(text) {
			yield(text[start:])
		}
	}
}
