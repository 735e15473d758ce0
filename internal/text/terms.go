package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Terms are hashed to two blocks of buckets: one for words and one for character runs.
const (
	blockBits = 20
	blockSize = 1 << blockBits
	buckets   = 2 * blockSize
)

// leastRun and mostRun limit the length of character runs: on held-out folds of tweets two to four did
// better than three to five.
const (
	leastRun = 2
	mostRun  = 4
)

// Placeholders for web addresses and user names: each is rare, but the presence of
// one may be informative.
const (
	urlWord  = "<url>"
	userWord = "<user>"
)

// terms extracts the terms of documents. It must not be used concurrently.
type terms struct {
	emit  func(bucket uint32)
	last  uint64 // hash of the previous word, 0 at the start
	runes []rune
}

// document calls emit with the bucket of each term of a document, once per
// occurrence.
func (t *terms) document(doc string) {
	t.last = 0
	for chunk := range strings.FieldsSeq(normalize(doc)) {
		t.chunk(chunk)
	}
}

// chunk emits the terms of the text between two spaces.
func (t *terms) chunk(s string) {
	if host, ok := address(s); ok {
		t.word(urlWord)
		if host != "" {
			t.single(hash(host))
		}
		t.characters(urlWord)
		return
	}
	if name, ok := mention(s); ok {
		t.word(userWord)
		if s != userWord {
			t.single(hash(s[:name]))
		}
		t.characters(userWord)
		t.words(s[name:])
		return
	}
	t.words(s)
	t.characters(s)
}

// words emits the words and symbols of a chunk.
func (t *terms) words(s string) {
	for s != "" {
		r, size := utf8.DecodeRuneInString(s)
		if letter(r) && !spaceless(r) {
			for size < len(s) {
				next, n := utf8.DecodeRuneInString(s[size:])
				if !inWord(next, s[size+n:]) {
					break
				}
				size += n
			}
		}
		if unicode.IsPrint(r) && r != utf8.RuneError {
			t.word(s[:size])
		}
		s = s[size:]
	}
}

// inWord reports whether a character continues a word: a letter, or an apostrophe
// before one.
func inWord(r rune, rest string) bool {
	if r == '\'' || r == '’' {
		next, _ := utf8.DecodeRuneInString(rest)
		return letter(next) && !spaceless(next) && rest != ""
	}
	return letter(r) && !spaceless(r)
}

// word emits a word, and the pair of it and the previous one.
func (t *terms) word(w string) {
	h := hash(w)
	t.single(h)
	if t.last != 0 {
		t.single(mix(t.last*factor ^ h))
	}
	t.last = h
}

func (t *terms) single(h uint64) { t.emit(uint32(h >> (64 - blockBits))) }

// characters emits the character runs of a chunk, with a blank before and
// after it.
func (t *terms) characters(s string) {
	t.runes = append(t.runes[:0], ' ')
	for _, r := range s {
		t.runes = append(t.runes, r)
	}
	t.runes = append(t.runes, ' ')
	for i := range t.runes {
		h := uint64(offset)
		for k, r := range t.runes[i:min(i+mostRun, len(t.runes))] {
			h = (h ^ uint64(r)) * factor
			if k+1 >= leastRun {
				t.emit(blockSize + uint32(mix(h)>>(64-blockBits)))
			}
		}
	}
	if len(t.runes) > 1<<16 {
		t.runes = nil // do not retain the memory of a long chunk
	}
}

// address reports whether a chunk is a web address, and returns its
// host.
func address(s string) (host string, ok bool) {
	if s == urlWord {
		return "", true
	}
	if host, ok = strings.CutPrefix(s, "https://"); !ok {
		host, ok = strings.CutPrefix(s, "http://")
	}
	if !ok && !strings.HasPrefix(s, "www.") {
		return "", false
	}
	if end := strings.IndexAny(host, "/?#:"); end >= 0 {
		host = host[:end]
	}
	return strings.TrimPrefix(host, "www."), true
}

// mention reports whether a chunk begins with a user name, and returns
// its end.
func mention(s string) (end int, ok bool) {
	if strings.HasPrefix(s, userWord) {
		return len(userWord), true
	}
	if len(s) < 2 || s[0] != '@' {
		return 0, false
	}
	for i, r := range s[1:] {
		if !letter(r) {
			return i + 1, i > 0
		}
	}
	return len(s), true
}

// Hashes are 64-bit FNV-1a (Fowler, Noll and Vo) over characters instead of
// bytes, with a final step that mixes the high bits.
const (
	offset = 14695981039346656037
	factor = 1099511628211
)

func hash(s string) uint64 {
	h := uint64(offset)
	for _, r := range s {
		h = (h ^ uint64(r)) * factor
	}
	return mix(h)
}

// mix is the final step of MurmurHash3.
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// normalize unifies spellings that readers consider the same: compatibility
// forms such as full-width letters and ligatures are replaced, letters are
// converted to lower case, and vowel points of Arabic and Hebrew and the stroke
// that lengthens Arabic words are removed. Marks of other scripts are kept,
// because they distinguish words.
func normalize(doc string) string {
	if !plain(doc) {
		doc = norm.NFKC.String(strings.ToValidUTF8(doc, " "))
	}
	return strings.Map(fold, doc)
}

// plain reports whether a document is pure ASCII, which is in normal
// form.
func plain(doc string) bool {
	return strings.IndexFunc(doc, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

// fold returns the normalized form of a character, or −1 for one that is
// removed.
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

// spaceless reports whether a letter belongs to a script without spaces between
// words.
func spaceless(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// letter reports whether a character can be part of a word.
func letter(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '_' || 'A' <= r && r <= 'Z'
	}
	return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsNumber(r)
}

// Sentence reports whether a table cell looks like a sentence: it has at least four
// words or, in a script without spaces, ten letters.
func Sentence(cell string) bool {
	words, letters := 0, 0
	inside := false // within a word that has a letter
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

// Phrase reports whether a table cell has several words and does not look like a name: three or more words, or two of
// which the second is not capitalized, as it is in "Ann Lee".
func Phrase(cell string) bool {
	words, capital := 0, false
	for word := range strings.FieldsSeq(cell) {
		first := strings.IndexFunc(word, unicode.IsLetter)
		if first < 0 {
			continue
		}
		words++
		r, _ := utf8.DecodeRuneInString(word[first:])
		capital = unicode.IsUpper(r)
	}
	return words > 2 || words == 2 && !capital
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
