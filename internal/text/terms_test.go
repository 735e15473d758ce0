package text

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// termsOf returns the buckets of a document, sorted.
func termsOf(doc string) []uint32 {
	var list []uint32
	t := terms{emit: func(b uint32) { list = append(list, b) }}
	t.document(doc)
	slices.Sort(list)
	return list
}

// wordsOf returns the buckets of its words and pairs of words.
func wordsOf(doc string) []uint32 {
	return slices.DeleteFunc(termsOf(doc), func(b uint32) bool { return b >= blockSize })
}

func bucketsOf(hashes ...uint64) []uint32 {
	var list []uint32
	for _, h := range hashes {
		list = append(list, uint32(h>>(64-blockBits)))
	}
	slices.Sort(list)
	return list
}

func pair(a, b string) uint64 { return mix(hash(a)*factor ^ hash(b)) }

func TestWords(t *testing.T) {
	for _, c := range []struct {
		doc  string
		want []uint64
	}{
		{"Good day", []uint64{hash("good"), hash("day"), pair("good", "day")}},
		{"don't!", []uint64{hash("don't"), hash("!"), pair("don't", "!")}},
		{"天气", []uint64{hash("天"), hash("气"), pair("天", "气")}},
		{"👍🏽👍", []uint64{hash("👍"), hash("👍"), pair("👍", "👍")}},
		{"https://www.Example.org/a?b=1", []uint64{hash(urlWord), hash("example.org")}},
		{"<url>", []uint64{hash(urlWord)}},
		{"@Some_One,", []uint64{hash(userWord), hash("@some_one"), hash(","), pair(userWord, ",")}},
		{"<user>", []uint64{hash(userWord)}},
		{" \t\r\n", nil},
		{"", nil},
		{"\xff\xfe", nil},
	} {
		if got := wordsOf(c.doc); !slices.Equal(got, bucketsOf(c.want...)) {
			t.Errorf("%q: %d words in buckets %v, want %v", c.doc, len(got), got, bucketsOf(c.want...))
		}
	}
}

// TestSpellings checks that spellings that readers consider the same have the same terms.
func TestSpellings(t *testing.T) {
	for _, c := range [][2]string{
		{"HELLO World", "hello world"},
		{"Ｈｅｌｌｏ", "hello"},       // full width
		{"cafe\u0301", "café"},   // combining accent
		{"ﬁne", "fine"},          // ligature
		{"مُحَمَّد", "محمد"},     // vowel points
		{"أحمد", "احمد"},         // hamza on alef
		{"مـرحبا", "مرحبا"},      // lengthened
		{"שָׁלוֹם", "שלום"},      // points
		{"❤️ yes", "❤ yes"},      // variation selector
		{"a  b\u00a0c", "a b c"}, // any space
	} {
		if a, b := termsOf(c[0]), termsOf(c[1]); !slices.Equal(a, b) {
			t.Errorf("%q and %q have different terms", c[0], c[1])
		}
	}
	for _, c := range [][2]string{{"cafe", "café"}, {"мои", "мой"}, {"ma", "mạ"}} {
		if a, b := termsOf(c[0]), termsOf(c[1]); slices.Equal(a, b) {
			t.Errorf("%q and %q have the same terms", c[0], c[1])
		}
	}
}

// TestRuns checks that " ab " has three runs of two characters, two of three and one of four.
func TestRuns(t *testing.T) {
	for doc, want := range map[string]int{"ab": 6, "a": 3, "abc": 9, "ab ab": 12} {
		if got := len(termsOf(doc)) - len(wordsOf(doc)); got != want {
			t.Errorf("%q has %d runs, want %d", doc, got, want)
		}
	}
}

func TestSentence(t *testing.T) {
	for cell, want := range map[string]bool{
		"this is a sentence": true, "New York City": false, "2020-01-02 10:00 - 12": false, "": false,
		"今天天气很好，我们去公园。": true, "北京": false, "هذه جملة قصيرة جدا": true, "وزارة الصحة": false,
		"A-17 B-18 C-19 D-20": true, "1 2 3 4 5": false, "วันนี้อากาศดีมาก": true,
	} {
		if got := Sentence(cell); got != want {
			t.Errorf("Sentence(%q) = %v", cell, got)
		}
	}
}

// TestLongDocument vectorizes a megabyte without a single space, and one of words.
func TestLongDocument(t *testing.T) {
	for _, doc := range []string{strings.Repeat("abcdefghij", 100_000), strings.Repeat("some words ", 90_000), strings.Repeat("长", 300_000)} {
		v := newVectorizer([]string{doc, doc}, 1<<20)
		v.vector(doc, func(at []int32, values []float32) {
			if len(at) == 0 || len(at) > 100 {
				t.Errorf("%.10q… has %d terms", doc, len(at))
			}
		})
	}
}

func FuzzTerms(f *testing.F) {
	for _, s := range []string{"Good day!", "\xff\x00", "http://", "@", "@a", "<user>x", "مُحَمَّد", "天气 👩‍👩‍👧", "a\u0301\u0302", strings.Repeat("é", 300)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, doc string) {
		list := termsOf(doc)
		for _, b := range list {
			if b >= buckets {
				t.Fatalf("bucket %d", b)
			}
		}
		// A document has at most a word, a pair and three runs for each character of
		// its normal form, and a few more for the blanks around chunks.
		if n := utf8.RuneCountInString(normalize(doc)); len(list) > 12*n+12 {
			t.Fatalf("%d terms of %d characters", len(list), n)
		}
		Sentence(doc)
		if !slices.Equal(list, termsOf(doc)) {
			t.Fatal("other terms the second time")
		}
	})
}
