//go:build attack && linux

package main

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"strings"

	"github.com/parquet-go/parquet-go"

	"credence/internal/array"
)

// bombs are small files that claim to need much memory.
var bombs = []struct {
	name, file string
	want       string // in the error
	write      func(w io.Writer) error
}{
	{"blank rows", "x.csv.gz", "many blank rows would take", func(w io.Writer) error {
		return zipped(w, "a,b\n", 50<<20, ",\n,,\n", "1,2\n")
	}},
	{"rows without an end", "x.csv.gz", "keeping the rows", func(w io.Writer) error {
		return zipped(w, "a,b\n", 40<<20, "1,2\n", "")
	}},
	{"a long field", "x.csv.gz", "line 2: a record of", func(w io.Writer) error {
		return zipped(w, "a,b\n1,", 256<<20, "x", "\n")
	}},
	{"a long header", "x.csv.gz", "line 1: a record of", func(w io.Writer) error {
		return zipped(w, "", 64<<20, "a,", "\n1\n")
	}},
	{"a header that is not packed", "x.csv", "line 1: a header of", func(w io.Writer) error {
		_, err := io.WriteString(w, strings.Repeat(",", 200_000)+"\n1\n")
		return err
	}},
	{"a long text", "x.json.gz", "line 1: a text would take", func(w io.Writer) error {
		return zipped(w, `[{"a": "`, 256<<20, "x", `"}]`)
	}},
	{"a long list", "x.json.gz", "line 1: a value would take", func(w io.Writer) error {
		return zipped(w, `[{"a": [`, 64<<20, "1,", `1]}]`)
	}},
	{"lists in lists", "x.json.gz", "values nested deeper than 100 levels", func(w io.Writer) error {
		return zipped(w, `[{"a": `, 256<<20, "[", "")
	}},
	{"items without an end", "x.json.gz", "keeping the items", func(w io.Writer) error {
		return zipped(w, `[{"id": 0, "label": 1}`, 5<<18, `,{"id": 12345678, "label": 2}`, "]")
	}},
	{"a sheet of one value", "x.xlsx", "keeping xl/worksheets/sheet1.xml would take", func(w io.Writer) error {
		return sheetBomb(w, `<row>`, `<c><v>1</v></c>`, 16_000, 300)
	}},
	{"a text in a sheet", "x.xlsx", "a text or tag of", func(w io.Writer) error {
		return sheetBomb(w, `<row><c t="str"><v>`, strings.Repeat("x", 1<<16), 1<<12, 1)
	}},
	{"entities of entities", "x.xlsx", "invalid character entity", func(w io.Writer) error {
		return sheetBomb(w, `<!DOCTYPE a [<!ENTITY b "bbbb"><!ENTITY c "&b;&b;&b;&b;">]><row><c t="str"><v>&c;`, "", 1, 1)
	}},
	{"a page of one value", "x.parquet", "would take", func(w io.Writer) error {
		type row struct {
			X float64 `parquet:"x,plain,zstd"`
		}
		p := parquet.NewGenericWriter[row](w, parquet.PageBufferSize(1<<30))
		rows := make([]row, 1<<16)
		for range 1 << 8 {
			if _, err := p.Write(rows); err != nil {
				return err
			}
		}
		return p.Close()
	}},
	{"an item of half a gigabyte", "x.npz", "would take", func(w io.Writer) error {
		z := zip.NewWriter(w)
		f, err := z.Create("x.npy")
		if err != nil {
			return err
		}
		f.Write(array.HeaderNPY([]int{1, 128 << 20}))
		block := make([]byte, 1<<20)
		for range 512 {
			if _, err := f.Write(block); err != nil {
				return err
			}
		}
		return z.Close()
	}},
	{"an image of one row", "x.png", "an image of 268435456×1 pixels would take", func(w io.Writer) error {
		var data bytes.Buffer
		z, err := zlib.NewWriterLevel(&data, zlib.BestSpeed)
		if err != nil {
			return err
		}
		z.Write(make([]byte, 1<<28+1))
		z.Close()
		head := []byte{16, 0, 0, 0, 0, 0, 0, 1, 8, 0, 0, 0, 0} // 2²⁸×1 gray pixels of 8 bits
		io.WriteString(w, "\x89PNG\r\n\x1a\n")
		for _, c := range []struct {
			name string
			data []byte
		}{{"IHDR", head}, {"IDAT", data.Bytes()}, {"IEND", nil}} {
			body := append([]byte(c.name), c.data...)
			binary.Write(w, binary.BigEndian, uint32(len(c.data)))
			w.Write(body)
			err = binary.Write(w, binary.BigEndian, crc32.ChecksumIEEE(body))
		}
		return err
	}},
	{"a volume", "x.nii.gz", "would take", func(w io.Writer) error {
		head := make([]byte, 352)
		binary.LittleEndian.PutUint32(head, 348)
		for i, d := range []uint16{3, 800, 800, 800} {
			binary.LittleEndian.PutUint16(head[40+2*i:], d)
		}
		binary.LittleEndian.PutUint16(head[70:], 2)
		binary.LittleEndian.PutUint16(head[72:], 8)
		copy(head[344:], "n+1\x00")
		return zipped(w, string(head), 512<<20, "\x00", "")
	}},
	{"an axis of one voxel", "x.nii", "would take", func(w io.Writer) error {
		head := make([]byte, 352)
		binary.LittleEndian.PutUint32(head, 348)
		for i, d := range []uint16{3, 3000, 3000, 1} {
			binary.LittleEndian.PutUint16(head[40+2*i:], d)
		}
		binary.LittleEndian.PutUint16(head[70:], 2)
		copy(head[344:], "n+1\x00")
		_, err := w.Write(append(head, make([]byte, 9_000_000)...))
		return err
	}},
	{"lists on a line", "x.yaml", "nested deeper than", func(w io.Writer) error {
		_, err := io.WriteString(w, strings.Repeat("- ", 80_000))
		return err
	}},
	{"many keys", "x.yaml", "more than 20000 lines", func(w io.Writer) error {
		var b bytes.Buffer
		for i := range 90_000 {
			fmt.Fprintf(&b, "k%d: 1\n", i)
		}
		_, err := w.Write(b.Bytes())
		return err
	}},
}

// sheetBomb writes a workbook with a single sheet. Its rows begin with a text and repeat
// another one.
func sheetBomb(w io.Writer, begin, text string, n, rows int) error {
	z := zip.NewWriter(w)
	for _, part := range [][2]string{
		{"xl/workbook.xml", `<workbook xmlns:r="r"><sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>`},
		{"xl/_rels/workbook.xml.rels", `<a><Relationship Id="r1" Type="x/worksheet" Target="worksheets/sheet1.xml"/></a>`},
	} {
		f, err := z.Create(part[0])
		if err != nil {
			return err
		}
		io.WriteString(f, part[1])
	}
	f, err := z.Create("xl/worksheets/sheet1.xml")
	if err != nil {
		return err
	}
	io.WriteString(f, "<worksheet><sheetData>")
	for range rows {
		io.WriteString(f, begin)
		for range n {
			if _, err := io.WriteString(f, text); err != nil {
				return err
			}
		}
		io.WriteString(f, "</row>")
	}
	return z.Close()
}

// zipped writes two texts compressed with gzip, the second of them repeatedly.
func zipped(w io.Writer, before string, n int, text, after string) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	io.WriteString(z, before)
	k := max(1, 1<<20/len(text))
	block := strings.Repeat(text, k)
	for ; n > 0; n -= k {
		if _, err := io.WriteString(z, block[:min(n, k)*len(text)]); err != nil {
			return err
		}
	}
	io.WriteString(z, after)
	return z.Close()
}
