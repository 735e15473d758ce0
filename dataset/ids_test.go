package dataset

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"credence/internal/array"
)

// npyFile writes an array of rows×width that counts from first.
func npyFile(t *testing.T, path string, rows, width int, first float32) {
	values := make([]float32, rows*width)
	for i := range values {
		values[i] = first + float32(i)
	}
	var b bytes.Buffer
	if err := array.WriteNPY(&b, []int{rows, width}, values); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// npzFile writes arrays of float32, one row per item, and ids as numpy writes texts
// of one byte a letter.
func npzFile(t *testing.T, path string, ids []string, arrays map[string][]int) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	if ids != nil {
		width := 0
		for _, id := range ids {
			width = max(width, len(id))
		}
		text := fmt.Sprintf("{'descr': '|S%d', 'fortran_order': False, 'shape': (%d,), }\n", width, len(ids))
		body := append([]byte("\x93NUMPY\x01\x00"), binary.LittleEndian.AppendUint16(nil, uint16(len(text)))...)
		body = append(body, text...)
		for _, id := range ids {
			body = append(body, id+strings.Repeat("\x00", width-len(id))...)
		}
		w, _ := z.Create("ids.npy")
		w.Write(body)
	}
	for name, shape := range arrays {
		n := 1
		for _, s := range shape {
			n *= s
		}
		values := make([]float32, n)
		for i := range values {
			values[i] = float32(i) + float32(name[0])
		}
		w, _ := z.Create(name + ".npy")
		if err := array.WriteNPY(w, shape, values); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// rowsText writes ids, names of parts and all values.
func rowsText(t *testing.T, ds *Dataset) string {
	var names []string
	for _, p := range ds.Features {
		names = append(names, p.Name)
	}
	var rows []string
	for i, id := range ds.Items {
		row := make([]float32, ds.Rows.Width())
		if err := ds.Rows.ReadRow(i, row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, fmt.Sprint(id, row))
	}
	return fmt.Sprint(names, " ", strings.Join(rows, " "))
}

// Embeddings have ids: in a table of only ids next to an array, or within an NPZ
// file. A stream for prediction joins them as Load does.
func TestEmbeddings(t *testing.T) {
	inDir(t, "ids.csv", "id\nb\na\nc\n", "keys.csv", "photo\nb\na\nc\n", "table.csv", "id,age\na,1\nb,2\nc,3\n",
		"roles.csv", "id,patient,r1,r2\nb,p,yes,no\na,p,yes,yes\nc,q,no,\n")
	npyFile(t, "e.npy", 3, 2, 10)
	npzFile(t, "one.npz", []string{"b", "a", "c"}, map[string][]int{"vectors": {3, 2}})
	npzFile(t, "two.npz", []string{"c", "a", "b"}, map[string][]int{"text": {3, 1}, "audio": {3, 2}, "y": {3, 2}, "age": {3}})
	for _, c := range []struct {
		files, want, warning string
		opts                 LoadOptions
	}{
		{files: "ids.csv e.npy", want: "[x] b[10 11] a[12 13] c[14 15]"},
		{files: "e.npy ids.csv", want: "[x] b[10 11] a[12 13] c[14 15]"},
		{files: "keys.csv e.npy", want: "[x] b[10 11] a[12 13] c[14 15]"},
		{files: "table.csv ids.csv e.npy", want: "[age x] a[1 12 13] b[2 10 11] c[3 14 15]"},
		{files: "table.csv e.npy ids.csv", want: "[age x] a[1 12 13] b[2 10 11] c[3 14 15]"},
		{files: "ids.csv e.npy table.csv", want: "[x age] b[10 11 2] a[12 13 1] c[14 15 3]"},
		{files: "ids.csv table.csv", want: "[age] b[2] a[1] c[3]"},
		{files: "roles.csv e.npy", want: "[x] b[10 11] a[12 13] c[14 15]", opts: LoadOptions{
			FeatureOptions: FeatureOptions{GroupColumn: "patient"}, VotesOptions: VotesOptions{Columns: []string{"r1", "r2"}}}},
		{files: "one.npz", want: "[x] b[118 119] a[120 121] c[122 123]"},
		{files: "table.csv one.npz", want: "[age x] a[1 120 121] b[2 118 119] c[3 122 123]"},
		{files: "two.npz table.csv", want: "[audio text age] c[97 98 116 3] a[99 100 117 1] b[101 102 118 2]",
			warning: `two.npz: array "y" is left out: its name indicates labels`},
		{files: "two.npz", want: "[x] c[97] a[98] b[99]", opts: LoadOptions{FeatureOptions: FeatureOptions{Array: "age"}}},
	} {
		o := c.opts
		o.Data, o.NoVotes = strings.Fields(c.files), o.VotesOptions.Columns == nil
		ds, err := Load(t.Context(), o)
		if err != nil {
			t.Errorf("%s: %v", c.files, err)
			continue
		}
		if got := rowsText(t, ds); got != c.want {
			t.Errorf("%s: got %s, want %s", c.files, got, c.want)
		}
		if !strings.Contains(fmt.Sprint(ds.Warnings), c.warning) {
			t.Errorf("%s: %v, want %s", c.files, ds.Warnings, c.warning)
		}
		if o.FeatureOptions.GroupColumn != "" && !slices.Equal(ds.Groups, []string{"p", "p", "q"}) {
			t.Errorf("%s: groups %q", c.files, ds.Groups)
		}
		testStream(t, o, ds)
		ds.Close()
	}
}

// testStream checks that a stream over the files of o returns the items of ds.
func testStream(t *testing.T, o LoadOptions, ds *Dataset) {
	so := StreamOptions{Batch: 2, Beside: o.Data[1:], FeatureOptions: o.FeatureOptions}
	so.GroupColumn = ""
	s, err := OpenStream(t.Context(), o.Data[0], ds.Features, so)
	if err != nil {
		t.Errorf("stream of %q: %v", o.Data, err)
		return
	}
	defer s.Close()
	fit, err := Fit(ds, []int{0, 1, 2}, TransformOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := inputsOf(t, fit, ds)
	at := 0
	for {
		b, err := s.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Errorf("stream of %q: %v", o.Data, err)
			return
		}
		for i, line := range inputsOf(t, fit, b.Dataset) {
			if at >= len(want) || line != want[at] {
				t.Errorf("stream of %q, item %d: got %s, want %s", o.Data, at, line, want[min(at, len(want)-1)])
			}
			at++
			_ = i
		}
	}
	if at != len(want) {
		t.Errorf("stream of %q: %d items, want %d", o.Data, at, len(want))
	}
	o.FeatureOptions.Schema, o.NoVotes, o.FeatureOptions.GroupColumn = ds.Features, true, ""
	again, err := Load(t.Context(), o)
	if err != nil {
		t.Errorf("again %q: %v", o.Data, err)
		return
	}
	defer again.Close()
	if got := inputsOf(t, fit, again); !slices.Equal(got, want) {
		t.Errorf("again %q: got %s, want %s", o.Data, got, want)
	}
}

func inputsOf(t *testing.T, fit *Transform, ds *Dataset) (lines []string) {
	in, err := fit.Over(ds)
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, in.Width())
	for i, id := range ds.Items {
		if err := in.ReadRow(i, x); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprint(id, x))
	}
	return lines
}

func TestEmbeddingsBad(t *testing.T) {
	inDir(t, "ids.csv", "id\nb\na\nc\n", "short.csv", "id\nb\na\n", "headless.csv", "b\na\nc\n", "twice.csv", "id\nb\na\nb\n", "blank.csv", "id\nb\n\"\"\nc\n",
		"table.csv", "id,age\na,1\nb,2\nc,3\n", "less.csv", "id,age\na,1\nz,2\n", "rows.csv", "age\n1\n2\n3\n")
	npyFile(t, "e.npy", 3, 2, 10)
	npzFile(t, "twice.npz", []string{"c", "a", "c"}, map[string][]int{"x": {3, 1}})
	npzFile(t, "blank.npz", []string{"c", "", "b"}, map[string][]int{"x": {3, 1}})
	npzFile(t, "short.npz", []string{"c", "a"}, map[string][]int{"x": {3, 1}})
	npzFile(t, "uneven.npz", []string{"c", "a", "b"}, map[string][]int{"u": {3, 1}, "v": {2, 1}})
	npzFile(t, "which.npz", nil, map[string][]int{"u": {3, 1}, "v": {3, 1}})
	for files, want := range map[string]string{
		"short.csv e.npy":        `reading short.csv: expected 3 ids, one for each row of e.npy, found 2; is the first line, "id", an id instead of a header?`,
		"headless.csv e.npy":     `reading headless.csv: expected 3 ids, one for each row of e.npy, found 2; is the first line, "b", an id instead of a header?`,
		"twice.csv e.npy":        `reading twice.csv: line 4, column 1 (id): item "b" is there already, on line 2`,
		"blank.csv e.npy":        `reading blank.csv: line 3, column 1 (id): the item has no id`,
		"table.csv ids.csv":      `reading ids.csv: only ids: expected a file without ids, such as an array, before or after it, to which they belong`,
		"ids.csv short.csv":      `reading short.csv: only ids: expected a file without ids, such as an array, before or after it, to which they belong`,
		"ids.csv":                `reading ids.csv: none of the columns [id] is a feature`,
		"ids.csv e.npy less.csv": `reading less.csv: no features for 2 items: "b", "c"`,
		"twice.npz":              `reading twice.npz: array "ids", row 2: item "c" is there already, in row 0`,
		"blank.npz":              `reading blank.npz: array "ids", row 1: the item has no id`,
		"short.npz":              `reading short.npz: 2 ids in array "ids", but array "x" has 3 rows`,
		"uneven.npz":             `reading uneven.npz: array "v" has 2 rows, but "u" has 3`,
		"which.npz":              `reading which.npz: expected one array, found [u, v]`,
		"table.csv short.npz":    `reading short.npz: 2 ids in array "ids", but array "x" has 3 rows`,
	} {
		_, err := Load(t.Context(), LoadOptions{Data: strings.Fields(files), NoVotes: true})
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v\nwant %s", files, err, want)
		}
	}
}

// The ids of files in a folder have no extension if all votes, or all items of a table,
// name them without, and not otherwise.
func TestExtensions(t *testing.T) {
	inDir(t, "votes.csv", "id,r1,r2\nd0,yes,no\nd1,no,no\nd2,yes,yes\n", "full.csv", "id,r1,r2\nd0.png,yes,no\nd1.png,no,no\n",
		"some.csv", "id,r1,r2\nd0,yes,no\nd9,no,no\n", "items.csv", "id,age\nd1,1\nd0,2\nd2,3\n", "png.csv", "id,age\nd0.png,1\nd1.png,2\n",
		"none.csv", "id,r1,r2\nx,yes,no\ny,no,no\n")
	folder := func(name string, files ...string) {
		os.Mkdir(name, 0o755)
		for i, file := range files {
			img := image.NewGray(image.Rect(0, 0, 8, 8))
			img.Pix[0] = byte(i + 1)
			var b bytes.Buffer
			png.Encode(&b, img)
			if err := os.WriteFile(filepath.Join(name, file), b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	folder("images", "d0.png", "d1.png", "d2.png")
	folder("both", "d0.png", "d0.jpg", "d1.png", "d2.png")
	for _, c := range []struct{ data, votes, want string }{
		{"images", "votes.csv", "[d0 d1 d2]"},
		{"images", "full.csv", "[d0.png d1.png d2.png]"},
		{"images items.csv", "votes.csv", "[d0 d1 d2]"},
		{"items.csv images", "votes.csv", "[d1 d0 d2]"},
		{"images", "some.csv", `no item of some.csv has features: its items are "d0", "d9", those with features are "d0.png", "d1.png", "d2.png"; do they lack .png?`},
		{"both", "votes.csv", `those with features are "d0.jpg", "d0.png", "d1.png", "d2.png"; do they lack .jpg?`},
		{"images", "none.csv", `those with features are "d0.png", "d1.png", "d2.png"`},
		{"images png.csv", "full.csv", `reading png.csv: no features for 1 item: "d2.png"`},
		{"items.csv", "full.csv", `no item of full.csv has features: its items are "d0.png", "d1.png", those with features are "d1", "d0", "d2"; should .png be removed?`},
		{"png.csv images", "votes.csv", `no item of votes.csv has features: its items are "d0", "d1", "d2", those with features are "d0.png", "d1.png"; do they lack .png?`},
	} {
		ds, err := Load(t.Context(), LoadOptions{Data: strings.Fields(c.data), Votes: []string{c.votes}})
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = fmt.Sprint(ds.Items)
			if ds.Votes.Votes == 0 {
				t.Errorf("%s %s: no votes", c.data, c.votes)
			}
		}
		if !strings.HasSuffix(got, c.want) {
			t.Errorf("%s, %s: got %s\nwant %s", c.data, c.votes, got, c.want)
		}
	}
	for name, want := range map[string]string{"d.png": "d", "a/d.PNG": "a/d", "d.nii.gz": "d", "d.nii": "d", "d.hdr": "d", "d.jpeg": "d", "d.txt": "d.txt", "d.1": "d.1", ".png": ".png", "d": "d", "d.gz": "d.gz", "d.tar.gz": "d.tar.gz"} {
		if got := bareName(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// Ids of votes that differ only in case from those of the features are the same items, with a warning, unless that is
// ambiguous: then they are unknown.
func TestIDsInOtherCase(t *testing.T) {
	for _, c := range []struct {
		name, items, votes string
		want               string // votes of the items
		warning            string
	}{
		{"equal", "P1 P2", "P1 P2", "[1 1]", ""},
		{"lower", "P1 P2 P3", "p1 p2 p3", "[1 1 1]", "ids of 3 items with votes differ from those with features only in case, and are taken for the same: p1 is P1"},
		{"one", "P1 P2 P3", "P1 p2 P3", "[1 1 1]", "ids of 1 item with votes differ from those with features only in case, and are taken for the same: p2 is P2"},
		{"two items in one spelling of votes", "P1 p1 P2", "P1 P2", "[1 0 1]", ""},
		{"ambiguous items", "Px px P2", "PX P2", "[0 0 1]", ""},
		{"its own votes", "P1 P2", "P1 p1 P2", "[1 1]", ""},
		{"another id", "P1 P2", "pX P2", "[0 1]", ""},
	} {
		var items, votes strings.Builder
		items.WriteString("id,x\n")
		votes.WriteString("id,rater,label\n")
		for i, id := range strings.Fields(c.items) {
			fmt.Fprintf(&items, "%s,%d.5\n", id, i)
		}
		for i, id := range strings.Fields(c.votes) {
			fmt.Fprintf(&votes, "%s,ann,%s\n", id, []string{"no", "yes"}[i%2])
		}
		writeFiles(t, map[string]string{"items.csv": items.String(), "votes.csv": votes.String()})
		ds, err := Load(t.Context(), LoadOptions{Data: []string{"items.csv"}, Votes: []string{"votes.csv"}})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var counts []float64
		for i := range strings.Fields(c.items) {
			counts = append(counts, ds.VotesOf(i))
		}
		if got := fmt.Sprint(counts); got != c.want {
			t.Errorf("%s: votes per item %s, want %s", c.name, got, c.want)
		}
		if got := warningText(ds.Warnings); strings.Contains(got, "only in case") != (c.warning != "") || !strings.Contains(got, c.warning) {
			t.Errorf("%s: warnings %q, want %q", c.name, got, c.warning)
		}
	}
}
