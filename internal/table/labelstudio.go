package table

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"credence/internal/fault"
)

// labelStudio is the flavor of Label Studio's export: tasks, whose data are the item's
// values, with annotations, whose results answer the questions ("from_name") that were
// asked. Predictions are not votes, nor are annotations that were cancelled.
type labelStudio struct {
	file                      string
	cancelled, blank, several tally // annotations, those without an answer, and answers
}

// isLabelStudio reports whether an item is a task.
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

// The columns of tasks and annotators.
const (
	taskColumn      = "id"
	annotatorColumn = "annotator"
)

func (l *labelStudio) rater() string { return annotatorColumn }

// settle makes sure that there is a column for labels.
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

// local returns the path of a file that Label Studio served from a folder.
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
			l.answer(it, &vote, &result.kids[i])
		}
	}
	// What was answered twice is missing.
	if len(vote.labels) == 0 {
		l.blank.n++
		return nil
	}
	it.votes = append(it.votes, vote)
	return nil
}

// answer adds the answer of a result to one question.
func (l *labelStudio) answer(it *jsonItem, vote *jsonVote, v *jsonValue) {
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
	return l.several.note(list, "answer", severalChoices)
}
