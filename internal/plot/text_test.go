package plot

import (
	"bytes"
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// advance returns the width of s in a font at a size in pixels. Digits above and
// below the line, most of which the Go fonts lack, count as small ones.
func advance(t *testing.T, f *sfnt.Font, s string, size float64) float64 {
	t.Helper()
	const (
		raised  = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺"
		lowered = "₀₁₂₃₄₅₆₇₈₉₋₊"
		plain   = "0123456789−+"
		ppem    = 1024 // large, so that rounding to 1/64 pixel does not show
	)
	var buffer sfnt.Buffer
	total := 0.0
	for _, r := range s {
		share := 1.0
		for _, small := range []string{raised, lowered} {
			if i := strings.IndexRune(small, r); i >= 0 {
				r, share = []rune(plain)[len([]rune(small[:i]))], 0.68
			}
		}
		index, err := f.GlyphIndex(&buffer, r)
		if err != nil || index == 0 {
			t.Fatalf("%q: %q has no glyph: %v", s, r, err)
		}
		wide, err := f.GlyphAdvance(&buffer, index, fixed.I(ppem), font.HintingNone)
		if err != nil {
			t.Fatal(err)
		}
		total += float64(wide) / 64 * size * share / ppem
	}
	return total
}

// TestTextFits: the Go fonts are no wider than the estimate from which figures
// are laid out, and have a glyph for every rune that figures use.
func TestTextFits(t *testing.T) {
	parse := func(file []byte) *sfnt.Font {
		f, err := sfnt.Parse(file)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	regular, bold := parse(goregular.TTF), parse(gobold.TTF)
	for name, fig := range reportFigures() {
		dec := xml.NewDecoder(bytes.NewReader(svg(t, fig)))
		class := ""
		for {
			token, err := dec.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			switch e := token.(type) {
			case xml.StartElement:
				class = ""
				if e.Name.Local == "text" {
					class = e.Attr[0].Value
				}
			case xml.EndElement:
				class = ""
			case xml.CharData:
				if class == "" {
					continue
				}
				f := regular
				if strings.Contains(class, "title") {
					f = bold
				}
				wide, most := advance(t, f, string(e), TextSize), TextWidth(string(e), TextSize)
				if wide > most+1.5 {
					t.Errorf("%s: %q is %.1f wide, estimated %.1f", name, e, wide, most)
				}
			}
		}
	}
	advance(t, regular, "×…±μψσαβ√%≥≤−–∞0123456789+", TextSize)
}
