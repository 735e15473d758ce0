package table

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"credence/internal/budget"
)

// tokens returns the tokens of a document, and the error at the end.
func tokens(t testing.TB, text string) (list []string, err error) {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, _ := z.Create("doc")
	io.WriteString(w, text)
	z.Close()
	archive, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	book := &workbook{ctx: t.Context(), file: "x.xlsx", archive: archive, limit: budget.Least, meter: &budget.Meter{Limit: budget.Least}}
	err = book.scan("doc", func(x *xmlScanner) error {
		switch x.kind {
		case xmlText:
			list = addText(list, string(x.chars()))
		case xmlStart:
			token := "<" + string(x.name)
			for _, a := range x.attrs {
				token += fmt.Sprintf(" %s=%q", a.name, x.attr(string(a.name)))
			}
			list = append(list, token)
		case xmlEnd:
			list = append(list, "/"+string(x.name))
		}
		return nil
	})
	return list, err
}

// addText adds a text token, or appends it to the previous token if that is text.
func addText(list []string, text string) []string {
	if n := len(list); n > 0 && strings.HasPrefix(list[n-1], "\"") {
		list[n-1] += text
		return list
	}
	return append(list, "\""+text)
}

// standard returns the same tokens as found by encoding/xml.
func standard(text string) (list []string, err error) {
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		token, err := d.RawToken()
		if err != nil {
			return list, err
		}
		switch x := token.(type) {
		case xml.CharData:
			list = addText(list, string(x))
		case xml.StartElement:
			token := "<" + x.Name.Local
			for _, a := range x.Attr {
				token += fmt.Sprintf(" %s=%q", a.Name.Local, a.Value)
			}
			list = append(list, token)
		case xml.EndElement:
			list = append(list, "/"+x.Name.Local)
		}
	}
}

// TestXMLScanner compares the scanner with encoding/xml, on workbooks of several programs and corner cases of the
// syntax. Malformed XML is an error.
func TestXMLScanner(t *testing.T) {
	long := strings.Repeat("0123456789", 20_000) // more than a buffer
	documents := []string{
		`<a/>`, `<a b="1" c = '2'>x</a >`, "<a\n\tx:b=\"&lt;&#65;&#x42;&amp;\"/>", `<r:a>1 &gt; 0 &quot;&apos;</r:a>`, "<a>x\r\ny\rz\n</a>",
		`<?xml version="1.0" encoding="UTF-8" standalone="yes"?>` + "\n<a>ä€😀</a>", `<a><![CDATA[<&>]]]]><![CDATA[>]]></a>`,
		`<a b=">"/><a b='"/>'>1</a>`, `<a><!-- <b> - - > - --><c/><!----></a>`, `<!DOCTYPE a [<!ENTITY b "bbbb"><!ELEMENT a>]><a/>`,
		"<a>" + long + "</a>", `<a b="` + long + `">` + strings.Repeat(`<v>1</v>`, 20_000) + "</a>", "<a><![CDATA[" + long + ">" + long + "]]></a>",
		`<a b="` + strings.Repeat(">", 200_000) + `"/>`, "<a><!--" + strings.Repeat(">", 200_000) + "--></a>", "\ufeff<a></a>", "",
	}
	books, err := filepath.Glob("testdata/*.xlsx")
	if err != nil || len(books) == 0 {
		t.Fatal(books, err)
	}
	for _, path := range books {
		z, err := zip.OpenReader(path)
		if err != nil {
			continue // it is damaged
		}
		defer z.Close()
		for _, f := range z.File {
			r, err := f.Open()
			if err != nil {
				continue
			}
			if text, err := io.ReadAll(r); err == nil && bytes.HasPrefix(text, []byte("<")) {
				documents = append(documents, string(text))
			}
		}
	}
	for _, text := range documents {
		want, end := standard(text)
		if end != io.EOF {
			t.Fatalf("%.60q: %v", text, end)
		}
		got, err := tokens(t, text)
		if err != nil || strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%.60q: %v\ngot  %.200q\nwant %.200q", text, err, got, want)
		}
	}
	for text, want := range map[string]string{
		"<a>&lol;</a>": "invalid character entity &lol;", "<a>&#0;</a>": "invalid character entity &#0;", "<a>& b</a>": "invalid character entity & b",
		`<a b="&x;"/>`: "invalid character entity &x;", "<a>\x00</a>": "illegal character code U+0000", "<a>\xff</a>": "invalid UTF-8", "<a b='\x01'/>": "illegal character code U+0001",
		"<a b=1/>": "expected an attribute with a quoted value, found b=1", "<a b/>": "expected an attribute", "<>": "expected the name of an element",
		"<a": "unexpected end", `<a b="`: "unexpected end", "<a><!-- ": "unexpected end", "<a><![CDATA[x": "unexpected end", "<!DOCTYPE a [<b>": "unexpected end",
		"<a>": "doc is truncated", `<?xml encoding="latin1"?><a/>`: "the encoding latin1 is not supported", "<a></a><a><![CDATA[\x02]]></a>": "illegal character code U+0002",
	} {
		if _, err := tokens(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
