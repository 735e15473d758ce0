package table

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"credence/internal/budget"
	"credence/internal/fault"
)

// xmlScanner iterates over the tags and texts of a part of a workbook. It supports the subset of XML that workbooks
// use: elements by local name, attributes, character references and CDATA. Comments, declarations and document types
// are skipped. Entities defined by a document are an error. It only holds the present tag or text in memory, whose size
// is limited: a sheet of a few hundred kilobytes may unpack to as many megabytes.
type xmlScanner struct {
	b    *workbook
	part string
	r    *bufio.Reader
	at   int64 // bytes read

	kind  xmlKind
	name  []byte // of the element, without a prefix
	attrs []xmlAttr
	text  []byte // of a text, valid until the next token
	tag   bool   // the next byte is the first of a tag
	ends  bool   // the element is empty: <v/>
	buf   []byte // the present tag or text, with the byte that ends it
	plain []byte // holds text with references replaced
}

// xmlKind is the kind of the present token.
type xmlKind uint8

const (
	xmlText xmlKind = iota
	xmlStart
	xmlEnd
	xmlOther // a token to be skipped
)

// xmlAttr is an attribute. Its value is not decoded.
type xmlAttr struct{ name, value []byte }

// scan calls f for every tag and text of a part. A missing part has none.
func (b *workbook) scan(part string, f func(x *xmlScanner) error) error {
	file := b.part(part)
	if file == nil {
		return nil
	}
	r, err := file.Open()
	if err != nil {
		return fault.Malformed(b.file, "%s: %v", part, err)
	}
	defer r.Close()
	x := &xmlScanner{b: b, part: part, r: bufio.NewReaderSize(fault.Reader(b.ctx, r), 1<<16)}
	depth := 0
	for {
		err := x.next()
		if err == io.EOF && depth > 0 {
			return fault.Malformed(b.file, "%s is truncated", part)
		}
		if err == io.EOF {
			return nil
		}
		if err == nil {
			switch x.kind {
			case xmlStart:
				depth++
			case xmlEnd:
				depth--
			}
			err = f(x)
		}
		if err != nil {
			return x.error(err)
		}
	}
}

// error adds the file and part to an error, unless it is a fault.Error already.
func (x *xmlScanner) error(err error) error {
	if e, ok := errors.AsType[*fault.Error](err); ok {
		return e
	}
	if x.b.ctx.Err() != nil {
		return x.b.ctx.Err()
	}
	return fault.Malformed(x.b.file, "%s: %v", x.part, err)
}

// syntax returns an error about malformed XML.
func (x *xmlScanner) syntax(format string, args ...any) error {
	return fmt.Errorf("XML syntax error before byte %d: %s", x.at, fmt.Sprintf(format, args...))
}

// next advances to the next tag or text. It returns io.EOF after the last.
func (x *xmlScanner) next() error {
	if x.ends {
		x.ends, x.kind = false, xmlEnd
		return nil
	}
	if !x.tag {
		x.buf = x.buf[:0]
		err := x.until('<')
		if err != nil && err != io.EOF || err == io.EOF && len(x.buf) == 0 {
			return err
		}
		x.tag = err == nil
		if text := bytes.TrimSuffix(x.buf, []byte("<")); len(text) > 0 {
			x.kind = xmlText
			x.text, err = x.decoded(text)
			return err
		}
	}
	x.tag = false
	x.buf = x.buf[:0]
	err := x.tagEnd("")
	if err == nil && (x.buf[0] == '!' || x.buf[0] == '?') {
		return x.special()
	}
	for quote, seen := byte(0), 0; err == nil; { // the value of an attribute may hold ">"
		if quote = quoted(quote, x.buf[seen:]); quote == 0 {
			return x.element(x.buf[:len(x.buf)-1])
		}
		seen = len(x.buf)
		err = x.tagEnd("")
	}
	return err
}

// tagEnd is until for ">", where the end of the part, within an element or as given, is a syntax error.
func (x *xmlScanner) tagEnd(within string) error {
	err := x.until('>')
	if err == io.EOF {
		err = x.syntax("unexpected end%s", within)
	}
	return err
}

// until appends the input up to and including the byte end to x.buf.
func (x *xmlScanner) until(end byte) error {
	for {
		part, err := x.r.ReadSlice(end)
		x.at += int64(len(part))
		x.buf = append(x.buf, part...)
		if err == nil && len(x.buf) == len(part) { // no longer than the buffer of r
			return nil
		}
		if over := x.bound(len(x.buf)); over != nil || err != bufio.ErrBufferFull {
			return cmp.Or(over, err)
		}
	}
}

// bound returns an error if a tag or text of n bytes takes too much memory.
func (x *xmlScanner) bound(n int) error {
	if byteCost*int64(n) <= x.b.limit {
		return nil
	}
	return budget.Check(x.b.limit, byteCost*int64(n), x.b.file, "%s: a text or tag of %d bytes or more", x.part, n)
}

// quoted returns the quotation mark that is open after a piece of a tag, or 0, given the one open before it.
func quoted(quote byte, tag []byte) byte {
	for _, c := range tag {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		}
	}
	return quote
}

// element parses a tag.
func (x *xmlScanner) element(tag []byte) error {
	x.attrs = x.attrs[:0]
	if closing, ok := bytes.CutPrefix(tag, []byte("/")); ok {
		x.kind = xmlEnd
		tag = closing
	} else {
		x.kind = xmlStart
		tag, x.ends = bytes.CutSuffix(tag, []byte("/"))
	}
	n := 0
	for n < len(tag) && tag[n] > ' ' {
		n++
	}
	if x.name = localName(tag[:n]); len(x.name) == 0 || bytes.IndexByte(x.name, '=') >= 0 {
		return x.syntax("expected the name of an element, found <%.20s", tag)
	}
	if x.kind == xmlEnd || n == len(tag) {
		return nil
	}
	for rest := bytes.TrimSpace(tag[n:]); len(rest) > 0; rest = bytes.TrimSpace(rest) {
		name, value, ok := bytes.Cut(rest, []byte("="))
		value = bytes.TrimLeft(value, " \t\r\n")
		end := 0
		if ok && len(value) > 1 && (value[0] == '"' || value[0] == '\'') {
			end = bytes.IndexByte(value[1:], value[0]) + 1
		}
		if end == 0 {
			return x.syntax("expected an attribute with a quoted value, found %.20s", rest)
		}
		if _, err := x.decoded(value[1:end]); err != nil {
			return err
		}
		x.attrs = append(x.attrs, xmlAttr{localName(bytes.TrimSpace(name)), value[1:end]})
		rest = value[end+1:]
	}
	return nil
}

// localName returns a name without its prefix.
func localName(name []byte) []byte { return name[bytes.LastIndexByte(name, ':')+1:] }

// specials are the tags other than elements. Each may contain ">".
var specials = []struct{ begin, end, within string }{
	{"!--", "-->", ""}, {"![CDATA[", "]]>", " of CDATA"}, {"?", "?>", ""}}

// special skips a declaration, comment or document type whose first part is in x.buf. CDATA is text.
func (x *xmlScanner) special() error {
	x.kind = xmlOther
	if _, after, ok := bytes.Cut(x.buf, []byte("encoding=")); ok && bytes.HasPrefix(x.buf, []byte("?xml ")) {
		name, _, _ := strings.Cut(strings.Trim(string(after), `"'?> `), " ")
		name = strings.Trim(name, `"'`)
		if !strings.EqualFold(name, "utf-8") && !strings.EqualFold(name, "us-ascii") {
			return errors.New("the encoding " + name + " is not supported")
		}
	}
	for _, s := range specials {
		if !bytes.HasPrefix(x.buf, []byte(s.begin)) {
			continue
		}
		for len(x.buf) < len(s.begin+s.end) || !bytes.HasSuffix(x.buf, []byte(s.end)) {
			if err := x.tagEnd(s.within); err != nil {
				return err
			}
		}
		if s.within == "" {
			return nil
		}
		x.kind, x.text = xmlText, x.buf[len(s.begin):len(x.buf)-len(s.end)]
		return x.valid(x.text)
	}
	// A document type may contain declarations, which are nested tags.
	for depth := bytes.Count(x.buf, []byte("<")); depth > 0; depth += bytes.Count(x.buf, []byte("<")) - 1 {
		x.buf = x.buf[:0]
		if err := x.tagEnd(""); err != nil {
			return err
		}
	}
	return nil
}

// valid returns an error if a text has characters that XML does not allow.
func (x *xmlScanner) valid(text []byte) error {
	for _, c := range text {
		switch {
		case c >= utf8.RuneSelf:
			if !utf8.Valid(text) {
				return x.syntax("invalid UTF-8")
			}
			return nil
		case c < ' ' && c != '\t' && c != '\n' && c != '\r':
			return x.syntax("illegal character code %U", rune(c))
		}
	}
	return nil
}

// decoded returns a text with character references replaced and line ends normalized.
func (x *xmlScanner) decoded(text []byte) ([]byte, error) {
	if err := x.valid(text); err != nil {
		return nil, err
	}
	if bytes.IndexByte(text, '&') < 0 && bytes.IndexByte(text, '\r') < 0 {
		return text, nil
	}
	out := x.plain[:0]
	for len(text) > 0 {
		at := bytes.IndexAny(text, "&\r")
		if at < 0 {
			at = len(text)
		}
		out = append(out, text[:at]...)
		if text = text[at:]; len(text) == 0 {
			break
		}
		if text[0] == '\r' {
			out = append(out, '\n')
			text = bytes.TrimPrefix(text[1:], []byte("\n"))
			continue
		}
		name, rest, ok := bytes.Cut(text[1:], []byte(";"))
		c, known := reference(string(name[:min(len(name), 12)]))
		if !ok || !known {
			return nil, x.syntax("invalid character entity &%.12s;", name)
		}
		out, text = utf8.AppendRune(out, c), rest
	}
	x.plain = out
	return out, nil
}

var references = map[string]rune{"amp": '&', "lt": '<', "gt": '>', "quot": '"', "apos": '\''}

// reference returns the character for a reference such as "amp" or "#x2F", and whether it is valid.
func reference(name string) (rune, bool) {
	if c, ok := references[name]; ok {
		return c, true
	}
	digits, number := strings.CutPrefix(name, "#")
	base := 10
	if hex, ok := strings.CutPrefix(digits, "x"); ok {
		digits, base = hex, 16
	}
	n, err := strconv.ParseUint(digits, base, 31)
	if c := rune(n); number && err == nil && utf8.ValidRune(c) && (c >= ' ' || c == '\t' || c == '\n' || c == '\r') {
		return c, true
	}
	return 0, false
}

// opens and closes report whether the present token is the start or end tag of an element with the given name.
func (x *xmlScanner) opens(name string) bool  { return x.kind == xmlStart && string(x.name) == name }
func (x *xmlScanner) closes(name string) bool { return x.kind == xmlEnd && string(x.name) == name }

// attr returns an attribute of the present start tag, or "".
func (x *xmlScanner) attr(name string) string {
	for _, a := range x.attrs {
		if string(a.name) == name {
			value, _ := x.decoded(a.value) // element has checked that there is no error
			return string(value)
		}
	}
	return ""
}

// keep counts memory that is retained.
func (x *xmlScanner) keep(bytes int) error {
	return x.b.meter.Keep(int64(bytes), func() string { return "keeping " + x.part })
}

// richText collects the text of an element, which may consist of runs in different fonts.
// Phonetic annotations are left out.
type richText struct {
	b        []byte
	in, read bool // within the element, and within a run of it that is not phonetic
	phonetic bool
}

func (r *richText) begin() { *r = richText{b: r.b[:0], in: true} }

func (r *richText) token(x *xmlScanner) error {
	switch {
	case !r.in:
	case x.opens("rPh"):
		r.phonetic = true
	case x.closes("rPh"):
		r.phonetic = false
	case x.opens("t"), x.opens("v"):
		r.read = !r.phonetic
	case x.closes("t"), x.closes("v"):
		r.read = false
	case r.read && x.kind == xmlText:
		r.b = append(r.b, x.text...)
		return x.bound(len(r.b))
	}
	return nil
}

func (r *richText) end() string {
	r.in = false
	return string(r.b)
}

// unescaped decodes escapes such as _x000D_, which stand for characters that XML does not
// allow.
func unescaped(s string) string {
	if !strings.Contains(s, "_x") {
		return s
	}
	return escapes().ReplaceAllStringFunc(s, func(escape string) string {
		code, _ := strconv.ParseUint(escape[2:6], 16, 16)
		return string(rune(code))
	})
}

var escapes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`_x[0-9A-Fa-f]{4}_`) })
