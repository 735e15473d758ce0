package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"unicode/utf16"

	"credence/internal/words"
)

// Warnings are about the items of a request: levels that training did not have, values far outside its range, votes on
// other items. Answers that are JSON objects hold them in their body. Tables have no place for them: the header has those
// that are known when the answer begins, and the trailer of the same name, after the last row, those of all items.

// warningsHeader is a JSON array of texts, in ASCII.
const warningsHeader = "Credence-Warnings"

// warningsAbout describes the header.
const warningsAbout = "of JSON lines, CSV and Parquet: a JSON array of warnings about the items predicted before the answer begins, " +
	"1,024 or as many as batch says; the trailer of the same name has the warnings about all items"

// mostHeader is how many bytes of warnings the header has: proxies refuse answers with more than some kilobytes of headers.
const mostHeader = 3 << 10

// appendWarnings appends the member "warnings" to a JSON object, if there are any.
func appendWarnings(dst []byte, warnings []string) []byte {
	if len(warnings) == 0 {
		return dst
	}
	list, _ := json.Marshal(warnings)
	return append(append(dst, `,"warnings":`...), list...)
}

// setWarnings sets the header or, once the answer has begun, the trailer.
func setWarnings(w http.ResponseWriter, list []string) {
	if len(list) == 0 {
		w.Header().Del(warningsHeader)
		return
	}
	w.Header().Set(warningsHeader, headerText(list))
}

// headerText writes texts as a JSON array in ASCII; those that do not fit are counted.
func headerText(list []string) string {
	text := []byte{'['}
	for i, s := range list {
		one := asciiJSON(s)
		full := len(text)+len(one) > mostHeader
		if full {
			one = asciiJSON(words.Plural(len(list)-i, "further warning") + " too long for a header: a JSON answer has them")
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, one...)
		if full {
			break
		}
	}
	return string(append(text, ']'))
}

// asciiJSON writes a JSON string without any character that a header cannot hold.
func asciiJSON(s string) []byte {
	quoted, _ := json.Marshal(s)
	var text []byte
	for _, r := range string(quoted) {
		if r < 0x7f {
			text = append(text, byte(r))
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			text = fmt.Appendf(text, `\u%04x`, unit)
		}
	}
	return text
}
