package table

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"credence/internal/fault"
	"credence/internal/words"
)

// lewidi is the flavor of the data sets of "Learning with Disagreements": items by id, each
// with the labels of its annotators as "annotations": "0,1,1" and "annotators":
// "Ann1,Ann2,Ann3", as lists, or as an object of labels by annotator. Summaries of the
// labels and information about annotators have the role NoteRole.
//
// In some data sets annotations are on a scale, and soft_label refers to classes made by
// cutting the scale. The class of each label is then inferred from the items.
type lewidi struct {
	plain
	values      map[string]string // value of each column that may be constant
	varied      map[string]bool   // columns that are not
	examples    map[string]softExample
	softClasses map[string]bool   // classes of soft labels
	class       map[string]string // by label, if soft labels have other classes

	miscounted tally  // items with another number of annotations than stated
	several    tally  // annotations with several labels
	mapped     string // warning about the mapping of labels to classes
}

// softExample is the soft label of items with the same annotations.
type softExample struct {
	labels []string
	shares map[string]float64
}

// maxExamples limits the number of examples, which are kept in memory.
const maxExamples = 10_000

// isLeWiDi reports whether an item has annotations together with the fields that belong to
// them, or only the latter, as in test sets.
func isLeWiDi(v *jsonValue, keyed bool) bool {
	beside := v.get("annotators") != nil || v.get("soft_label") != nil || v.get("number of annotations") != nil
	if a := v.get("annotations"); a != nil {
		return beside && !(a.kind == jsonList && len(a.kids) > 0 && a.kids[0].kind == jsonObject)
	}
	return keyed && beside && v.get("text") != nil
}

const (
	lewidiRater = "annotators"
	lewidiLabel = "annotations"
)

func (l *lewidi) rater() string { return lewidiRater }

func (l *lewidi) item(key string, n int, v *jsonValue) (*jsonItem, error) {
	it := &jsonItem{id: key}
	ids := []string{"id", "item_id", "item"}
	own := slices.IndexFunc(ids, func(name string) bool { return v.get(name) != nil })
	switch {
	case key != "":
		l.addKey(it, key, v)
	case own >= 0:
		it.id = v.get(ids[own]).plain()
		it.fields = append(it.fields, jsonField{name: ids[own], role: ItemRole, cell: Cell{Text: it.id}})
	default:
		it.id = strconv.Itoa(n)
		l.addKey(it, it.id, v)
	}
	for i, name := range v.keys {
		kid := &v.kids[i]
		switch Plain(name) {
		case lewidiLabel, lewidiRater:
		case "softlabel", "hardlabel", "numberofannotations", "numberofannotators", "annotationtask", "split":
			it.flatten(name, kid, NoteRole)
		case "lang":
			it.flatten(name, kid, DataRole)
			l.compareValue(name, kid)
		case "otherinfo":
		case "text":
			it.flatten(name, conversation(kid), TextRole)
		default:
			if key != "" || own < 0 || name != it.fields[0].name {
				it.flatten(name, kid, DataRole)
			}
		}
	}
	if err := l.votes(it, v); err != nil {
		return nil, err
	}
	l.info(it, v)
	return it, nil
}

// conversation decodes a text that contains an object of turns in JSON; other values are returned unchanged.
func conversation(v *jsonValue) *jsonValue {
	if v.kind != jsonText || !isJSON([]byte(v.text)) {
		return v
	}
	turns, err := parseJSON(v.text)
	if err != nil || turns.kind != jsonObject || len(turns.keys) == 0 {
		return v
	}
	return &turns
}

// compareValue records whether a value differs between items.
func (l *lewidi) compareValue(name string, v *jsonValue) {
	text := v.plain()
	if first, ok := l.values[name]; !ok {
		l.values[name] = text
	} else if first != text {
		l.varied[name] = true
	}
}

// texts returns the texts in a list, in a comma-separated text, or in an object, in which case
// it also returns the keys. Entries with several choices are empty and counted in several.
func (v *jsonValue) texts() (texts, keys []string, several int) {
	switch {
	case v == nil || v.kind == jsonNull:
		return nil, nil, 0
	case v.kind == jsonList || v.kind == jsonObject:
		for i := range v.kids {
			c, n := choiceOf(&v.kids[i])
			text := c.String()
			if n > 1 || strings.Contains(text, ",") {
				text = ""
				several++
			}
			texts = append(texts, text)
		}
		return texts, v.keys, several
	case strings.TrimSpace(v.plain()) == "":
		return nil, nil, 0
	}
	texts = strings.Split(v.plain(), ",")
	for i := range texts {
		texts[i] = strings.TrimSpace(texts[i])
	}
	return texts, nil, 0
}

// votes adds the votes on an item.
func (l *lewidi) votes(it *jsonItem, v *jsonValue) error {
	given := v.get(lewidiLabel)
	labels, raters, several := given.texts()
	if raters == nil {
		raters, _, _ = v.get(lewidiRater).texts()
	}
	if len(labels) == 0 {
		return nil
	}
	l.several.add(several, "on item %s, line %d", it.id, given.line)
	if len(raters) != len(labels) && len(raters) > 0 {
		return &fault.Error{File: l.file, Line: given.line, Msg: fmt.Sprintf("item %q: expected one annotator per annotation, found %s and %s", it.id,
			words.Plural(len(labels), "annotation"), words.Plural(len(raters), "annotator"))}
	}
	for i, label := range labels {
		vote := jsonVote{line: given.line, rater: Cell{Kind: MissingCell}}
		if len(raters) > 0 {
			vote.rater = Cell{Text: raters[i]}
		}
		if class, ok := l.class[label]; ok {
			label = class
		}
		vote.labels = []jsonField{{name: lewidiLabel, role: LabelRole, cell: Cell{Text: label}}}
		it.votes = append(it.votes, vote)
	}
	if stated := v.get("number of annotations"); stated != nil && stated.plain() != "" && stated.plain() != strconv.Itoa(len(labels)) {
		l.miscounted.add(1, "item %s states %s and has %d", it.id, stated.plain(), len(labels))
	}
	l.learn(labels, v.get("soft_label"))
	return nil
}

// info adds the contents of other_info: annotations for other questions are labels that may
// be selected, and single values belong to the item. Everything else concerns annotators.
func (l *lewidi) info(it *jsonItem, v *jsonValue) {
	info := v.get("other_info")
	if info == nil || info.kind != jsonObject {
		return
	}
	for i, name := range info.keys {
		kid := &info.kids[i]
		about := strings.Contains(strings.ToLower(name), "annotat")
		switch {
		case about && kid.kind == jsonObject:
			for k, question := range kid.keys {
				l.other(it, question, &kid.kids[k])
			}
		case about, kid.kind == jsonObject, kid.kind == jsonList && !NamesIDs(name):
		case len(it.votes) > 1 && kid.kind == jsonText && strings.Count(kid.text, ",") == len(it.votes)-1:
			// one value per annotator
		default:
			name = "other_info." + name
			it.flatten(name, kid, DataRole)
			l.compareValue(name, kid)
		}
	}
}

// other adds the labels of another question to the votes.
func (l *lewidi) other(it *jsonItem, question string, v *jsonValue) {
	labels, raters, _ := v.texts()
	if len(labels) != len(it.votes) {
		return
	}
	for i, name := range raters { // in an object by rater; other objects describe a rater
		if name != it.votes[i].rater.Text {
			return
		}
	}
	for i, label := range labels {
		it.votes[i].labels = append(it.votes[i].labels, jsonField{name: question, role: OtherRole, cell: Cell{Text: label}})
	}
}

// learn records the soft label of an item.
func (l *lewidi) learn(labels []string, soft *jsonValue) {
	if soft == nil || soft.kind != jsonObject || l.class != nil || len(l.examples) >= maxExamples {
		return
	}
	e := softExample{labels: slices.Sorted(slices.Values(labels)), shares: map[string]float64{}}
	for i, class := range soft.keys {
		c, _ := soft.kids[i].cell()
		x, ok := c.Number(false)
		if !ok {
			return // from a test set whose labels are kept secret
		}
		e.shares[class] = x
		l.softClasses[class] = true
	}
	l.examples[strings.Join(e.labels, ",")] = e
}

// settle gives constant columns the role NoteRole, and infers the classes of labels.
func (l *lewidi) settle(t *jsonTable) {
	for name := range l.values {
		if !l.varied[name] {
			t.roles[t.at[name]] = NoteRole
		}
	}
	if _, ok := t.at[lewidiLabel]; !ok { // there are no votes
		t.column(&jsonField{name: lewidiLabel, role: LabelRole})
	}
	l.class = l.classes()
}

// classes returns the class of each label if soft labels have other classes than the
// annotations: the scale is cut in two such that the shares agree. The map is empty if
// labels are classes, and if no cut or more than one agrees.
func (l *lewidi) classes() map[string]string {
	seen := map[string]float64{}
	for _, e := range l.examples {
		for _, label := range e.labels {
			x, err := strconv.ParseFloat(label, 64)
			if err != nil {
				return map[string]string{}
			}
			seen[label] = x
		}
	}
	identity := map[string]string{}
	for label := range seen {
		identity[label] = label
	}
	two := slices.Sorted(maps.Keys(l.softClasses))
	if len(two) != 2 || l.fits(identity) {
		return map[string]string{}
	}
	scale := slices.SortedFunc(maps.Keys(seen), func(a, b string) int {
		return int(math.Copysign(1, seen[a]-seen[b]))
	})
	var found []map[string]string
	for cut := range len(scale) { // the number of labels in the first class
		for first := range two {
			class := map[string]string{}
			for i, label := range scale {
				class[label] = two[first]
				if i >= cut {
					class[label] = two[1-first]
				}
			}
			if l.fits(class) {
				found = append(found, class)
			}
		}
	}
	if len(found) != 1 {
		return map[string]string{}
	}
	var of [2][]string
	for _, label := range scale {
		k := slices.Index(two, found[0][label])
		of[k] = append(of[k], label)
	}
	l.mapped = fmt.Sprintf("soft_label has the classes %s and %s: annotations of %s count as %s, and those of %s as %s",
		two[0], two[1], words.Few(of[0]), two[0], words.Few(of[1]), two[1])
	return found[0]
}

// fits reports whether all soft labels agree with the annotations, up to rounding.
func (l *lewidi) fits(class map[string]string) bool {
	for _, e := range l.examples {
		shares := map[string]float64{}
		for _, label := range e.labels {
			shares[class[label]] += 1 / float64(len(e.labels))
		}
		for c, x := range e.shares {
			if math.Abs(shares[c]-x) > 0.011 {
				return false
			}
			delete(shares, c)
		}
		if len(shares) > 0 {
			return false
		}
	}
	return true
}

func (l *lewidi) notes() []error {
	var list []error
	if l.mapped != "" {
		list = append(list, fmt.Errorf("%s", l.mapped))
	}
	list = l.miscounted.note(list, "item", "%s with a wrong stated number of annotations: %s")
	return l.several.note(list, "response", severalChoices)
}
