package serve

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"credence/dataset"
	"credence/predict"
)

type wordsInput struct {
	ID    string `query:"id" required:"true" doc:"id of the item"`
	Class string `query:"class" doc:"class of the probability; default the second of two classes, otherwise the predicted class"`
}

// wordEffect is a word of a text and its effect on the prediction.
type wordEffect struct {
	Word   string  `json:"word" doc:"in lower case"`
	Effect float64 `json:"effect" doc:"mean probability of the class with the word minus that without it"`
}

type textWords struct {
	Feature int          `json:"part" doc:"index of the feature, as in get-item"`
	Words   []wordEffect `json:"words" doc:"those with the largest effects, largest first"`
}

type wordsBody struct {
	Class string      `json:"class"`
	Texts []textWords `json:"texts"`
}

const (
	mostTried   = 400   // words of a text that are left out in turn
	mostMarked  = 8     // words of a text that are returned
	leastEffect = 0.005 // smaller changes of the probability are not returned
)

// wordEffects leaves each word of the texts of an item out in turn and predicts the item again, without votes.
func (p *rankedItems) wordEffects(ctx context.Context, in *wordsInput) (*wordsBody, error) {
	i, err := p.find(in.ID)
	if err != nil {
		return nil, err
	}
	out := &wordsBody{Texts: []textWords{}}
	if p.prior[i] == nil {
		return out, nil
	}
	class, err := p.focus(in.Class, p.prior[i].predicted)
	if err != nil {
		return nil, err
	}
	out.Class = p.of.model.Classes[class]
	ds, err := p.rows.dataset(i, p.ids[i])
	if err != nil {
		return nil, err
	}
	for k, f := range ds.Features {
		if f.Kind != dataset.Text || f.Texts[0] == "" {
			continue
		}
		list, err := p.leaveOut(ctx, ds, k, class)
		if err != nil {
			return nil, err
		}
		out.Texts = append(out.Texts, textWords{k, list})
	}
	return out, nil
}

// leaveOut returns the words of text feature k with the largest effects on the probability of a class.
func (p *rankedItems) leaveOut(ctx context.Context, ds *dataset.Dataset, k, class int) ([]wordEffect, error) {
	full := ds.Features[k].Texts[0]
	tokens := wordsOf(full)
	distinct := map[string]bool{}
	var list []string
	for _, t := range tokens {
		if w := t.word(full); !distinct[w] && len(list) < mostTried {
			distinct[w] = true
			list = append(list, w)
		}
	}
	column := 0
	for _, f := range ds.Features[:k] {
		column += f.Width()
	}
	width := ds.Rows.Width()
	row := ds.Rows.(*dataset.Memory).Values
	rows := &dataset.Memory{N: len(list) + 1, W: width}
	many := &dataset.Dataset{Features: slices.Clone(ds.Features), Rows: rows}
	texts := []string{full}
	for _, w := range list {
		texts = append(texts, without(full, tokens, w))
	}
	many.Features[k].Texts = texts
	for n := range texts {
		many.Items = append(many.Items, ds.Items[0])
		rows.Values = append(rows.Values, row...)
		rows.Values[n*width+column] = float32(n)
	}
	found, err := predict.New(p.of.model, predict.Options{BatchValues: batchValues}).Dataset(ctx, many)
	if err != nil {
		return nil, err
	}
	effects := []wordEffect{}
	for n, w := range list {
		a, b := &found[0], &found[n+1]
		if a.Err != nil || b.Err != nil {
			continue
		}
		if e := a.Mean[class] - b.Mean[class]; math.Abs(e) >= leastEffect {
			effects = append(effects, wordEffect{w, rounded(e, 1e4)})
		}
	}
	slices.SortStableFunc(effects, func(a, b wordEffect) int { return cmp.Compare(math.Abs(b.Effect), math.Abs(a.Effect)) })
	return effects[:min(len(effects), mostMarked)], nil
}

// token is a word of a text: its bytes.
type token struct{ begin, end int }

func (t token) word(s string) string { return strings.ToLower(s[t.begin:t.end]) }

// wordsOf returns the words of a text: runs of letters, marks and digits, or pairs of letters in scripts that do not
// separate words by spaces.
func wordsOf(s string) []token {
	var list []token
	begin, letters := -1, 0
	end := func(at int) {
		if begin >= 0 {
			list = append(list, token{begin, at})
		}
		begin, letters = -1, 0
	}
	dense := false // the current word is in a script without spaces
	for at, r := range s {
		inside := unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) || (r == '\'' || r == '’') && begin >= 0 && followed(s[at+utf8.RuneLen(r):])
		if !inside {
			end(at)
			continue
		}
		now := unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
		if begin >= 0 && (now != dense || dense && letters == 2 && !unicode.IsMark(r)) {
			end(at)
		}
		if begin < 0 {
			begin, dense = at, now
		}
		if !unicode.IsMark(r) {
			letters++
		}
	}
	end(len(s))
	return list
}

// followed reports whether a text begins with a letter.
func followed(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLetter(r)
}

// without returns a text without all occurrences of a word.
func without(s string, tokens []token, word string) string {
	var b strings.Builder
	at := 0
	for _, t := range tokens {
		if t.word(s) == word {
			b.WriteString(s[at:t.begin])
			at = t.end
		}
	}
	b.WriteString(s[at:])
	return b.String()
}
