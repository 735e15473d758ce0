package table

import (
	"errors"
	"strconv"
	"strings"
)

// ParseNumber reads a number; with commas, also "3,14".
func ParseNumber(s string, commas bool) (float64, bool) {
	if s == "" {
		return 0, false
	}
	// ParseFloat also takes "infinity", "0x1p-2" and "1_000", which in a table
	// are more likely text.
	if c := s[0]; c != '-' && c != '+' && c != '.' && (c < '0' || c > '9') {
		return 0, false
	}
	if len(s) > 1 && (s[1] == 'x' || s[1] == 'X' || s[1] == 'i' || s[1] == 'I') || strings.IndexByte(s, '_') >= 0 {
		return 0, false
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil && commas && strings.Count(s, ",") == 1 {
		x, err = strconv.ParseFloat(strings.Replace(s, ",", ".", 1), 64)
	}
	// A number beyond the range of float64 comes back as an infinity, which the
	// caller refuses as too large.
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, false
	}
	return x, true
}

// ParseFormatted reads a number as spreadsheets show it: plain, "12.5%", which
// is 0.125, or "1,234.5" with separators between groups of three digits. With
// commas, the comma is the decimal separator and a dot may part the groups, but
// a single dot is a decimal point: "1.234" cannot be told from "1.235".
func ParseFormatted(s string, commas bool) (float64, bool) {
	x, ok := ParseNumber(s, commas)
	if ok || s == "" {
		return x, ok
	}
	// Most texts are not numbers, and this is called for all of them.
	if c := s[0]; c != '-' && c != '+' && (c < '0' || c > '9') {
		return 0, false
	}
	if rest, percent := strings.CutSuffix(s, "%"); percent {
		x, ok := ParseFormatted(strings.TrimRight(rest, " \u00a0\u202f"), commas)
		return x / 100, ok && !strings.HasSuffix(rest, "%")
	}
	separators := []string{",", "'", "’", "\u00a0", "\u202f"}
	decimal := "."
	if commas {
		separators[0], decimal = ".", ","
	}
	for _, sep := range separators {
		if plain, ok := ungroup(s, sep, decimal); ok {
			return ParseNumber(plain, false)
		}
	}
	return 0, false
}

// ungroup takes the separators out of a number such as "-1,234,567.8", and
// writes its decimal separator as a dot.
func ungroup(s, sep, decimal string) (string, bool) {
	sign := ""
	if s[0] == '-' || s[0] == '+' {
		sign, s = s[:1], s[1:]
	}
	whole, fraction, _ := strings.Cut(s, decimal)
	groups := strings.Split(whole, sep)
	if len(groups) < 2 || !digits(fraction) || len(groups[0]) < 1 || len(groups[0]) > 3 || groups[0][0] == '0' {
		return "", false
	}
	for i, g := range groups {
		if i > 0 && len(g) != 3 || !digits(g) {
			return "", false
		}
	}
	return sign + strings.Join(groups, "") + "." + fraction, true
}

func digits(s string) bool {
	return strings.Trim(s, "0123456789") == ""
}

// IsDate reports whether a text looks like a date: 2021-03-24, 3/24/2021 or
// 24.3.2021, perhaps with a time behind it.
func IsDate(s string) bool {
	if at := strings.IndexAny(s, " T"); at > 0 {
		s = s[:at]
	}
	for _, sep := range []string{"-", "/", "."} {
		part := strings.Split(s, sep)
		if len(part) != 3 {
			continue
		}
		for i, p := range part {
			if p == "" || !digits(p) || len(p) > 2 && !(len(p) == 4 && i != 1) {
				return false
			}
		}
		return true
	}
	return false
}
