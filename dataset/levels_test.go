package dataset

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// A level is found in any spelling if it is a boolean, and exactly otherwise.
func TestLevelSpellings(t *testing.T) {
	for _, c := range []struct {
		levels, texts string
		want          string
	}{
		{"False True", "True true TRUE tRuE 1 1.0 False false FALSE 0 yes T 2 -1", "[1 1 1 1 1 1 0 0 0 0 -1 -1 -1 -1]"},
		{"false true", "True true 1 FALSE 0", "[1 1 1 0 0]"},
		{"FALSE TRUE", "True true 1 false 0", "[1 1 1 0 0]"},
		{"True", "true 1 false 0", "[0 0 -1 -1]"},
		{"0 1", "true 1.0 FALSE 2", "[1 1 0 -1]"},
		{"0 1 2", "true 1.0 FALSE 2", "[-1 -1 -1 2]"},
		{"False True maybe", "true TRUE 1 MAYBE maybe", "[1 1 -1 -1 2]"},
		{"False TRUE True", "TRUE True true 1 false", "[1 2 -1 -1 0]"}, // of an earlier build: two that are true
		{"F M T", "true f", "[-1 -1]"},
		{"No Yes", "yes true 1", "[-1 -1 -1]"},
	} {
		index := newLevelIndex(strings.Fields(c.levels), true)
		var got []int32
		for _, text := range strings.Fields(c.texts) {
			got = append(got, index.code(text))
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("levels %s: got %v for %s, want %s", c.levels, got, c.texts, c.want)
		}
	}
}

// Trained from any spelling, items are read the same from any other; a model that an earlier build wrote has its own.
func TestBooleansOfFeatures(t *testing.T) {
	inDir(t, "title.csv", "id,ok\na,True\nb,False\nc,\n", "upper.csv", "id,ok\na,TRUE\nb,FALSE\nc,\n", "lower.csv", "id,ok\na,true\nb,false\nc,\n",
		"typed.json", `[{"id": "a", "ok": true}, {"id": "b", "ok": false}, {"id": "c", "ok": null}]`, "numbers.csv", "id,ok\na,1\nb,0\nc,\n",
		"mixed.csv", "id,ok\na,True\nb,False\nc,\nd,true\n", "votes.csv", "item,label\na,x\na,y\nb,x\nb,y\nc,x\nc,y\nd,x\nd,y\n")
	files := []string{"title.csv", "upper.csv", "lower.csv", "typed.json", "numbers.csv"}
	read := func(name string, schema []Feature) *Dataset {
		t.Helper()
		ds, err := Load(t.Context(), LoadOptions{Data: []string{name}, Votes: []string{"votes.csv"}, FeatureOptions: FeatureOptions{Schema: schema}})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return ds
	}
	for _, c := range []struct{ name, levels string }{
		{"title.csv", "[False True]"}, {"upper.csv", "[FALSE TRUE]"}, {"typed.json", "[false true]"}, {"mixed.csv", "[false true]"}, {"numbers.csv", "[]"},
	} {
		ds := read(c.name, nil)
		if got := fmt.Sprint(ds.Features[0].Levels); got != c.levels {
			t.Errorf("%s: levels %s, want %s", c.name, got, c.levels)
		}
		fit, err := Fit(ds, []int{0, 1, 2}, TransformOptions{})
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(fit)
		if err != nil {
			t.Fatal(err)
		}
		var model Transform
		if err := json.Unmarshal(text, &model); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprint(inputsOf(t, &model, ds)[:3])
		for _, file := range files {
			own := read(file, model.Schema())
			if got := fmt.Sprint(inputsOf(t, &model, own)); got != want {
				t.Errorf("trained from %s, %s gives %s, want %s", c.name, file, got, want)
			}
			s, err := OpenStream(t.Context(), file, model.Schema(), StreamOptions{})
			if err != nil {
				t.Fatal(err)
			}
			b, err := s.Next()
			if err != nil {
				t.Fatalf("trained from %s, %s: %v", c.name, file, err)
			}
			if got := fmt.Sprint(inputsOf(t, &model, b.Dataset)); got != want || len(s.Warnings()) > 0 {
				t.Errorf("trained from %s, %s streams %s with the warnings %v, want %s", c.name, file, got, s.Warnings(), want)
			}
			s.Close()
			if c.name == "numbers.csv" || file == "numbers.csv" {
				continue // without the schema, another kind of feature
			}
			if got := fmt.Sprint(inputsOf(t, &model, read(file, nil))); got != want {
				t.Errorf("trained from %s, %s with levels of its own gives %s, want %s", c.name, file, got, want)
			}
		}
	}
}

// A number with values other than 0 and 1 in training is not a boolean.
func TestBooleanForNumber(t *testing.T) {
	inDir(t, "items.csv", "id,age\na,1\nb,61\n", "new.csv", "id,age\na,True\n", "votes.csv", "item,label\na,x\na,y\nb,x\nb,y\n")
	ds, err := Load(t.Context(), LoadOptions{Data: []string{"items.csv"}, Votes: []string{"votes.csv"}})
	if err != nil {
		t.Fatal(err)
	}
	model, err := Fit(ds, []int{0, 1}, TransformOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := OpenStream(t.Context(), "new.csv", model.Schema(), StreamOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Next(); err == nil || !strings.HasSuffix(err.Error(), `expected a number, found "True"`) {
		t.Error(err)
	}
}

// Votes that are booleans have the same classes in every spelling.
func TestBooleansOfVotes(t *testing.T) {
	inDir(t, "title.csv", "item,label\na,True\na,False\nb,False\n", "upper.csv", "item,label\na,TRUE\na,FALSE\nb,FALSE\n",
		"typed.json", `[{"item": "a", "label": true}, {"item": "a", "label": false}, {"item": "b", "label": false}]`,
		"wide.csv", "item,r1,r2\na,true,FALSE\nb,False,\n", "counts.csv", "item,FALSE,TRUE\na,1,1\nb,1,0\n",
		"numbers.csv", "item,label\na,1\na,0\nb,0\n", "mixed.csv", "item,label\na,TRUE\na,False\nb,false\n", "other.csv", "item,label\na,True\na,maybe\n")
	const want = "[1 1 1 0]"
	for _, c := range []struct{ files, classes, found string }{
		{"title.csv", "", "[False True]"}, {"typed.json", "", "[false true]"}, {"upper.csv", "", "[FALSE TRUE]"}, {"mixed.csv", "", "[false true]"},
		{"typed.json", "False True", "[False True]"}, {"upper.csv", "False True", "[False True]"}, {"wide.csv", "False True", "[False True]"},
		{"counts.csv", "False True", "[False True]"}, {"numbers.csv", "False True", "[False True]"}, {"title.csv", "false true", "[false true]"},
		{"typed.json", "0 1", "[0 1]"},
	} {
		var classes []string
		if c.classes != "" {
			classes = strings.Fields(c.classes)
		}
		ds, err := ReadVotes(t.Context(), c.files, VotesOptions{Classes: classes})
		if err != nil {
			t.Errorf("%s: %v", c.files, err)
			continue
		}
		if got := fmt.Sprint(ds.Classes, ds.Counts); got != c.found+" "+want {
			t.Errorf("%s with the classes %q: got %s, want %s %s", c.files, c.classes, got, c.found, want)
		}
	}
	// Votes of several files are added up.
	ds, err := Load(t.Context(), LoadOptions{Votes: []string{"title.csv", "typed.json"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(ds.Classes, ds.Counts); got != "[false true] [2 2 2 0]" {
		t.Error(got)
	}
	if _, err := ReadVotes(t.Context(), "other.csv", VotesOptions{Classes: []string{"false", "true"}}); err == nil ||
		!strings.Contains(err.Error(), `expected a label among [false true], found "maybe"`) {
		t.Error(err)
	}
}
