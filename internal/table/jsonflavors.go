package table

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"credence/internal/fault"
	"credence/internal/words"
)

// plain is the flavor of a plain table: the values of an item are its cells.
type plain struct {
	file string
	key  string // name of the column of item keys
}

func (p *plain) settle(*jsonTable) {}
func (p *plain) rater() string     { return "" }
func (p *plain) notes() []error    { return nil }

func (p *plain) item(key string, _ int, v *jsonValue) (*jsonItem, error) {
	it := &jsonItem{id: key}
	p.addKey(it, key, v)
	for i, name := range v.keys {
		it.flatten(name, &v.kids[i], DataRole)
	}
	return it, nil
}

// addKey adds a field with the key of an item, if it has one, under a name that is not
// used by the first item.
func (p *plain) addKey(it *jsonItem, key string, v *jsonValue) {
	if key == "" {
		return
	}
	for _, name := range []string{"id", "item", "key", "key of the item"} {
		if p.key == "" && !slices.Contains(v.keys, name) {
			p.key = name
		}
	}
	it.fields = append(it.fields, jsonField{name: p.key, role: ItemRole, cell: Cell{Text: key}})
}

// flatten adds a value under a name. Values of an object get names such as "text.user".
func (it *jsonItem) flatten(name string, v *jsonValue, role Role) {
	if v.kind == jsonObject {
		for i, key := range v.keys {
			it.flatten(name+"."+key, &v.kids[i], role)
		}
		return
	}
	f := jsonField{name: name, role: role}
	if v.kind == jsonList && (role == TextRole || NamesIDs(name)) { // the turns of a dialogue; ids
		f.cell = Cell{Text: strings.Join(words.Each(v.kids, func(kid jsonValue) string { return kid.plain() }), "\n")}
	} else {
		f.cell, f.unread = v.cell()
	}
	it.fields = append(it.fields, f)
}

// checkColumns returns an error if the items are columns instead of rows, as pandas writes
// a table by default: the keys of its first item are row numbers.
func checkColumns(v *jsonValue, items *jsonItems) error {
	if items.shape != '{' || len(v.keys) == 0 {
		return nil
	}
	for _, key := range v.keys {
		if key == "" || !digits(key) {
			return nil
		}
	}
	return &fault.Error{File: items.s.file, Line: v.line, Msg: fmt.Sprintf(
		"expected one object per item, found a column %q with the values [%s]: in pandas, use orient=\"records\"", items.key, words.Few(v.keys))}
}

// minimal is the flavor of Label Studio's JSON-MIN export: one record per annotation, with
// the labels between the task's id and the annotator.
type minimal struct {
	plain
	several tally // annotations with several choices for a question
}

// isMinimal reports whether an item is an annotation in JSON-MIN.
func isMinimal(v *jsonValue) bool {
	id, annotator := slices.Index(v.keys, "id"), slices.Index(v.keys, "annotator")
	return v.get("annotation_id") != nil && id >= 0 && annotator > id
}

func (m *minimal) item(key string, _ int, v *jsonValue) (*jsonItem, error) {
	it := &jsonItem{}
	id, annotator := slices.Index(v.keys, "id"), slices.Index(v.keys, "annotator")
	if id < 0 || annotator < id {
		return nil, &fault.Error{File: m.file, Line: v.line, Msg: "expected an annotation like the first item, with an id followed by an annotator"}
	}
	it.id = v.kids[id].plain()
	for i, name := range v.keys {
		kid := &v.kids[i]
		switch {
		case i == id:
			it.flatten(name, kid, ItemRole)
		case i == annotator:
			it.fields = append(it.fields, jsonField{name: name, role: RaterRole, cell: annotatorOf(kid)})
		case i < id:
			it.flatten(name, kid, DataRole)
		case i < annotator:
			label, n := choiceOf(kid)
			if n > 1 {
				m.several.add(1, "of %s on item %s, line %d", name, it.id, v.line)
			}
			it.fields = append(it.fields, jsonField{name: name, role: LabelRole, cell: label})
		default:
			it.flatten(name, kid, NoteRole)
		}
	}
	return it, nil
}

func (m *minimal) notes() []error { return m.several.note(nil, "response", severalChoices) }

// tally counts problems of one kind, and keeps the first as an example.
type tally struct {
	n     int
	first string
}

// add counts n more problems. The format and its arguments describe their position.
func (t *tally) add(n int, format string, args ...any) {
	if t.n == 0 && n > 0 {
		t.first = fmt.Sprintf(format, args...)
	}
	t.n += n
}

// note appends a warning if the count is positive, and resets it. The format takes the count with its
// noun, and the example, which is empty if add was not called.
func (t *tally) note(list []error, noun, format string) []error {
	if t.n > 0 {
		list = append(list, fmt.Errorf(format, words.Plural(t.n, noun), t.first))
	}
	t.n = 0
	return list
}

// severalChoices is the warning about annotations that are not a vote for one class.
const severalChoices = "%s with several choices left out, such as the one %s: a vote is for a single class"

// annotatorOf returns the annotator, given as a number or as an object with an address, name or id.
func annotatorOf(v *jsonValue) Cell {
	if v != nil && v.kind == jsonObject {
		for _, key := range []string{"email", "username", "id"} {
			if kid := v.get(key); kid != nil && kid.plain() != "" {
				return Cell{Text: kid.plain()}
			}
		}
	} else if v != nil {
		if c, _ := v.cell(); c.Kind != VectorCell {
			return c
		}
	}
	return Cell{Kind: MissingCell}
}

// choiceOf returns the choice made for a question and the number of choices. The value is a
// choice, a list of choices, or an object with "choices" or a number under "rating".
// Drawings and free text are not choices.
func choiceOf(v *jsonValue) (Cell, int) {
	none := Cell{Kind: MissingCell}
	switch v.kind {
	case jsonObject:
		if kid := cmp.Or(v.get("choices"), v.get("rating")); kid != nil {
			return choiceOf(kid)
		}
		return none, 0
	case jsonList:
		if len(v.kids) == 1 && v.kids[0].kind != jsonList {
			return choiceOf(&v.kids[0])
		}
		return none, len(v.kids)
	case jsonNull:
		return none, 0
	}
	text := strings.TrimSpace(v.plain())
	if text == "" {
		return none, 0
	}
	return Cell{Text: text}, 1
}

// labelStudio is the flavor of Label Studio's JSON export: a list of tasks. The data of a
// task are the item's values, and each result of an annotation is a response to a question
// ("from_name"). Predictions and cancelled annotations are not votes.
type labelStudio struct {
	file                      string
	cancelled, blank, several tally // annotations, annotations without a choice, and responses
}

// isLabelStudio reports whether an item is a Label Studio task.
func isLabelStudio(v *jsonValue) bool {
	data := v.get("data")
	if data == nil || data.kind != jsonObject {
		return false
	}
	if kid := cmp.Or(v.get("annotations"), v.get("completions")); kid != nil {
		return kid.kind == jsonList
	}
	return !slices.ContainsFunc(v.keys, func(key string) bool {
		return !slices.Contains([]string{"id", "data", "meta", "predictions", "created_at", "updated_at", "project", "inner_id"}, key)
	})
}

// Names of the columns of tasks and annotators.
const (
	taskColumn      = "id"
	annotatorColumn = "annotator"
)

func (l *labelStudio) rater() string { return annotatorColumn }

// settle adds a label column if there is none.
func (l *labelStudio) settle(t *jsonTable) {
	if !slices.Contains(t.roles, LabelRole) {
		t.column(&jsonField{name: "choice", role: LabelRole})
	}
}

func (l *labelStudio) item(key string, n int, v *jsonValue) (*jsonItem, error) {
	it := &jsonItem{id: key}
	if id := v.get("id"); key == "" && id != nil {
		it.id = id.plain()
	}
	if it.id == "" {
		it.id = strconv.Itoa(n)
	}
	it.fields = append(it.fields, jsonField{name: taskColumn, role: ItemRole, cell: Cell{Text: it.id}})
	data := v.get("data")
	if data == nil || data.kind != jsonObject {
		return nil, l.errorf(v, it, "expected an object of values under \"data\"")
	}
	if annotations := cmp.Or(v.get("annotations"), v.get("completions")); annotations != nil {
		if annotations.kind != jsonList && annotations.kind != jsonNull {
			return nil, l.errorf(annotations, it, "expected a list of annotations, found %v", annotations.kind)
		}
		for i := range annotations.kids {
			if err := l.annotation(it, &annotations.kids[i]); err != nil {
				return nil, err
			}
		}
	}
	for i, name := range data.keys {
		if name == taskColumn || name == annotatorColumn {
			name = "data." + name
		}
		it.flatten(name, local(&data.kids[i]), DataRole)
	}
	return it, nil
}

func (l *labelStudio) errorf(v *jsonValue, it *jsonItem, format string, args ...any) error {
	return &fault.Error{File: l.file, Line: v.line, Msg: fmt.Sprintf("task %s: %s", it.id, fmt.Sprintf(format, args...))}
}

// local returns the path of a file that Label Studio serves from a local folder.
func local(v *jsonValue) *jsonValue {
	if v.kind != jsonText {
		return v
	}
	if path, ok := strings.CutPrefix(v.text, "/data/local-files/?d="); ok {
		return &jsonValue{kind: jsonText, text: path, line: v.line}
	}
	return v
}

// annotation adds the vote of an annotation.
func (l *labelStudio) annotation(it *jsonItem, v *jsonValue) error {
	if v.kind != jsonObject {
		return l.errorf(v, it, "expected an annotation with a \"result\", found %v", v.kind)
	}
	if c := v.get("was_cancelled"); c != nil && c.text == "true" {
		l.cancelled.n++
		return nil
	}
	vote := jsonVote{line: v.line, rater: annotatorOf(v.get("completed_by"))}
	if result := v.get("result"); result != nil {
		if result.kind != jsonList && result.kind != jsonNull {
			return l.errorf(result, it, "expected a list under \"result\", found %v", result.kind)
		}
		for i := range result.kids {
			l.response(it, &vote, &result.kids[i])
		}
	}
	// A question with two responses has a missing label.
	if len(vote.labels) == 0 {
		l.blank.n++
		return nil
	}
	it.votes = append(it.votes, vote)
	return nil
}

// response adds the label that a result gives for one question.
func (l *labelStudio) response(it *jsonItem, vote *jsonVote, v *jsonValue) {
	value, from := v.get("value"), v.get("from_name")
	if value == nil || value.kind != jsonObject || value.get("choices") == nil && value.get("rating") == nil {
		return
	}
	name := "choice"
	if from != nil && from.plain() != "" {
		name = from.plain()
	}
	if name == taskColumn || name == annotatorColumn {
		name += " (question)"
	}
	label, n := choiceOf(value)
	at := slices.IndexFunc(vote.labels, func(f jsonField) bool { return f.name == name })
	if at >= 0 {
		n, label = n+1, Cell{Kind: MissingCell}
	}
	if n > 1 {
		l.several.add(1, "to %s on task %s, line %d", name, it.id, v.line)
	}
	if n == 0 {
		return
	}
	if at >= 0 {
		vote.labels[at].cell = label
		return
	}
	vote.labels = append(vote.labels, jsonField{name: name, role: LabelRole, cell: label})
}

func (l *labelStudio) notes() []error {
	list := l.cancelled.note(nil, "cancelled annotation", "%s left out%s")
	list = l.blank.note(list, "annotation", "%s without a choice left out%s")
	return l.several.note(list, "response", severalChoices)
}
