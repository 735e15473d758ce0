package dataset

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// numberedTexts writes n rows, each with the columns of row, in which # is the
// number of the row in words.
func numberedTexts(header, row string, n int) string {
	digits := []string{"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"}
	var b strings.Builder
	b.WriteString(header + "\n")
	for i := range n {
		b.WriteString(strings.ReplaceAll(row, "#", digits[i/10%10]+digits[i%10]) + "\n")
	}
	return b.String()
}

// TestTextColumns checks which columns are detected as text.
func TestTextColumns(t *testing.T) {
	long := strings.Repeat("x", 5000)
	for _, c := range []struct {
		name, row string
		opts      FeatureOptions
		want      string // the column's description
	}{
		{"sentences", "it was # and very fine", FeatureOptions{}, "c: text"},
		{"Arabic", "كان اليوم # وكان جميلا", FeatureOptions{}, "c: text"},
		{"Chinese", "今天天气很好我们去公园玩#", FeatureOptions{}, "c: text"},
		{"the same few", "it was very fine indeed", FeatureOptions{}, "c: categorical (it was very fine indeed)"},
		{"two words", "ward #", FeatureOptions{}, "c: ignored (it has 40 different texts in 40 rows)"},
		{"two words, named", "ward #", FeatureOptions{Text: []string{"c"}}, "c: text"},
		{"sentences, refused", "it was # and very fine", FeatureOptions{Ignore: []string{"c"}}, "c: ignored"},
		{"dates", "2020-01-#", FeatureOptions{}, "c: ignored (it has 40 different texts in 40 rows)"},
		{"long codes", long + "#", FeatureOptions{}, "c: ignored (it has 40 different texts in 40 rows)"},
		{"long texts", "it was # and very fine " + long, FeatureOptions{}, "c: text"},
		{"numbers as text", "17", FeatureOptions{Text: []string{"c"}}, "c: text"},
	} {
		writeFiles(t, map[string]string{"a.csv": numberedTexts("item,x,c", "#,1,"+c.row, 40)})
		f, err := readFeatures(t.Context(), "a.csv", c.opts)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := f.Columns[2].String(); got != c.want {
			t.Errorf("%s: %.80s, want %s", c.name, got, c.want)
		}
	}
}

// TestManyTexts checks that a column of sentences can have more distinct values than a
// categorical column can have levels.
func TestManyTexts(t *testing.T) {
	if testing.Short() {
		t.Skip("writes some megabytes")
	}
	var b strings.Builder
	b.WriteString("item,c\n")
	for i := range maxLevels + 100 {
		fmt.Fprintf(&b, "%d,this is sentence number %d\n", i, i)
	}
	writeFiles(t, map[string]string{"a.csv": b.String()})
	f, err := readFeatures(t.Context(), "a.csv", FeatureOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(f.Features[0].Texts); f.Features[0].Kind != Text || n != maxLevels+100 {
		t.Errorf("%v with %d texts", f.Features[0], n)
	}
}

const talk = "item,c,no,yes\np,good day to you,2,0\nq,,1,1\nr,good bye to you,0,2\ns,NA,1,1\n"

func loadTalk(t *testing.T, table string, memory int64) *Dataset {
	t.Helper()
	writeFiles(t, map[string]string{"a.csv": table})
	opts := LoadOptions{Data: []string{"a.csv"}, FeatureOptions: FeatureOptions{Text: []string{"c"}, Memory: memory, CacheDir: t.TempDir()},
		VotesOptions: VotesOptions{Columns: []string{"no", "yes"}, Form: Counted}}
	var ds *Dataset
	for range 2 { // the second time from the cache, if there is one
		var err error
		if ds, err = Load(t.Context(), opts); err != nil {
			t.Fatal(err)
		}
		opened := ds
		t.Cleanup(func() { opened.Close() }) // before its folder is removed
	}
	return ds
}

// TestTextRows checks that a cell is the index of its text, or missing, also if values
// are stored in a file, and that the hash of the data is that of the texts.
func TestTextRows(t *testing.T) {
	ds := loadTalk(t, talk, 0)
	if got := fmt.Sprintf("%v %q", rowsOf(t, ds.Rows), ds.Features[0].Texts); got != `[0 NaN 1 NaN] ["good day to you" "good bye to you"]` {
		t.Error(got)
	}
	cached := loadTalk(t, talk, 1)
	if _, inMemory := cached.Rows.(*Memory); inMemory || !slices.Equal(cached.Features[0].Texts, ds.Features[0].Texts) {
		t.Errorf("%T with texts %q", cached.Rows, cached.Features[0].Texts)
	}
	hash := func(ds *Dataset) string {
		h, err := ds.Hash()
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	if hash(ds) != hash(cached) {
		t.Error("the hash depends on where values are kept")
	}
	shorter := loadTalk(t, strings.Replace(talk, "p,good day to you,2,0\n", "", 1), 0)
	if hash(ds.Select([]int{1, 2, 3})) != hash(shorter) {
		t.Error("the hash depends on texts of other items")
	}
	if hash(loadTalk(t, strings.Replace(talk, "bye", "by", 1), 0)) == hash(ds) {
		t.Error("another text has the same hash")
	}
}

// TestTextStream checks that batches have the texts of their items, also those of joined
// files.
func TestTextStream(t *testing.T) {
	writeFiles(t, map[string]string{"a.csv": talk, "b.csv": "item,d\ns,one\nr,two\nq,\np,three\n"})
	parts := []Feature{{Name: "c", Kind: Text}, {Name: "d", Kind: Text}}
	s, err := OpenStream(t.Context(), "a.csv", parts, StreamOptions{Batch: 3, Beside: []string{"b.csv"}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var got []string
	for {
		b, err := s.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		row := make([]float32, 2)
		for i, id := range b.Items {
			if err := b.Rows.ReadRow(i, row); err != nil {
				t.Fatal(err)
			}
			for k, x := range row {
				text := "-"
				if x == x {
					text = b.Features[k].Texts[int(x)]
				}
				got = append(got, id+":"+text)
			}
		}
	}
	if want := "p:good day to you p:three q:- q:- r:good bye to you r:two s:- s:one"; strings.Join(got, " ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, " "), want)
	}
}

// textData returns a data set of n items, of which every fifth has no text.
func textData(n int) *Dataset {
	ds := &Dataset{Classes: []string{"no", "yes"}, Features: []Feature{{Name: "age"}, {Name: "c", Kind: Text}}}
	m := &Memory{N: n, W: 2}
	for i := range n {
		text, votes := fmt.Sprintf("a fine day number %d of many", i%7), []float32{2, 0}
		if i%2 == 1 {
			text, votes = fmt.Sprintf("a bad night number %d of many", i%5), []float32{0, 2}
		}
		place := float32(len(ds.Features[1].Texts))
		if i%5 == 4 {
			place = float32(math.NaN())
		} else {
			ds.Features[1].Texts = append(ds.Features[1].Texts, text)
		}
		ds.Items, ds.Counts = append(ds.Items, fmt.Sprint(i)), append(ds.Counts, votes...)
		m.Values = append(m.Values, float32(i%9), place)
	}
	ds.Rows = m
	return ds
}

func fittedTexts(t *testing.T, ds *Dataset) *Transform {
	t.Helper()
	var rows, folds []int
	for i := range ds.Len() - 2 { // two are left for later
		rows, folds = append(rows, i), append(folds, i/2%4)
	}
	tr, err := Fit(ds, rows, TransformOptions{Scores: "off"})
	if err == nil {
		err = tr.FitText(t.Context(), ds, rows, folds, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// TestTextTransform checks that texts become logits, missing ones 0 and an indicator,
// that training inputs come from models fitted without the item, and that JSON and
// arrays restore the same numbers.
func TestTextTransform(t *testing.T) {
	ds := textData(60)
	tr := fittedTexts(t, ds)
	if got := fmt.Sprint(tr.Inputs()[0].Features, tr.Width()); got != "[age c[0] c missing] 3" {
		t.Error(got)
	}
	info := tr.TextColumns()[0]
	if info.Column != "c" || info.Documents != 47 || !(info.Loss < info.Base/2) {
		t.Errorf("%+v", info)
	}
	over, err := tr.Over(ds)
	if err != nil {
		t.Fatal(err)
	}
	training, err := tr.Training(ds)
	if err != nil {
		t.Fatal(err)
	}
	all, held := rowsOf(t, over), rowsOf(t, training)
	differ := 0
	for i := range ds.Len() {
		a, h := all[3*i:3*i+3], held[3*i:3*i+3]
		switch missing := i%5 == 4; {
		case missing && (a[1] != 0 || a[2] != 1), !missing && (a[2] != 0 || (a[1] > 0) != (i%2 == 1)):
			t.Errorf("item %d: %v", i, a)
		case a[1] != h[1]:
			differ++
		}
		if i >= 58 && a[1] != h[1] {
			t.Errorf("item %d, which is no part of the fit: %v, %v in training", i, a, h)
		}
	}
	if differ != 47 {
		t.Errorf("%d of 47 items have other logits in training", differ)
	}

	text, err := json.Marshal(tr)
	if err != nil {
		t.Fatal(err)
	}
	var again Transform
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	if _, err := again.Over(ds); err == nil || err.Error() != `text feature "c" is not fitted yet` {
		t.Error(err)
	}
	arrays := map[string]*Array{}
	for _, a := range tr.Arrays() {
		arrays[a.Name] = &a
	}
	take := func(name string) *Array { return arrays[name] }
	if err := again.SetArrays(take); err != nil {
		t.Fatal(err)
	}
	rows, err := again.Over(ds)
	if err != nil {
		t.Fatal(err)
	}
	if got := rowsOf(t, rows); !slices.Equal(got, all) {
		t.Error("other inputs after reading")
	}
	if _, err := again.Training(ds); err == nil || err.Error() != `feature "c" was fitted to other items` {
		t.Error(err)
	}

	// Values that no fit produces.
	for _, c := range []struct {
		name string
		edit func(a *Array)
		want string
	}{
		{"text1.idf", func(a *Array) { a.Values[0] = float32(math.NaN()) }, `feature "c": term 0: expected a weight from 1 to 100, found NaN`},
		{"text1.weights", func(a *Array) { a.Values[3] = float32(math.Inf(1)) }, `feature "c": weight 3 is +Inf`},
		{"text1.terms", func(a *Array) { a.Values[0] = 1e9 }, `feature "c": term 0: expected ascending whole numbers below 2097152 as hashes, found 1e+09`},
		{"text1.weights", func(a *Array) { a.Shape = []int{1} }, `feature "c": array text1.weights: expected shape [`},
	} {
		was := *arrays[c.name]
		changed := Array{was.Name, was.Shape, slices.Clone(was.Values)}
		c.edit(&changed)
		arrays[c.name] = &changed
		if err := again.SetArrays(take); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
		arrays[c.name] = &was
	}
	delete(arrays, "text1.idf")
	if err := again.SetArrays(take); err == nil || err.Error() != `feature "c": array text1.idf is missing` {
		t.Error(err)
	}
	for _, bad := range []string{strings.Replace(string(text), `"bias":[`, `"bias":[1,`, 1), strings.Replace(string(text), `"kind":"text"`, `"kind":"numeric"`, 1)} {
		if err := json.Unmarshal([]byte(bad), &again); err == nil {
			t.Errorf("accepted: %s", bad)
		}
	}
	ds.Rows.(*Memory).Values[1] = 99
	if err := over.ReadRow(0, make([]float32, 3)); err == nil || err.Error() != `feature "c": expected the index of one of 48 texts, found 99` {
		t.Error(err)
	}
}

// TestTextsTogether: the turns of a dialogue are fitted together where that predicts held-out votes better, and apart where it
// does not.
func TestTextsTogether(t *testing.T) {
	for _, both := range []bool{true, false} {
		r := rand.New(rand.NewPCG(4, 4))
		const n = 300
		ds := &Dataset{Classes: []string{"no", "yes"}, Features: []Feature{{Name: "agent", Kind: Text}, {Name: "user", Kind: Text}}}
		m := &Memory{N: n, W: 2}
		for i := range n {
			logit := 0.0
			for q := range ds.Features {
				words := make([]string, 6)
				for j := range words {
					k := r.IntN(40)
					words[j] = fmt.Sprintf("word%c%c", 'a'+rune(k/10), 'a'+rune(k%10))
					if both || q == 0 {
						logit += float64(k%5) - 2
					}
				}
				ds.Features[q].Texts = append(ds.Features[q].Texts, strings.Join(words, " "))
			}
			votes := []float32{1, 0}
			if r.Float64() < 1/(1+math.Exp(-logit)) {
				votes = []float32{0, 1}
			}
			ds.Items, ds.Counts = append(ds.Items, fmt.Sprint(i)), append(ds.Counts, votes...)
			m.Values = append(m.Values, float32(i), float32(i))
		}
		ds.Rows = m
		for _, info := range fittedTexts(t, ds).TextColumns() {
			if together := info.Together > 0; together != both || together && !(info.Together < info.Loss) {
				t.Errorf("votes depend on both texts: %v, but the column has %+v", both, info)
			}
		}
	}
}
