package dataset

import (
	"math"
	"slices"

	"credence/internal/table"
)

// Encoded describes how a [Transform] converts a feature, for programs that repeat the conversion elsewhere.
type Encoded struct {
	Feature
	Input  InputKind
	Offset int // of its first value in the network input
	Width  int // number of values there
	// Mean and SD are those of a number, of each element of a vector, or of each channel of an image or volume; SD 0
	// marks a constant, whose standardized value is 0. A category has none.
	Mean, SD []float64
	// Missing reports whether the last value of the feature indicates a missing value, or for Codes whether code 1
	// does.
	Missing bool
	// Knots and Scores are values of a number, increasing, and their normal scores, between which scores are interpolated;
	// ScoreAt is where the score is in the network input. They are empty without scores.
	Knots, Scores []float32
	ScoreAt       int
}

// Encoded describes the conversion of each feature, in the order of [Transform.Schema].
func (t *Transform) Encoded() []Encoded {
	offsets, list := t.offsets(), make([]Encoded, len(t.features))
	for i := range t.features {
		p := &t.features[i]
		list[i] = Encoded{Feature: p.Feature, Input: p.input(), Offset: offsets[i], Width: p.width(),
			Mean: slices.Clone(p.Mean), SD: slices.Clone(p.SD), Missing: p.Missing, Knots: slices.Clone(p.Knots), Scores: slices.Clone(p.Scores)}
	}
	for k, i := range t.scored() {
		list[i].ScoreAt = t.Plain() + k
	}
	return list
}

// MissingLevel is the code of a missing value in [Feature.Spellings].
const MissingLevel = -2

// Spellings returns texts that are read as values of a categorical feature, each once: its levels, the usual spellings
// of booleans if levels are booleans, and those of a missing value. codes are indices of levels, or MissingLevel. All
// other texts are unknown levels.
func (p Feature) Spellings() (texts []string, codes []int) {
	index := newLevelIndex(p.Levels, true)
	for i, l := range p.Levels {
		texts, codes = append(texts, l), append(codes, i)
	}
	for _, s := range []string{"true", "false", "True", "False", "TRUE", "FALSE", "1", "0", "1.0", "0.0"} {
		if _, level := index.codes[s]; !level && index.code(s) >= 0 {
			texts, codes = append(texts, s), append(codes, int(index.code(s)))
		}
	}
	for _, s := range append([]string{""}, table.FeatureNA...) {
		if _, level := index.codes[s]; !level {
			texts, codes = append(texts, s), append(codes, MissingLevel)
		}
	}
	return texts, codes
}

// JudgeShares describes the inputs for the shares of judges per label.
type JudgeShares struct {
	Offset   int // of the first share in the network input
	Mean, SD []float64
	Votes    []JudgeVote
}

// JudgeVote describes how the vote of a judge is read.
type JudgeVote struct {
	Feature int // its index in [Transform.Schema]
	// Labels has the label of each level, −1 for none, if the vote is a category; else Values has the number that is
	// the vote for each label, NaN for none.
	Labels []int32
	Values []float32
}

// JudgeShares returns the description of the shares of judges, nil if there are none.
func (t *Transform) JudgeShares() *JudgeShares {
	if t.shares == nil {
		return nil
	}
	s := &JudgeShares{Offset: t.sharesAt(), Mean: slices.Clone(t.shares.Mean), SD: slices.Clone(t.shares.SD)}
	schema, places := t.Schema(), make([]int, len(t.features))
	for i := range places {
		places[i] = i
	}
	for _, v := range t.shares.judgeVotes(schema, places) {
		vote := JudgeVote{Feature: v.from, Labels: v.labels}
		if v.values != nil {
			vote.Values = make([]float32, len(t.shares.Labels))
			for i := range vote.Values {
				vote.Values[i] = float32(math.NaN())
			}
			for x, i := range v.values {
				vote.Values[i] = x
			}
		}
		s.Votes = append(s.Votes, vote)
	}
	return s
}
