package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Terms lie in two blocks of buckets: those of words and those of characters.
const (
	blockBits = 20
	blockSize = 1 << blockBits
	buckets   = 2 * blockSize
)

// Runs of characters have at least and at most so many: on held-out folds of tweets these did better
// than three to five.
const (
	leastRun = 2
	mostRun  = 4
)

// Stand-ins for addresses and names, of which each is rare but which as such may
// tell much.
const (
	urlWord  = "<url>"
	userWord = "<user>"
)

// terms finds the terms of documents. It is working memory for one goroutine.
type terms struct {
	emit  func(bucket uint32)
	last  uint64 // hash of the word before, 0 at the start
	runes []rune
}

// document calls emit with the bucket of each term of a document, as often as
// the term is there.
func (t *terms) document(doc string) {
	t.last = 0
	for chunk := range strings.FieldsSeq(normalize(doc)) {
		t.chunk(chunk)
	}
}

// chunk takes what stands between two spaces.
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

// words takes the words and signs of a chunk.
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

// inWord reports whether a character within a word goes on with it: a letter, or
// an apostrophe before one.
func inWord(r rune, rest string) bool {
	if r == '\'' || r == '’' {
		next, _ := utf8.DecodeRuneInString(rest)
		return letter(next) && !spaceless(next) && rest != ""
	}
	return letter(r) && !spaceless(r)
}

// word takes a word, and the pair of it and the one before.
func (t *terms) word(w string) {
	h := hash(w)
	t.single(h)
	if t.last != 0 {
		t.single(mix(t.last*factor ^ h))
	}
	t.last = h
}

func (t *terms) single(h uint64) { t.emit(uint32(h >> (64 - blockBits))) }

// characters takes the runs of characters of a chunk, with a blank before and
// behind it.
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
		t.runes = nil // one long chunk shall not take memory for good
	}
}

// address reports whether a chunk is an address of the web, and returns its
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

// mention reports whether a chunk begins with the name of a user, and returns
// where that ends.
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

// Hashes are those of Fowler, Noll and Vo (FNV-1a, 64 bits), over characters
// instead of bytes, with a last step that spreads them over the high bits.
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

// mix is the last step of MurmurHash3.
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
