package record

import (
	"testing"
)

// Numbers as spreadsheets display them in the United States, in Germany, in
// Switzerland and in France.
func TestParseFormatted(t *testing.T) {
	for _, c := range []struct {
		text   string
		commas bool
		want   float64
		ok     bool
	}{
		{"1234.5", false, 1234.5, true},
		{"1,234.5", false, 1234.5, true},
		{"-12,345,678", false, -12345678, true},
		{"1,23", false, 0, false},
		{"0,123", false, 0, false},
		{"1,2345", false, 0, false},
		{"12,34,567", false, 0, false},
		{"1,234,", false, 0, false},
		{"1,234.5.6", false, 0, false},
		{"12.5%", false, 0.125, true},
		{"12 %", false, 0.12, true},
		{"12%%", false, 0, false},
		{"%", false, 0, false},
		{"12,5%", true, 0.125, true},
		{"1.234,5", true, 1234.5, true},
		{"1.234.567", true, 1234567, true},
		{"1.234", true, 1.234, true},
		{"1'234.5", false, 1234.5, true},
		{"1\u202f234,5", true, 1234.5, true},
		{"1 234", false, 0, false},
		{"$12", false, 0, false},
		{"12 mg", false, 0, false},
		{"-", false, 0, false},
		{"+,123", false, 0, false},
		{"", false, 0, false},
	} {
		if got, ok := ParseFormatted(c.text, c.commas); ok != c.ok || got != c.want && ok {
			t.Errorf("%q, commas %v: got %v, %v; want %v, %v", c.text, c.commas, got, ok, c.want, c.ok)
		}
	}
}
