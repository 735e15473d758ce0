package serve

import "encoding/json"

// records appends one JSON object for each item, separated by commas.
func (t *told) records(dst []byte) ([]byte, error) {
	if err := t.maker.CheckNames(); err != nil {
		return dst, badRequest("%w: ask for fewer outputs", err)
	}
	for j := range t.items {
		if j > 0 {
			dst = append(dst, ',')
		}
		dst = t.record(dst, j)
	}
	return dst, nil
}

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
	return t.maker.AppendJSON(dst, t.row(j))
}
