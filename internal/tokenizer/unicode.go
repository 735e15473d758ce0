package tokenizer

import (
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// The library takes categories of characters from Unicode 8, and lower case from Unicode 16, where Go has Unicode 15. These
// are the code points for which that matters, in hexadecimal: characters that are of a category now and were not then.
const (
	laterMarks = "7fd 898-89f 8ca-8e1 9fe afa-aff b55 c04 c3c d00 d3b-d3c d81 eba ece 180f 1885-1886 1abf-1ace 1df6-1dfb a82c a8c5 " +
		"a8ff a9bd 10d24-10d27 10eab-10eac 10efd-10eff 10f46-10f50 10f82-10f85 11070 11073-11074 110c2 111c9 111cf 1123e 11241 " +
		"1133b 11438-1143f 11442-11444 11446 1145e 1182f-11837 11839-1183a 1193b-1193c 1193e 11943 119d4-119d7 119da-119db 119e0 " +
		"11a01-11a0a 11a33-11a38 11a3b-11a3e 11a47 11a51-11a56 11a59-11a5b 11a8a-11a96 11a98-11a99 11c30-11c36 11c38-11c3d 11c3f " +
		"11c92-11ca7 11caa-11cb0 11cb2-11cb3 11cb5-11cb6 11d31-11d36 11d3a 11d3c-11d3d 11d3f-11d45 11d47 11d90-11d91 11d95 11d97 " +
		"11ef3-11ef4 11f00-11f01 11f36-11f3a 11f40 11f42 13440 13447-13455 16f4f 16fe4 1cf00-1cf2d 1cf30-1cf46 1e000-1e006 " +
		"1e008-1e018 1e01b-1e021 1e023-1e024 1e026-1e02a 1e08f 1e130-1e136 1e2ae 1e2ec-1e2ef 1e4ec-1e4ef 1e944-1e94a"
	laterPunctuation = "61d 9fd a76 c77 c84 1b7d-1b7e 2e43-2e4f 2e52-2e5d 10ead 10f55-10f59 10f86-10f89 1144b-1144f 1145a-1145b " +
		"1145d 11660-1166c 116b9 1183b 11944-11946 119e2 11a3f-11a46 11a9a-11a9c 11a9e-11aa2 11b00-11b09 11c41-11c45 11c70-11c71 " +
		"11ef7-11ef8 11f43-11f4f 11fff 12ff1-12ff2 16e97-16e9a 16fe2 1e95e-1e95f"
	laterControls = "890-891 8e2 110cd 13430-1343f"
)

var (
	marks       = sync.OnceValue(func() *category { return without(unicode.Mn, laterMarks, 0x1734) })
	punctuation = sync.OnceValue(func() *category { return without(unicode.P, laterPunctuation, 0x166d, 0x111c9) })
	controls    = sync.OnceValue(func() *category { return without(nil, laterControls) })
)

// category is a set of characters.
type category struct {
	of      *unicode.RangeTable
	except  []unicode.Range32
	further []rune
}

// without returns the characters of a table without those of a list of ranges, and with further ones.
func without(table *unicode.RangeTable, list string, further ...rune) *category {
	c := &category{of: table, further: further}
	for _, text := range strings.Fields(list) {
		lo, hi, several := strings.Cut(text, "-")
		if !several {
			hi = lo
		}
		from, _ := strconv.ParseUint(lo, 16, 32)
		to, _ := strconv.ParseUint(hi, 16, 32)
		c.except = append(c.except, unicode.Range32{Lo: uint32(from), Hi: uint32(to), Stride: 1})
	}
	return c
}

// excepts reports whether a character is in the list of ranges.
func (c *category) excepts(r rune) bool {
	for _, x := range c.except {
		if uint32(r) <= x.Hi {
			return uint32(r) >= x.Lo
		}
	}
	return false
}

// has reports whether a character is in the category.
func (c *category) has(r rune) bool {
	if r < 0x80 {
		return false // decided by the caller
	}
	for _, x := range c.further {
		if r == x {
			return true
		}
	}
	return unicode.Is(c.of, r) && !c.excepts(r)
}

// isControl reports whether a character is dropped from a text.
func isControl(r rune) bool {
	switch r {
	case '\t', '\n', '\r':
		return false
	case 0, 0xfffd:
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co) && !controls().excepts(r)
}

// isMark reports whether a character is a combining mark that takes no space.
func isMark(r rune) bool { return marks().has(r) }

// isPunctuation reports whether a character is a word by itself.
func isPunctuation(r rune) bool {
	if r < 0x80 {
		return r > ' ' && r < 0x7f && !('0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z')
	}
	return punctuation().has(r)
}

// toLower returns the lower case of a letter.
func toLower(r rune) rune {
	switch {
	case r == 0x1c89 || r == 0xa7cc || r == 0xa7da:
		return r + 1
	case r == 0xa7cb:
		return 0x264
	case r == 0xa7dc:
		return 0x19b
	case 0x10d50 <= r && r <= 0x10d65:
		return r + 0x20
	}
	return unicode.ToLower(r)
}

// ideographs are the blocks of unified ideographs that BERT's tokenizers know.
var ideographs = &unicode.RangeTable{
	R16: []unicode.Range16{{Lo: 0x3400, Hi: 0x4dbf, Stride: 1}, {Lo: 0x4e00, Hi: 0x9fff, Stride: 1}, {Lo: 0xf900, Hi: 0xfaff, Stride: 1}},
	R32: []unicode.Range32{{Lo: 0x20000, Hi: 0x2a6df, Stride: 1}, {Lo: 0x2a700, Hi: 0x2b73f, Stride: 1}, {Lo: 0x2b740, Hi: 0x2b81f, Stride: 1},
		{Lo: 0x2b920, Hi: 0x2ceaf, Stride: 1}, {Lo: 0x2f800, Hi: 0x2fa1f, Stride: 1}},
}

func isIdeograph(r rune) bool { return unicode.Is(ideographs, r) }
