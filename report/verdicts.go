package report

import (
	"html"
	"regexp"
)

// Verdict answers a question about a model, as a page tells it in short.
type Verdict struct {
	Mark     string `json:"mark" enum:"good,careful,bad,unknown"`
	Question string `json:"question"`
	Answer   string `json:"answer"`
}

var verdictLine = regexp.MustCompile(`(?m)^<li><span class="mark (\w+)">[^<]*</span><span><b>([^<]*)</b> ([^<]*)</span></li>$`)

// Verdicts returns the verdicts of a page that [Write] wrote: what is known of a model for good is in
// its page, and others can tell it without the data. There are none if the page is not one of ours.
func Verdicts(page []byte) []Verdict {
	var list []Verdict
	for _, m := range verdictLine.FindAllSubmatch(page, -1) {
		list = append(list, Verdict{string(m[1]), html.UnescapeString(string(m[2])), html.UnescapeString(string(m[3]))})
	}
	return list
}
