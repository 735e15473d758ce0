package words

// Nearest returns the name that takes the fewest changes, if these are few for the
// length of both, or "": of two or three letters, too much is changed by two.
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

// Distance is how many letters have to be put in, taken out or replaced, or
// swapped with the next.
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
