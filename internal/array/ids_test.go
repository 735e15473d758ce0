package array

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// idArrays are vectors written by numpy 2.2; see numpy.lib.format.
var idArrays = []struct {
	descr string
	bytes []byte
	want  []string
}{
	{"<U3", utf32(binary.LittleEndian, 3, "d1", "é中", "abc"), []string{"d1", "é中", "abc"}},
	{">U3", utf32(binary.BigEndian, 3, "d1", "é中", "abc"), []string{"d1", "é中", "abc"}},
	{"|S2", []byte("a\x00bbc\x00"), []string{"a", "bb", "c"}},
	{"<i2", []byte{1, 0, 0xff, 0xff, 0, 1}, []string{"1", "-1", "256"}},
	{">i2", []byte{0, 1, 0xff, 0xff, 1, 0}, []string{"1", "-1", "256"}},
	{"<u8", []byte{255, 255, 255, 255, 255, 255, 255, 255}, []string{"18446744073709551615"}},
	{"|i1", []byte{0x80}, []string{"-128"}},
}

func utf32(order binary.AppendByteOrder, width int, texts ...string) []byte {
	var b []byte
	for _, s := range texts {
		runes := []rune(s)
		for i := range width {
			r := rune(0)
			if i < len(runes) {
				r = runes[i]
			}
			b = order.AppendUint32(b, uint32(r))
		}
	}
	return b
}

// npyOf returns an NPY file with a vector.
func npyOf(descr string, n int, elements []byte) []byte {
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%d,), }\n", descr, n)
	b := append([]byte(npyMagic), 1, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(text)))
	return append(append(b, text...), elements...)
}

// writeNPZ writes an archive with one array.
func writeNPZ(t *testing.T, name string, array []byte, method uint16) string {
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	w, err := z.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: method})
	if err != nil {
		t.Fatal(err)
	}
	w.Write(array)
	z.Close()
	path := filepath.Join(t.TempDir(), "x.npz")
	if err := os.WriteFile(path, packed.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadTexts(t *testing.T) {
	for _, c := range idArrays {
		for _, method := range []uint16{zip.Store, zip.Deflate} {
			path := writeNPZ(t, "ids", npyOf(c.descr, len(c.want), c.bytes), method)
			got, err := ReadTexts(t.Context(), path, "ids", Options{})
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("%s: %q, %v, want %q", c.descr, got, err, c.want)
			}
			entries, err := EntriesNPZ(path)
			if err != nil || len(entries) != 1 || entries[0].Name != "ids" || entries[0].Text != strings.ContainsAny(c.descr, "US") || !slices.Equal(entries[0].Shape, []int{len(c.want)}) {
				t.Errorf("%s: %+v, %v", c.descr, entries, err)
			}
		}
	}
	for descr, want := range map[string]string{
		"<f4":    "expected texts or whole numbers as ids, found elements of type <f4",
		"|O":     "elements that are Python objects are not supported: save the array with a native type, such as dtype=str for texts",
		"<U0":    "expected texts or whole numbers as ids",
		"<U9999": "the file is truncated: expected 2 ids, found 0",
		"|S2":    "the file is truncated: expected 2 ids, found 1",
	} {
		path := writeNPZ(t, "ids", npyOf(descr, 2, []byte("abc")), zip.Store)
		if _, err := ReadTexts(t.Context(), path, "ids", Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", descr, err, want)
		}
	}
	big := writeNPZ(t, "ids", npyOf("<U1000", 1<<30, nil), zip.Store)
	if _, err := ReadTexts(t.Context(), big, "ids", Options{Memory: 1 << 20}); err == nil || !strings.Contains(err.Error(), "bytes of memory") {
		t.Error(err)
	}
	texts := writeNPZ(t, "x", npyOf("|S2", 1, []byte("ab")), zip.Store)
	if _, err := OpenNPZ(t.Context(), texts, "", Options{}); err == nil || !strings.Contains(err.Error(), "expected an array of numbers, found texts") {
		t.Error(err)
	}
}
