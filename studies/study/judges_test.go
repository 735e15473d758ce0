package study

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"credence/internal/rng"
)

// TestJudgesPage runs the quick study with a small set and checks the page.
func TestJudgesPage(t *testing.T) {
	if testing.Short() {
		t.Skip("trains models")
	}
	data := t.TempDir()
	folder := filepath.Join(data, "lesion")
	if err := os.Mkdir(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	var human, machine strings.Builder
	for i := range 300 {
		if i > 0 {
			human.WriteString(",")
			machine.WriteString(",")
		}
		id := string(rune('a'+i%26)) + string(rune('a'+i/26))
		human.WriteString(`"` + id + `":` + string(rune('0'+i%3)))
		machine.WriteString(`"` + id + `":` + string(rune('0'+(i+i/100)%3)))
	}
	for name, text := range map[string]string{
		"human_annotations.json": `{"ann":{` + human.String() + `},"bob":{` + machine.String() + `}}`,
		"llm_annotations.json":   `{"gpt":{` + machine.String() + `}}`,
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	s := NewJudges(data, true, 1, 1)
	f, err := OpenFolder(t.TempDir(), s, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := Reproduce(t.Context(), s, f); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(f.Path("README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| 60 | 1 |", "| 300 | 2 |", "| lesion | 0.", "| mean | 0."} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page has no %q:\n%s", want, page)
		}
	}
	if _, err := readJudgedSets(t.TempDir()); err == nil {
		t.Error("a folder without sets is accepted")
	}
}

// TestSharedErrorModel: the reference recovers the parameters that votes were drawn from, and its intervals hold. With 1,500 items the
// standard errors are about 0.1, and 2,000 fresh items have one of half a point.
func TestSharedErrorModel(t *testing.T) {
	r := rng.New(5, "test")
	m := fitSharedErrors(drawSharedItems(1500, 3, 5, 2, r), 5)
	if math.Abs(math.Exp(m.logTau)-2) > 0.4 || math.Abs(m.sd-1.5) > 0.2 || math.Abs(m.mean) > 0.2 {
		t.Errorf("mean %.2f, standard deviation %.2f, tau %.2f: expected 0, 1.5 and 2", m.mean, m.sd, math.Exp(m.logTau))
	}
	inside := 0.0
	for _, x := range drawSharedItems(2000, 3, 5, 2, r) {
		if lo, hi := m.interval(x.judges); lo <= sigmoid(x.z) && sigmoid(x.z) <= hi {
			inside += 1.0 / 2000
		}
	}
	if math.Abs(inside-0.95) > 0.02 {
		t.Errorf("95%% intervals contain %.1f%%", 100*inside)
	}
}
