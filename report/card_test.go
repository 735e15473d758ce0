package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"credence/internal/words"
)

func TestParseCard(t *testing.T) {
	c, err := ParseCard("card.yaml", []byte(testCard))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprintf("%q", c.Texts["intended_use"]), `["Second reading of nodules." "Not urgent ones." "Not those of children."]`; got != want {
		t.Errorf("intended use %s, want %s", got, want)
	}
	if got := c.Tripod["20b"]; !slices.Equal(got, []string{"Table 1 of the paper."}) {
		t.Errorf("item 20b: %q", got)
	}
	for text, want := range map[string]string{
		"limits: a\nintended-use: b":  `card.yaml:2:1: unknown key "intended-use": did you mean "intended_use"?`,
		"Limits: a":                   `card.yaml:1:1: unknown key "Limits": did you mean "limits"?`,
		"zzzzzz: a":                   `card.yaml:1:1: unknown key "zzzzzz": expected one of name, question, `,
		"tripod: {28: a}":             `card.yaml:1:10: unknown key "28": expected one of 1, 2, 3a`,
		"tripod: a":                   `card.yaml:1:9: expected keys and texts, such as "1: ..."`,
		"limits:\n":                   "card.yaml:1:",
		"limits: ''":                  "card.yaml:1:9: expected a text, found nothing: leave the key out",
		"limits: {a: b}":              "expected a text or a list of texts",
		"limits:\n- - a":              "expected a text or a list of texts",
		"limits: a\nlimits: b":        "already defined",
		"- a":                         `card.yaml:1:1: expected keys and texts, such as "name: ..."`,
		"":                            `reading card.yaml: expected one document of keys and texts`,
		"a: [":                        "card.yaml:1:",
		"limits: a\n---\nlimits: b":   "expected one document",
		"limits: \xff":                "reading card.yaml: expected UTF-8 text",
		"tripod:\n  12a: x\n  12h: y": `card.yaml:3:3: unknown key "12h": did you mean `,
	} {
		if c, err := ParseCard("card.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v, want %s", text, c, err, want)
		}
	}
}

// FuzzParseCard: whatever the text, there is a card or an error that names the file.
func FuzzParseCard(f *testing.F) {
	f.Add([]byte(testCard))
	f.Add([]byte("limits: !!binary a\ntripod: {1: }"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := ParseCard("card.yaml", text)
		if err != nil && !strings.Contains(err.Error(), "card.yaml") {
			t.Errorf("error %v", err)
		}
		if err == nil && c == nil {
			t.Error("neither a card nor an error")
		}
	})
}

// TestTripod checks the checklist against the structure of the statement: 27 items, of which those with parts have
// as many as here, as in published checklists that follow it.
func TestTripod(t *testing.T) {
	parts := map[string]int{"3": 3, "5": 2, "6": 3, "8": 3, "9": 3, "12": 7, "18": 6, "20": 3, "23": 2, "27": 3}
	var want []string
	for i := 1; i <= 27; i++ {
		if n := parts[fmt.Sprint(i)]; n > 0 {
			for k := range n {
				want = append(want, fmt.Sprintf("%d%c", i, 'a'+k))
			}
		} else {
			want = append(want, fmt.Sprint(i))
		}
	}
	got := words.Each(tripod, func(i tripodItem) string { return i.number })
	if !slices.Equal(got, want) {
		t.Errorf("items %q, want %q", got, want)
	}
	for _, k := range CardKeys {
		for _, number := range k.Items {
			if !slices.Contains(got, number) {
				t.Errorf("key %s: no item %s", k.Key, number)
			}
		}
	}
}
