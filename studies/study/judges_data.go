package study

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"credence/dataset"
	"credence/internal/rng"
)

// judgedSet is a public set of items with votes of people and of judges, made binary.
type judgedSet struct {
	name   string
	items  []string
	people []string
	judges []string
	votes  [][]dataset.Rating // of people, by item
	judged []float32          // [items × judges] 0 or 1, NaN for none
}

// judgedSets are the sets with the label, or the lowest grade, that counts as yes: those of Calderon, Reichart and Dror (2025),
// each with human_annotations.json and llm_annotations.json, annotator → item → label.
var judgedSets = []struct {
	name, label string
	grade       float64
}{{"summeval", "", 5}, {"framing", "yes", 0}, {"cebab_stars", "", 4}, {"10k_prompts", "", 4}, {"lesion", "", 1}}

// readJudgedSets reads the sets that a folder has.
func readJudgedSets(folder string) ([]*judgedSet, error) {
	var list []*judgedSet
	for _, c := range judgedSets {
		path := filepath.Join(folder, c.name)
		if _, err := os.Stat(path); err != nil {
			continue
		}
		x, err := readJudgedSet(path, func(label any) float32 {
			yes := label == c.label
			if c.label == "" {
				grade, err := strconv.ParseFloat(fmt.Sprint(label), 64)
				yes = err == nil && grade >= c.grade
			}
			if yes {
				return 1
			}
			return 0
		})
		if err != nil {
			return nil, err
		}
		x.name = c.name
		list = append(list, x)
	}
	if list == nil {
		return nil, fmt.Errorf("%s: expected folders such as summeval with human_annotations.json and llm_annotations.json, found none", folder)
	}
	return list, nil
}

// readJudgedSet reads one set; code returns 1 for a label that counts as yes.
func readJudgedSet(folder string, code func(label any) float32) (*judgedSet, error) {
	var human, machine map[string]map[string]any
	for name, to := range map[string]any{"human_annotations.json": &human, "llm_annotations.json": &machine} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err == nil {
			err = json.Unmarshal(text, to)
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", filepath.Join(folder, name), err)
		}
	}
	x := &judgedSet{people: slices.Sorted(maps.Keys(human)), judges: slices.Sorted(maps.Keys(machine))}
	at := map[string]int{}
	for r, name := range x.people {
		for _, id := range slices.Sorted(maps.Keys(human[name])) {
			i, ok := at[id]
			if !ok {
				i = len(x.items)
				at[id] = i
				x.items, x.votes = append(x.items, id), append(x.votes, nil)
			}
			x.votes[i] = append(x.votes[i], dataset.Rating{Rater: int32(r), Class: int32(code(human[name][id]))})
		}
	}
	for _, id := range x.items {
		for _, name := range x.judges {
			vote := float32(math.NaN())
			if label, ok := machine[name][id]; ok {
				vote = code(label)
			}
			x.judged = append(x.judged, vote)
		}
	}
	return x, nil
}

// split returns some items, at random, with up to three votes of people each, and all others with all their votes.
func (x *judgedSet) split(items int, seed uint64) (learn, rest *dataset.Dataset) {
	r := rand.New(rng.New(seed, "judges.split"))
	order := r.Perm(len(x.items))
	learn, rest = x.dataset(), x.dataset()
	for k, i := range order {
		votes := slices.Clone(x.votes[i])
		if k < items {
			for j, v := range r.Perm(len(votes)) {
				votes[j] = x.votes[i][v]
			}
			x.add(learn, i, votes[:min(3, len(votes))])
		} else {
			x.add(rest, i, votes)
		}
	}
	return learn, rest
}

func (x *judgedSet) dataset() *dataset.Dataset {
	ds := &dataset.Dataset{Classes: []string{"no", "yes"}, Raters: x.people, Rows: &dataset.Memory{W: len(x.judges)}}
	for _, name := range x.judges {
		ds.Features = append(ds.Features, dataset.Feature{Name: name, Kind: dataset.Categorical, Levels: ds.Classes, Judge: true})
	}
	return ds
}

// add adds item i with some of its votes.
func (x *judgedSet) add(ds *dataset.Dataset, i int, votes []dataset.Rating) {
	rows := ds.Rows.(*dataset.Memory)
	at := len(ds.Items)
	ds.Items = append(ds.Items, x.items[i])
	rows.N++
	rows.Values = append(rows.Values, x.judged[i*len(x.judges):(i+1)*len(x.judges)]...)
	counts := make([]float32, 2)
	for _, v := range votes {
		v.Item = int32(at)
		counts[v.Class]++
		ds.Ratings = append(ds.Ratings, v)
	}
	ds.Counts = append(ds.Counts, counts...)
}
