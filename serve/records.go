package serve

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strconv"

	"credence/internal/table"
)

// records appends one JSON object for each item, separated by commas.
func (t *told) records(dst []byte) ([]byte, error) {
	if t.names != nil {
		return dst, badRequest("%w: ask for fewer outputs", t.names)
	}
	for j := range t.items {
		if t.first+j > 0 {
			dst = append(dst, ',')
		}
		dst = t.record(dst, j)
	}
	return dst, nil
}

// recordText predicts the items of a table and appends their objects to text, which waits in memory for the last of them.
func (s *Server) recordText(w http.ResponseWriter, r *http.Request, m *served, t table.Table, want *wanted, text []byte) ([]byte, *predicting, error) {
	p, err := s.predict(r.Context(), m, t, want, func(t *told) (err error) {
		before := len(text)
		if text, err = t.records(text); err != nil {
			return err
		}
		return cmp.Or(want.limits.checkAnswer(int64(len(text))), s.hold(w, textMemory*int64(len(text)-before)))
	})
	return text, p, err
}

// textMemory is how much memory text takes that grows, compared with its length.
const textMemory = 2

func quote(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}

// record appends the object of item j: that of credence predict --wide --format jsonl.
func (t *told) record(dst []byte, j int) []byte {
	if t.bad[j] != nil {
		dst = append(append(dst, `{"item":`...), quote(t.items[j])...)
		dst = append(append(dst, `,"error":`...), quote(t.bad[j].Error())...)
		return append(dst, '}')
	}
	dst = t.maker.AppendJSON(dst, t.row(j))
	if law := t.answers[j].Law; t.full && law != nil {
		dst = append(dst[:len(dst)-1], `,"weights":[`...)
		for c := range law.K() {
			weight, _ := law.Component(c)
			dst = appendListed(dst, c, weight)
		}
		dst = append(dst, `],"alpha":[`...)
		for c := range law.K() {
			_, alpha := law.Component(c)
			if c > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, '[')
			for i, a := range alpha {
				dst = appendListed(dst, i, a)
			}
			dst = append(dst, ']')
		}
		dst = append(dst, "]}"...)
	}
	return dst
}

// appendListed appends number i of a list.
func appendListed(dst []byte, i int, x float64) []byte {
	if i > 0 {
		dst = append(dst, ',')
	}
	return strconv.AppendFloat(dst, x, 'g', -1, 64)
}
