package study

import (
	"context"
	"fmt"
	"math/rand/v2"

	"credence/dataset"
	"credence/internal/rng"
)

// Votes is the study of people's votes: items have many votes each, networks learn from a few of them, and
// intervals of items not trained on are evaluated with the votes that were held back.
type Votes struct {
	Quick bool   `json:"quick"`
	Seed  uint64 `json:"seed"`
	// Splits is the number of folds of a set: each fold is evaluated once, by fits to items of
	// the others; Done is the number of folds that are evaluated.
	Splits int `json:"splits"`
	Done   int `json:"done"`
	// Train and Test bound the photographs that a fit is trained and evaluated on.
	Train int `json:"train"`
	Test  int `json:"test"`
	// Votes are the numbers of votes per item trained on; RivalVotes those at which the rivals that
	// train networks are trained on photographs, which takes long.
	Votes      []int `json:"votes"`
	RivalVotes []int `json:"rival_votes"`
	// Files are those that were read.
	Files []dataFile `json:"files"`

	folder string
	sets   []*voteSet
}

// NewVotes returns the study of the data in a folder, or a small version of it, and an error if a
// file of a set is missing.
func NewVotes(folder string, quick bool, seed uint64) (*Votes, error) {
	v := &Votes{Quick: quick, Seed: seed, Splits: 5, Done: 5, Train: 2000, Test: 2000,
		Votes: []int{2, 3, 5}, RivalVotes: []int{3}, folder: folder}
	if quick {
		v.Done, v.Train, v.Test = 1, 300, 300
	}
	var err error
	v.Files, err = findFiles(folder)
	return v, err
}

// rivals are the methods that the mixture is compared with.
var rivals = []string{featureless, softmaxBootstrap, evidential}

// Name implements [Study].
func (v *Votes) Name() string { return "votes" }

// Prepare implements [Study].
func (v *Votes) Prepare(ctx context.Context, _ *Folder) (pieces int, err error) {
	if v.sets, err = v.load(ctx); err != nil {
		return 0, err
	}
	for _, s := range v.sets {
		for _, m := range v.Votes {
			pieces += v.Done * (1 + len(v.rivals(s, m)))
		}
		if s.images {
			pieces++
		}
	}
	return pieces, nil
}

// Measure implements [Study].
func (v *Votes) Measure(ctx context.Context, f *Folder) (Results, error) {
	r := &votesResult{Study: v}
	for _, s := range v.sets {
		got, err := v.set(ctx, f, s)
		if err != nil {
			return nil, err
		}
		r.Sets = append(r.Sets, got)
	}
	for _, s := range r.Sets {
		for _, x := range s.Methods {
			x.behind(s.method(votesReported, x.Votes), s.voteSet, v.Seed)
		}
	}
	return r, nil
}

// load reads the sets that exist.
func (v *Votes) load(ctx context.Context) (sets []*voteSet, err error) {
	for _, kind := range voteKinds {
		if !v.has(kind.name) {
			continue
		}
		s, err := kind.load(ctx, v.folder)
		if err != nil {
			return nil, err
		}
		s.name, s.title, s.class = kind.name, kind.title, kind.class
		sets = append(sets, s)
	}
	return sets, nil
}

// rivals are those that are trained on m votes of the items of a set.
func (v *Votes) rivals(s *voteSet, m int) (list []string) {
	for _, name := range rivals {
		trains := name != featureless
		for _, at := range v.RivalVotes {
			if !trains || !s.images || at == m {
				list = append(list, name)
				break
			}
		}
	}
	return list
}

// set does all fits to a set.
func (v *Votes) set(ctx context.Context, f *Folder, s *voteSet) (*setResult, error) {
	r := &setResult{Name: s.name, Title: s.title, Items: s.ds.Len(), Classes: s.ds.Classes, voteSet: s}
	if s.images {
		twins, err := piece(ctx, f, s.name+": images that are there twice",
			func(context.Context) ([]int, error) { return s.twins() })
		if err != nil {
			return nil, err
		}
		s.drop(twins)
		r.Twins = len(twins)
	}
	for _, m := range v.Votes {
		by := map[string]*votesMethod{}
		for split := range v.Done {
			for _, name := range append([]string{mixtureFit}, v.rivals(s, m)...) {
				key := fmt.Sprintf("%s, %d votes, split %d: %s", s.name, m, split+1, name)
				got, err := piece(ctx, f, key, func(ctx context.Context) ([]splitResult, error) {
					return v.judge(ctx, s, m, split, name)
				})
				if err != nil {
					return nil, err
				}
				for _, one := range got {
					if by[one.Method] == nil {
						by[one.Method] = &votesMethod{Name: one.Method, Votes: m}
						r.Methods = append(r.Methods, by[one.Method])
					}
					by[one.Method].add(one)
				}
			}
		}
	}
	for _, x := range r.Methods {
		x.summarize(s, v.Seed)
	}
	return r, nil
}

// splitResult has the results of one fit on the items of a split, for one kind of interval.
type splitResult struct {
	Method  string
	Trained int
	Scale   float64 // of reported variances, 0 if there is none
	Items   []heldBack
}

// judge fits one method to m votes of the items of a split and evaluates its predictions for the others.
func (v *Votes) judge(ctx context.Context, s *voteSet, m, split int, method string) ([]splitResult, error) {
	learn, test := s.split(v, split)
	ds := s.thinned(learn, m, rng.New(v.Seed, "study.votes.thin", uint64(split), uint64(m)))
	fits, err := fitVotes(ctx, method, ds, s.ds.Select(test), v.Seed+uint64(split))
	if err != nil {
		return nil, err
	}
	var list []splitResult
	for _, x := range fits {
		one := splitResult{Method: x.method, Trained: len(learn), Scale: x.scale}
		one.Items, err = judgeHeldBack(s, x.dists, test, rng.New(v.Seed, "study.votes.pit", uint64(split)))
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}

// split returns the items that are trained on and judged on in a split. Items of one cluster stay
// together, and every item is judged once in all splits.
func (s *voteSet) split(v *Votes, split int) (learn, test []int) {
	r := rand.New(rng.New(v.Seed, "study.votes.split"))
	place := r.Perm(s.clusters) // of each cluster
	var rest []int
	for _, i := range s.kept {
		if place[s.cluster[i]]%v.Splits == split {
			test = append(test, i)
		} else {
			rest = append(rest, i)
		}
	}
	if !s.images {
		return rest, test
	}
	order := rand.New(rng.New(v.Seed, "study.votes.learn", uint64(split))).Perm(len(rest))
	for _, k := range order[:min(v.Train, len(order))] {
		learn = append(learn, rest[k])
	}
	return learn, test[:min(v.Test, len(test))]
}

// thinned returns items with m of their votes, drawn without replacement.
func (s *voteSet) thinned(items []int, m int, r *rng.Stream) *dataset.Dataset {
	ds := s.ds.Select(items)
	ds.Counts, ds.Ratings, ds.Raters = thin(ds.Counts, len(ds.Classes), m, rand.New(r)), nil, nil
	return ds
}

// thin draws m votes of each row of counts [N × d] without replacement; all of a row with no more.
func thin(counts []float32, d, m int, r *rand.Rand) []float32 {
	out := make([]float32, len(counts))
	for lo := 0; lo < len(counts); lo += d {
		var votes []int
		for c, n := range counts[lo : lo+d] {
			for range int(n) {
				votes = append(votes, c)
			}
		}
		r.Shuffle(len(votes), func(i, j int) { votes[i], votes[j] = votes[j], votes[i] })
		for _, c := range votes[:min(m, len(votes))] {
			out[lo+c]++
		}
	}
	return out
}
