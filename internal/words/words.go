// Package words formats counts, shapes and lists for people.
package words

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Thousands formats n with commas between groups of three digits: 2,687.
func Thousands(n int) string { return grouped(strconv.Itoa(n)) }

// Count formats a number of votes or items that need not be whole: 2,687, or
// 3.5 with one decimal.
func Count(x float64) string {
	if x != math.Trunc(x) {
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	return grouped(strconv.FormatFloat(x, 'f', 0, 64))
}

// grouped inserts commas into the digits of a whole number.
func grouped(s string) string {
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Noun returns the form of a noun for n things: vote, votes, classes. The plural takes an s, or es after an s.
func Noun[N int | float64](n N, noun string) string {
	switch {
	case n == 1:
		return noun
	case strings.HasSuffix(noun, "s"):
		return noun + "es"
	}
	return noun + "s"
}

// Plural formats a number of things: 1 vote, 2,687 votes, 3 classes.
func Plural[N int | float64](n N, noun string) string { return Count(float64(n)) + " " + Noun(n, noun) }

// List joins names as in a sentence: "a, b and c". The conjunction is and, or another word.
func List(names []string, and string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " " + and + " " + names[last]
}

// Each returns the text of each element of a list.
func Each[T any](list []T, text func(T) string) []string {
	var texts []string
	for _, x := range list {
		texts = append(texts, text(x))
	}
	return texts
}

// Few lists the first five names and the total, for messages.
func Few(names []string) string {
	if len(names) <= 5 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s, … (%s in all)", strings.Join(names[:5], ", "), Thousands(len(names)))
}

// Shape formats the dimensions of an array: 3×32×32.
func Shape(shape []int) string { return strings.Join(Each(shape, strconv.Itoa), "×") }

// Nearest returns the name with the smallest [Distance], or "" if no name is close: at
// most a third of the letters may differ, so that short words match only few others.
func Nearest(name string, names []string) string {
	if len(name) > 100 {
		return ""
	}
	best, least := "", max(2, len(name)/3)+1
	for _, n := range names {
		if d := Distance(name, n); d < least && 3*d <= max(len(name), len(n)) {
			best, least = n, d
		}
	}
	return best
}

// Distance returns the edit distance of two words: the number of insertions,
// deletions, replacements and swaps of adjacent letters.
func Distance(a, b string) int {
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		row, above, twoAbove := rows[i%3], rows[(i+2)%3], rows[(i+1)%3]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := above[j-1]
			if a[i-1] != b[j-1] {
				cost++
			}
			row[j] = min(cost, row[j-1]+1, above[j]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], twoAbove[j-2]+1)
			}
		}
	}
	return rows[len(a)%3][len(b)]
}
