package serve

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strconv"

	"credence/internal/table"
	"credence/mixture"
	"credence/predict"
)

// list appends what one appends for each item, separated by commas.
func (a *answer) list(dst []byte, one func(dst []byte, j int) ([]byte, error)) (_ []byte, err error) {
	for j := range a.items {
		if a.first+j > 0 {
			dst = append(dst, ',')
		}
		if dst, err = one(dst, j); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// records appends one JSON object for each item, separated by commas.
func (a *answer) records(dst []byte) ([]byte, error) {
	if a.names != nil {
		return dst, badRequest("%w: ask for fewer outputs", a.names)
	}
	var cells []predict.Cell
	return a.list(dst, func(dst []byte, j int) ([]byte, error) {
		if a.items[j].Err != nil {
			return appendFailed(dst, &a.items[j]), nil
		}
		cells = a.table.Append(cells[:0], &a.rows[j])
		dst = a.table.AppendJSON(dst, cells)
		if law := a.items[j].Law; a.full && law != nil {
			dst = appendParameters(dst[:len(dst)-1], law)
		}
		return dst, nil
	})
}

// answerList predicts the items of a table and answers with a JSON object: text, which ends within a list, what one
// appends to it for each batch of items, and warnings. The text waits in memory for the last item.
func (s *Server) answerList(w http.ResponseWriter, r *http.Request, m *served, t table.Table, want *wanted, text []byte,
	one func(a *answer, dst []byte) ([]byte, error)) error {
	p, err := s.predict(r.Context(), m, t, want, func(a *answer) (err error) {
		before := len(text)
		if text, err = one(a, text); err != nil {
			return err
		}
		return cmp.Or(want.limits.checkAnswer(int64(len(text))), s.hold(w, textMemory*int64(len(text)-before)))
	})
	if err != nil {
		return err
	}
	return writeText(w, append(appendWarnings(append(text, ']'), p.warnings(true)), "}\n"...))
}

// textMemory is how much memory text takes that grows, compared with its length.
const textMemory = 2

func quote(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}

// appendFailed appends the object of an item without a prediction.
func appendFailed(dst []byte, p *predict.Prediction) []byte {
	dst = append(append(dst, `{"item":`...), quote(p.Item)...)
	dst = append(append(dst, `,"error":`...), quote(p.Err.Error())...)
	return append(dst, '}')
}

// appendParameters appends the parameters of a distribution to an object that is left open.
func appendParameters(dst []byte, law *mixture.Dirichlet) []byte {
	dst = append(dst, `,"weights":[`...)
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
	return append(dst, "]}"...)
}

// appendListed appends number i of a list.
func appendListed(dst []byte, i int, x float64) []byte {
	if i > 0 {
		dst = append(dst, ',')
	}
	return strconv.AppendFloat(dst, x, 'g', -1, 64)
}
