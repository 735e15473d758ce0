package table

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"credence/internal/budget"
)

// uvarints encodes numbers one after another.
func uvarints(list ...uint64) []byte {
	var b []byte
	for _, u := range list {
		b = binary.AppendUvarint(b, u)
	}
	return b
}

// Pages that announce more than they contain are rejected before the library decodes them:
// each of these made, or would make, it allocate gigabytes.
func TestPageRuns(t *testing.T) {
	prefix := func(b []byte) []byte { return append(binary.LittleEndian.AppendUint32(nil, uint32(len(b))), b...) }
	deltas := func(values ...int32) []byte {
		b, err := new(delta.BinaryPackedEncoding).EncodeInt32(nil, values)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	const long = 1 << 30 // values of a run
	ten := uvarints(10<<1, 1)
	for _, c := range []struct {
		name       string
		definition int
		repetition int
		encoding   format.Encoding
		data       []byte
		want       string // "" for none
	}{
		{"a good page", 1, 0, format.RLEDictionary, append(prefix(ten), append([]byte{2}, ten...)...), ""},
		{"packed values", 1, 0, format.RLEDictionary, append(prefix([]byte{5, 255, 3}), 2, 5, 1, 2, 3, 4), ""},
		{"a run of levels", 1, 0, format.Plain, prefix(uvarints(long<<1, 1)), "longer than the page"},
		{"many runs of levels", 1, 0, format.Plain, prefix(bytes.Repeat(ten, 100)), "longer than the page"},
		{"packed levels", 1, 0, format.Plain, prefix(uvarints(long<<1|1, 1)), "longer than the page"},
		{"levels beyond the page", 1, 0, format.Plain, []byte{255, 255, 255, 255}, "longer than the page"},
		{"a run of indices", 0, 0, format.RLEDictionary, append([]byte{2}, uvarints(long<<1, 1)...), "longer than the page"},
		{"indices cut short", 0, 0, format.RLEDictionary, []byte{8, 3, 1}, "longer than the page"},
		{"wide indices", 0, 0, plainDictionary, []byte{200, 20}, "values of 200 bits"},
		{"truth values", 0, 0, format.RLE, prefix(uvarints(long<<1, 1)), "longer than the page"},
		{"differences", 0, 0, format.DeltaBinaryPacked, uvarints(128, 4, math.MaxInt32, 0), "2147483647 values in a page of 10"},
		{"lengths", 0, 0, format.DeltaLengthByteArray, uvarints(128, 4, math.MaxInt32, 0), "2147483647 values in a page of 10"},
		{"prefixes", 0, 0, format.DeltaByteArray, append(deltas(0, 1<<29, 1<<29), deltas(1, 0, 0)...), "a text of 536870912 bytes"},
		{"suffixes", 0, 0, format.DeltaByteArray, append(deltas(0, 1, 2), uvarints(128, 4, math.MaxInt32, 0)...), "2147483647 values in a page of 10"},
		{"texts", 0, 0, format.DeltaByteArray, append(append(deltas(0, 3), deltas(3, 1)...), "abcd"...), ""},
		{"one row", 1, 1, format.Plain, append(prefix(uvarints(1<<1, 0, 9<<1, 1)), prefix(ten)...), "a list of more than 8 values"},
		{"two rows", 1, 1, format.Plain, append(prefix(uvarints(1<<1, 0, 5<<1, 1, 1<<1, 0, 3<<1, 1)), prefix(ten)...), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := format.PageHeader{Type: format.DataPage, DataPageHeader: thrift.New(format.DataPageHeader{
				NumValues: 10, Encoding: c.encoding, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE})}
			l := pageLevels{definition: c.definition, repetition: c.repetition, mostInRow: 8}
			err := l.check(&h, c.data, budget.Least)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// A schema of deeply nested columns overflows the stack of the library.
func TestDeepSchema(t *testing.T) {
	schema := []format.SchemaElement{{Name: "root", NumChildren: thrift.New(int32(1))}}
	for range 100_000 {
		schema = append(schema, format.SchemaElement{Name: "x", NumChildren: thrift.New(int32(1)), RepetitionType: thrift.New(format.Optional)})
	}
	if _, err := levelsOf(schema, 1); err == nil || !strings.Contains(err.Error(), "deeper than 64") {
		t.Errorf("got %v", err)
	}
}

// The levels of columns agree with those of the library.
func TestLevels(t *testing.T) {
	type inner struct {
		A *int64   `parquet:"a,optional"`
		B []string `parquet:"b,list"`
	}
	type row struct {
		X float64 `parquet:"x"`
		Y []inner `parquet:"y,list"`
		Z *inner  `parquet:"z,optional"`
		W []int32 `parquet:"w"`
	}
	var b bytes.Buffer
	if err := parquet.Write(&b, []row{{}}); err != nil {
		t.Fatal(err)
	}
	f, err := parquet.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	got, err := levelsOf(f.Metadata().Schema, 64)
	if err != nil {
		t.Fatal(err)
	}
	columns := f.Schema().Columns()
	if len(got) != len(columns) {
		t.Fatalf("%d columns, want %d", len(got), len(columns))
	}
	for i, path := range columns {
		leaf, _ := f.Schema().Lookup(path...)
		if got[i].definition != leaf.MaxDefinitionLevel || got[i].repetition != leaf.MaxRepetitionLevel {
			t.Errorf("%v: levels %d and %d, want %d and %d", path, got[i].definition, got[i].repetition, leaf.MaxDefinitionLevel, leaf.MaxRepetitionLevel)
		}
	}
}
