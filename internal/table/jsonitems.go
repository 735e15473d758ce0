package table

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"

	"credence/internal/fault"
	"credence/internal/words"
)

// isJSON reports whether a text begins like JSON and unlike any text table.
func isJSON(head []byte) bool {
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\ufeff")), " \t\r\n")
	if len(head) == 0 {
		return false
	}
	rest := bytes.TrimLeft(head[1:], " \t\r\n")
	switch {
	case head[0] == '{':
		return len(rest) > 0 && (rest[0] == '"' || rest[0] == '}')
	case head[0] == '[':
		return len(rest) > 0 && bytes.IndexByte([]byte("{[]"), rest[0]) >= 0
	}
	return false
}

// peekJSON reports whether the unread text begins like JSON. It peeks no further than
// necessary, since more input may arrive late.
func peekJSON(buf *bufio.Reader) bool {
	for n := 1; n <= buf.Size(); n++ {
		head, err := buf.Peek(n)
		if isJSON(head) {
			return true
		}
		text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\ufeff")), " \t\r\n")
		mark := len(text) < 3 && bytes.HasPrefix([]byte("\ufeff"), text) // or the beginning of one
		if err != nil || !mark && text[0] != '{' && text[0] != '[' {
			return false
		}
	}
	return false
}

// jsonItems iterates over the items of a JSON text. Items are objects: the elements of a
// list, the values of an object whose keys are ids, or a sequence of objects, as in JSON
// Lines.
type jsonItems struct {
	s     *jsonScanner
	lines bool   // according to the file name there is one object per line
	shape byte   // [ for a list, { for objects by id, \n for a sequence; 0 before the first item
	key   string // key of the first item by id, which has been read already
	n     int    // number of items so far
	ended bool
}

// next returns the next item and its key, if items have one, and io.EOF after the last.
func (it *jsonItems) next() (key string, v jsonValue, err error) {
	if it.shape == 0 {
		if v, err = it.start(); err != nil {
			return "", v, err
		}
		if it.shape == '\n' {
			it.n++
			return "", v, nil
		}
	}
	if it.ended {
		return "", v, io.EOF
	}
	more := true
	switch it.shape {
	case '[':
		more, err = it.s.Next(it.n == 0, ']')
	case '{':
		if key = it.key; it.n > 0 {
			key, more, err = it.s.member(false)
		}
	default:
		err = it.s.end()
	}
	if err != nil {
		return "", v, err
	}
	if !more {
		it.ended = true
		return "", v, it.end()
	}
	it.n++
	if c, err := it.s.must(); err != nil {
		return "", v, err
	} else if c != '{' {
		return "", v, it.s.errorf("item %s: expected an object, found %s", it.name(key), it.s.found())
	}
	v, err = it.s.value()
	return key, v, err
}

// name returns the name of an item in messages.
func (it *jsonItems) name(key string) string {
	if it.shape == '{' {
		return strconv.Quote(key)
	}
	return strconv.Itoa(it.n)
}

// start detects the shape of the text. It returns the first item if it had to be read.
func (it *jsonItems) start() (v jsonValue, err error) {
	c, err := it.s.must()
	switch {
	case err != nil:
		return v, err
	case c == '[':
		it.shape = '['
		return v, nil
	case c != '{':
		return v, it.s.errorf("expected a list of records or an object of items by id, found %s", it.s.found())
	case it.lines:
		it.shape = '\n'
		return it.s.value()
	}
	v.kind = jsonObject
	v.line, _ = it.s.Place()
	key, more, err := it.s.member(true)
	if err != nil {
		return v, err
	}
	if !more {
		return v, &fault.Error{File: it.s.file, Msg: "no items"}
	}
	if c, err = it.s.must(); err != nil {
		return v, err
	}
	if c == '{' {
		it.shape, it.key = '{', key
		return v, nil
	}
	it.shape = '\n'
	kid, err := it.s.read(1)
	if err != nil {
		return v, err
	}
	v.keys, v.kids = []string{key}, []jsonValue{kid}
	if err := it.s.object(&v, 0); err != nil {
		return v, err
	}
	return v, it.checkWrapped(&v)
}

// checkWrapped returns an error if the text is an object with the records in one of its members.
func (it *jsonItems) checkWrapped(v *jsonValue) error {
	for i, kid := range v.kids {
		if kid.kind == jsonList && len(kid.kids) > 0 && kid.kids[0].kind == jsonObject && it.s.end() == io.EOF {
			return &fault.Error{File: it.s.file, Line: v.line, Msg: fmt.Sprintf("expected a list of records, found an object with the keys [%s]: write only the list under %q",
				words.Few(v.keys), v.keys[i])}
		}
	}
	return nil
}

// end checks that nothing follows the last item, and returns io.EOF.
func (it *jsonItems) end() error {
	err := it.s.end()
	if err == nil {
		err = it.s.errorf("expected the end of the file, found %s: if every line is a record, name the file .jsonl", it.s.found())
	}
	return err
}

// cell returns a value as a cell of a table, and the reason if it cannot be one.
func (v *jsonValue) cell() (c Cell, unread string) {
	switch v.kind {
	case jsonText, jsonBool:
		return Cell{Text: v.text}, ""
	case jsonNumber:
		return numberCell(v.text), ""
	case jsonList:
		if len(v.kids) == 0 {
			return Cell{Kind: MissingCell}, ""
		}
		c = Cell{Kind: VectorCell, Vec: make([]float32, len(v.kids))}
		for i := range v.kids {
			kid := &v.kids[i]
			if kid.kind != jsonNumber && kid.kind != jsonNull {
				return Cell{Kind: MissingCell}, fmt.Sprintf("lists of %s are not supported", map[jsonKind]string{
					jsonText: "texts", jsonBool: "booleans", jsonList: "lists", jsonObject: "objects"}[kid.kind])
			}
			one, _ := kid.cell()
			c.Vec[i] = listNumber(&one)
		}
		return c, ""
	}
	return Cell{Kind: MissingCell}, ""
}

// numberCell returns a number of a JSON text as a cell. Whole numbers keep all digits.
func numberCell(text string) Cell {
	if x, err := strconv.ParseInt(text, 10, 64); err == nil {
		return Cell{Kind: WholeCell, Whole: x}
	}
	if text == "NaN" {
		return Cell{Kind: MissingCell}
	}
	if digits(text) { // an id with more digits than an int64
		return Cell{Text: text}
	}
	x, _ := strconv.ParseFloat(text, 64) // infinite if it is too large
	return Cell{Kind: NumberCell, Num: x}
}

// plain returns a value as text, "" for lists and objects.
func (v *jsonValue) plain() string {
	c, _ := v.cell()
	if v.kind == jsonList || v.kind == jsonObject {
		return ""
	}
	return c.String()
}
