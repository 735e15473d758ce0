package table

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"

	"credence/internal/budget"
	"credence/internal/fault"
)

// xmlScanner goes through the elements of a part of a workbook. Elements are known by their
// names, whatever their prefix. Entities that a document would define are not known to the
// decoder, and a text or tag is bounded in memory.
type xmlScanner struct {
	b     *workbook
	part  string
	d     *xml.Decoder
	token xml.Token
	limit *tokenLimit
}

// tokenLimit bounds what is read between two tokens, which the decoder holds in memory.
type tokenLimit struct {
	r    io.Reader
	b    *workbook
	part string
	n    int64
}

func (l *tokenLimit) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	l.n += int64(n)
	if need := byteCost * l.n; need > l.b.limit {
		return 0, budget.Check(l.b.limit, need, l.b.file, "%s: a text or tag of %d bytes or more", l.part, l.n)
	}
	return n, err
}

// scan calls f with every token of a part.
func (b *workbook) scan(part string, f func(x *xmlScanner) error) error {
	file := b.part(part)
	if file == nil {
		return fault.Malformed(b.file, "the workbook is damaged: it lacks %s", part)
	}
	r, err := file.Open()
	if err != nil {
		return fault.Malformed(b.file, "%s: %v", part, err)
	}
	defer r.Close()
	x := &xmlScanner{b: b, part: part, limit: &tokenLimit{r: fault.Reader(b.ctx, r), b: b, part: part}}
	x.d = xml.NewDecoder(x.limit)
	x.d.CharsetReader = func(name string, r io.Reader) (io.Reader, error) {
		if strings.EqualFold(name, "us-ascii") {
			return r, nil
		}
		return nil, errors.New("the encoding " + name + " is not read")
	}
	depth := 0
	for {
		x.token, err = x.d.RawToken()
		if err == io.EOF && depth > 0 {
			return fault.Malformed(b.file, "%s is cut short", part)
		}
		if err == io.EOF {
			return nil
		}
		if err == nil {
			x.limit.n = 0
			switch x.token.(type) {
			case xml.StartElement:
				depth++
			case xml.EndElement:
				depth--
			}
			err = f(x)
		}
		if err != nil {
			return x.error(err)
		}
	}
}

// error says where something is wrong; errors of our own do already.
func (x *xmlScanner) error(err error) error {
	if e, ok := errors.AsType[*fault.Error](err); ok {
		return e
	}
	if x.b.ctx.Err() != nil {
		return x.b.ctx.Err()
	}
	return fault.Malformed(x.b.file, "%s: %v", x.part, err)
}

// opens and closes report whether the token begins or ends an element of the name.
func (x *xmlScanner) opens(name string) bool {
	e, ok := x.token.(xml.StartElement)
	return ok && e.Name.Local == name
}

func (x *xmlScanner) closes(name string) bool {
	e, ok := x.token.(xml.EndElement)
	return ok && e.Name.Local == name
}

// attr returns an attribute of the element that begins, or "".
func (x *xmlScanner) attr(name string) string {
	e, _ := x.token.(xml.StartElement)
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// chars returns the text of the token, valid until the next.
func (x *xmlScanner) chars() []byte {
	text, _ := x.token.(xml.CharData)
	return text
}

// keep counts memory that is kept.
func (x *xmlScanner) keep(bytes int) error {
	return x.b.meter.Keep(int64(bytes), "what is kept of %s", x.part)
}
