package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// normalize returns the document with one spelling for what readers take as the
// same: compatibility forms such as full-width letters and ligatures are
// replaced, letters are lower case, vowel points of Arabic and Hebrew are left
// out, and so is the stroke that lengthens Arabic words. Marks of other scripts
// stay, because they tell words apart.
func normalize(doc string) string {
	if !plain(doc) {
		doc = norm.NFKC.String(strings.ToValidUTF8(doc, " "))
	}
	return strings.Map(fold, doc)
}

// plain reports whether a document has nothing but ASCII, which is in normal
// form.
func plain(doc string) bool {
	for i := range len(doc) {
		if doc[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// fold returns the form of a character that terms are made of, −1 for one that
// is left out.
func fold(r rune) rune {
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}
	switch r {
	case 'أ', 'إ', 'آ', 'ٱ':
		return 'ا'
	case 'ى':
		return 'ي'
	case 'ـ', '\u200c', '\u200d', '\u00ad', '\ufeff':
		return -1
	}
	switch {
	case unicode.Is(unicode.Variation_Selector, r), 0x1f3fb <= r && r <= 0x1f3ff: // color of emoji
		return -1
	case 0x0591 <= r && r <= 0x06ff && unicode.Is(unicode.Mn, r): // Hebrew and Arabic points
		return -1
	}
	return unicode.ToLower(r)
}

// spaceless reports whether a letter belongs to a script that writes words
// without spaces between them.
func spaceless(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// letter reports whether a character is part of a word.
func letter(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '_' || 'A' <= r && r <= 'Z'
	}
	return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsNumber(r)
}

// Sentence reports whether a cell of a table reads like one: four words or more
// or, in a script without spaces, ten letters.
func Sentence(cell string) bool {
	words, letters := 0, 0
	inside := false // a word that has a letter
	for _, r := range cell {
		switch {
		case unicode.IsSpace(r):
			inside = false
		case spaceless(r) && unicode.IsLetter(r):
			letters++
		case !inside && unicode.IsLetter(r):
			inside = true
			words++
		}
		if words >= 4 || letters >= 10 {
			return true
		}
	}
	return false
}

// SameName returns one spelling for names that differ only in case, white space or
// Unicode form: "Ann Lee", "ann  lee" and full-width "ＡＮＮ ＬＥＥ" are "annlee".
func SameName(name string) string {
	if !plain(name) {
		name = norm.NFKC.String(strings.ToValidUTF8(name, "\ufffd"))
	}
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r), r == '\u200b', r == '\u200c', r == '\u200d', r == '\u00ad', r == '\ufeff':
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}
