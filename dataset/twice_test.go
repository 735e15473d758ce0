package dataset

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTwiceGiven checks that duplicates are found under any name, by links, and in a folder that is read with the file,
// but not if the file is only next to others.
func TestTwiceGiven(t *testing.T) {
	inDir(t, "a.csv", "item,x\n1,2\n", "b.csv", "item,y\n1,2\n")
	image := string(square(t, 9))
	for path, text := range map[string]string{"images/1.png": image, "images/more/2.png": image, "images/items.csv": "",
		"parquet/p.parquet": "", "parquet/y=1/q.parquet": "", "parquet/_aside.parquet": "", "parquet/notes.csv": ""} {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"soft.csv": "a.csv", "pictures": "images"} {
		if err := os.Symlink(to, link); err != nil {
			t.Skip(err)
		}
	}
	if err := os.Link("a.csv", "hard.csv"); err != nil {
		t.Skip(err)
	}
	for _, c := range []struct{ paths, want string }{
		{"a.csv b.csv", ""},
		{"a.csv missing.csv", ""},
		{"images images/items.csv", ""},
		{"parquet parquet/notes.csv", ""},
		{"parquet parquet/_aside.parquet", ""},
		{"images parquet", ""},
		{"images/1.png images/more/2.png", ""},
		{"a.csv b.csv a.csv", "reading a.csv: this file of features is given twice"},
		{"missing.csv missing.csv", "reading missing.csv: this file of features is given twice"},
		{"a.csv ./a.csv", "reading ./a.csv: this file of features is given twice, also as a.csv"},
		{"a.csv b.csv soft.csv", "reading soft.csv: this file of features is given twice, also as a.csv"},
		{"hard.csv soft.csv", "reading soft.csv: this file of features is given twice, also as hard.csv"},
		{"images images/1.png", "reading images/1.png: this file of features is given twice, also in the folder images"},
		{"images/more images", "reading images: this folder of features contains images/more, which is given twice"},
		{"pictures images/1.png", "reading images/1.png: this file of features is given twice, also in the folder pictures"},
		{"pictures images", "reading images: this file of features is given twice, also as pictures"},
		{"parquet parquet/p.parquet", "reading parquet/p.parquet: this file of features is given twice, also in the folder parquet"},
		{"parquet/y=1 parquet", "reading parquet: this folder of features contains parquet/y=1, which is given twice"},
	} {
		err := checkDuplicateFiles(strings.Fields(c.paths), "features")
		if err == nil && c.want != "" || err != nil && err.Error() != c.want {
			t.Errorf("%s: %v, want %q", c.paths, err, c.want)
		}
	}
	want := "reading ./a.csv: this file of features is given twice, also as a.csv"
	if _, err := Load(t.Context(), LoadOptions{Data: []string{"a.csv", "./a.csv"}, NoVotes: true}); err == nil || err.Error() != want {
		t.Errorf("Load: %v, want %s", err, want)
	}
	o := StreamOptions{Beside: []string{"./a.csv"}}
	if _, err := OpenStream(t.Context(), "a.csv", []Feature{{Name: "x"}}, o); err == nil || err.Error() != want {
		t.Errorf("OpenStream: %v, want %s", err, want)
	}
	o.Beside = []string{"a.csv", "./a.csv"}
	if _, err := NewStream(t.Context(), strings.NewReader("item\n1\n"), "standard input", []Feature{{Name: "x"}}, o); err == nil || err.Error() != want {
		t.Errorf("NewStream: %v, want %s", err, want)
	}
}
