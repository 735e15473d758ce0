package clinical

import (
	"strconv"
	"strings"
	"testing"
)

// matches reports whether a cell of a table meets the condition.
func matches(c *Condition, value string) bool {
	x, err := strconv.ParseFloat(value, 64)
	return c.Matches(value, x, err == nil)
}

func TestCondition(t *testing.T) {
	for _, c := range []struct{ text, in, out string }{
		{"24-27", "24 25 26.5 27 27.0", "23.9 28 CN"},
		{"24 - 27", "24 27", "28"},
		{"24 to 27", "24 27", "28"},
		{"24–27", "24 27", "28"},
		{"24to27", "25", "28"},
		{"-3--1", "-3 -1 -2", "1 0 -4"},
		{"-3 to +1", "0 1 -3", "2"},
		{"0.5", "0.5 .5 0.50", "0 1"},
		{"-1, -4", "-1 -4", "1 4 -2"},
		{">= 1", "1 3 1e9", "0.5 -1 CN"},
		{"≥1", "1 3", "0.5"},
		{">1", "1.5", "1"},
		{"< 24", "23 0 -5", "24"},
		{"<=23", "23", "23.5"},
		{"≤ 23", "23", "24"},
		{"= 2", "2", "3"},
		{"> 0 and <= 1", "0.5 1", "0 1.5"},
		{">0 AND <1", "0.5", "0 1"},
		{"0, 2-3, > 5", "0 2 2.5 6", "1 4 5"},
		{"CN", "CN cn Cn", "NC 0"},
		{"early MCI,late MCI", "", "MCI"},
		{"Dementia, AD", "AD dementia", "MCI"},
		{"'1st', \"2, or 3\"", "1st", "1 2"},
		{"'1'", "1", "1.0 2"},
		{"andorra", "andorra", "and"},
		{"today", "today", "to"},
		{"'otherwise'", "otherwise", "x"},
		{" 3 , x ", "3 x", ""},
	} {
		got, err := ParseCondition(c.text)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		again, err := ParseCondition(got.String())
		if err != nil {
			t.Errorf("%q is written %q, which is refused: %v", c.text, got, err)
			continue
		}
		for _, v := range strings.Fields(c.in) {
			if !matches(got, v) || !matches(again, v) {
				t.Errorf("%q leaves out %q", c.text, v)
			}
		}
		for _, v := range strings.Fields(c.out) {
			if matches(got, v) || matches(again, v) {
				t.Errorf("%q takes in %q", c.text, v)
			}
		}
	}
}

func TestConditionErrors(t *testing.T) {
	for _, c := range []struct {
		text   string
		offset int
		want   string
	}{
		{"", 0, "expected a value, a range such as 24-27"},
		{"  ", 2, "expected a value"},
		{"1,", 2, "expected a value"},
		{"1,,2", 2, "expected a value"},
		{"27-24", 0, "the range runs backwards"},
		{"1, 27-24", 3, "the range runs backwards"},
		{"24-", 3, "expected a number"},
		{"24-x", 3, "expected a number"},
		{">= ", 3, "expected a number"},
		{">= high", 3, "expected a number"},
		{"> 1 and", 7, "expected a comparison"},
		{"> 1 and 3", 8, "expected a comparison"},
		{"> 1 and < 1", 0, "the range is empty"},
		{"> 3 and < 1", 0, "the range is empty"},
		{"> 3 < 5", 4, "expected a comma"},
		{"1st", 1, "expected a comma after a number"},
		{"1 2", 2, "expected a comma after a number"},
		{"1e5", 1, "expected a comma after a number"},
		{"1.2.3", 0, "expected a number"},
		{"'open", 0, "unclosed quote"},
		{"''", 0, "empty name"},
		{"'a' b", 4, "expected a comma"},
	} {
		_, err := ParseCondition(c.text)
		se, ok := err.(*SyntaxError)
		if !ok || se.Offset != c.offset || !strings.Contains(se.Msg, c.want) {
			t.Errorf("%q: %#v, want %q at %d", c.text, err, c.want, c.offset)
		}
	}
}

// A condition that is accepted is also accepted in its printed form, which means
// the same and overlaps the original.
func FuzzCondition(f *testing.F) {
	for _, s := range []string{"24-27", ">= 1 and <= 3", "CN, 'a,b', otherwise", "-3--1", "≥.5", "\"", "1to2", "\xff", "0-0", "> 1 and", "'", "\" '\"", "A\"'", "\v"} {
		f.Add(s, "0.5")
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		c, err := ParseCondition(text)
		if err != nil {
			if se, ok := err.(*SyntaxError); !ok || se.Offset < 0 || se.Offset > len(text) || se.Error() == "" {
				t.Fatalf("%q: error %#v", text, err)
			}
			return
		}
		again, err := ParseCondition(c.String())
		if err != nil {
			t.Fatalf("%q is written %q, which is refused: %v", text, c, err)
		}
		value = strings.TrimSpace(value)
		if matches(c, value) != matches(again, value) {
			t.Fatalf("%q and %q differ on %q", text, c, value)
		}
		if _, both := c.overlap(again); !both {
			t.Fatalf("%q does not overlap itself", text)
		}
	})
}
