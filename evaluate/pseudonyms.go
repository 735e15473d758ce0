package evaluate

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"credence/internal/words"
)

// Pseudonyms returns a name for each name, such as R-7KQ2M: a function of the name and the seed
// alone (HMAC-SHA-256), so that it is the same in every report with that seed, whoever else
// is in it, but for the rare case that two names share one, which then both have more letters.
// Equal names have equal pseudonyms. Whoever knows the seed and suspects a name can check it, so
// a seed that protects names is not told to those whom they are kept from.
func Pseudonyms(names []string, seed uint64) []string {
	key := binary.LittleEndian.AppendUint64([]byte("credence pseudonym "), seed)
	codes := map[string]string{}
	for _, name := range names {
		if codes[name] == "" {
			h := hmac.New(sha256.New, key)
			h.Write([]byte(name))
			codes[name] = base32.StdEncoding.EncodeToString(h.Sum(nil))
		}
	}
	sorted := slices.Sorted(maps.Values(codes))
	letters := make(map[string]int, len(sorted)) // that tell a code from its neighbors
	for i, code := range sorted {
		n := 5
		for _, k := range []int{i - 1, i + 1} {
			if k >= 0 && k < len(sorted) {
				for n < len(code) && strings.HasPrefix(sorted[k], code[:n]) {
					n++
				}
			}
		}
		letters[code] = n
	}
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = "R-" + codes[name][:letters[codes[name]]]
	}
	return list
}

// UsePseudonyms replaces the names of raters; see [Pseudonyms].
func (r *RaterReport) UsePseudonyms(seed uint64) {
	names := words.Each(r.Raters, func(x RaterEstimate) string { return x.Name })
	code := map[string]string{}
	for i, name := range Pseudonyms(names, seed) {
		code[r.Raters[i].Name], r.Raters[i].Name = name, name
	}
	for i := range r.Raters {
		r.Raters[i].Like = code[r.Raters[i].Like]
	}
	r.Pseudonymous = true
}
