// Package tokenizer splits texts into the tokens that networks for language were trained with. It reads the WordPiece
// tokenizers of the BERT family from tokenizer.json, the file of Hugging Face's library tokenizers, and gives the same ids
// as that library; files with other algorithms are refused by name.
package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxSize is the size of the largest tokenizer.json that is read. Vocabularies of a hundred languages have some 3 MB.
const MaxSize = 64 << 20

// Tokenizer is a WordPiece tokenizer.
type Tokenizer struct {
	normal  *normalizer // nil if texts are taken as they are
	vocab   map[string]int32
	prefix  string // of a piece that continues a word
	unknown int32  // id of a word that has no pieces
	longest int    // bytes of the longest piece
	chars   int    // characters of the longest word that is split; others are unknown
	special []specialToken
	around  []part // what surrounds the text
	limit   int    // number of ids of an encoding, 0 for any
	pad     int32
}

// specialToken is a text that is one token wherever it occurs, before anything else is done to a text.
type specialToken struct {
	text string
	id   int32
}

// part is a token of the template around a text, or the text itself.
type part struct {
	text bool
	id   int32
	kind int32 // type id
}

// file is the part of tokenizer.json that is used. Absent parts are nil.
type file struct {
	Truncation    *truncation    `json:"truncation"`
	Padding       *padding       `json:"padding"`
	AddedTokens   []addedToken   `json:"added_tokens"`
	Normalizer    *normalizer    `json:"normalizer"`
	PreTokenizer  *component     `json:"pre_tokenizer"`
	PostProcessor *postProcessor `json:"post_processor"`
	Model         *wordPiece     `json:"model"`
}

type component struct {
	Type string `json:"type"`
}

type truncation struct {
	Direction string `json:"direction"`
	MaxLength int    `json:"max_length"`
	Stride    int    `json:"stride"`
}

type padding struct {
	PadID int32 `json:"pad_id"`
}

type addedToken struct {
	ID         int32  `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
}

type wordPiece struct {
	component
	UnkToken string           `json:"unk_token"`
	Prefix   *string          `json:"continuing_subword_prefix"`
	MaxChars *int             `json:"max_input_chars_per_word"`
	Vocab    map[string]int32 `json:"vocab"`
}

// Parse reads the content of a tokenizer.json.
func Parse(text []byte) (*Tokenizer, error) {
	if len(text) > MaxSize {
		return nil, fmt.Errorf("expected a file of at most %d MB, found %d MB", MaxSize>>20, len(text)>>20)
	}
	var kinds struct { // before the rest, whose form depends on the kinds
		Normalizer    *component `json:"normalizer"`
		PreTokenizer  *component `json:"pre_tokenizer"`
		PostProcessor *component `json:"post_processor"`
		Model         *component `json:"model"`
	}
	if err := json.Unmarshal(text, &kinds); err != nil {
		return nil, fmt.Errorf("this is not a tokenizer: %w", err)
	}
	for _, c := range []struct {
		what     string
		found    *component
		optional bool
		expected []string
	}{
		{"model", kinds.Model, false, []string{"WordPiece"}},
		{"normalizer", kinds.Normalizer, true, []string{"BertNormalizer"}},
		{"pre-tokenizer", kinds.PreTokenizer, false, []string{"BertPreTokenizer"}},
		{"post-processor", kinds.PostProcessor, true, []string{"TemplateProcessing", "BertProcessing"}},
	} {
		switch {
		case c.found == nil && c.optional:
		case c.found == nil:
			return nil, fmt.Errorf("expected a %s of kind %s, found none", c.what, c.expected[0])
		case !slices.Contains(c.expected, c.found.Type):
			return nil, fmt.Errorf("%s %q is not supported: expected %s", c.what, c.found.Type, strings.Join(c.expected, " or "))
		}
	}
	var f file
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, fmt.Errorf("this is not a tokenizer: %w", err)
	}
	return f.tokenizer()
}

// tokenizer checks the file and returns what it describes.
func (f *file) tokenizer() (*Tokenizer, error) {
	t := &Tokenizer{normal: f.Normalizer, vocab: f.Model.Vocab, prefix: "##", chars: 100}
	if f.Model.Prefix != nil {
		t.prefix = *f.Model.Prefix
	}
	if f.Model.MaxChars != nil {
		t.chars = *f.Model.MaxChars
	}
	unknown, ok := t.vocab[f.Model.UnkToken]
	if !ok {
		return nil, fmt.Errorf("expected the unknown token %q in the vocabulary of %d pieces, found none", f.Model.UnkToken, len(t.vocab))
	}
	t.unknown = unknown
	for piece, id := range t.vocab {
		t.longest = max(t.longest, len(piece))
		if id < 0 {
			return nil, fmt.Errorf("piece %q: expected an id of at least 0, found %d", piece, id)
		}
	}
	for _, a := range f.AddedTokens {
		if a.SingleWord || a.LStrip || a.RStrip || a.Normalized {
			return nil, fmt.Errorf("added token %q is not supported: expected one without single_word, lstrip, rstrip and normalized", a.Content)
		}
		if a.Content == "" || a.ID < 0 {
			return nil, fmt.Errorf("added token %q, id %d: expected a text, and an id of at least 0", a.Content, a.ID)
		}
		t.special = append(t.special, specialToken{a.Content, a.ID})
	}
	if f.Padding != nil {
		t.pad = f.Padding.PadID
	} else if id, ok := t.vocab["[PAD]"]; ok {
		t.pad = id
	}
	if err := t.setAround(f.PostProcessor); err != nil {
		return nil, err
	}
	if c := f.Truncation; c != nil {
		if c.Direction != "" && c.Direction != "Right" || c.Stride != 0 {
			return nil, fmt.Errorf("truncation to the %s with stride %d is not supported: expected one to the right", strings.ToLower(c.Direction), c.Stride)
		}
		t.limit = c.MaxLength
	}
	if t.limit < 0 || t.limit > 0 && t.limit < len(t.around) {
		return nil, fmt.Errorf("expected truncation to at least %d tokens, found %d", len(t.around), t.limit)
	}
	return t, nil
}

// postProcessor is a template around a text, of either kind.
type postProcessor struct {
	component
	Single []struct {
		SpecialToken *struct {
			ID     string `json:"id"`
			TypeID int32  `json:"type_id"`
		}
		Sequence *struct {
			ID     string `json:"id"`
			TypeID int32  `json:"type_id"`
		}
	} `json:"single"`
	SpecialTokens map[string]struct {
		IDs []int32 `json:"ids"`
	} `json:"special_tokens"`
	Sep namedID `json:"sep"`
	Cls namedID `json:"cls"`
}

// namedID is a token and its id, a list of two in JSON.
type namedID struct {
	name string
	id   int32
}

// UnmarshalJSON reads a list such as ["[SEP]", 102].
func (n *namedID) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[]any{&n.name, &n.id})
}

// setAround sets the template around a text.
func (t *Tokenizer) setAround(p *postProcessor) error {
	switch {
	case p == nil:
		t.around = []part{{text: true}}
		return nil
	case p.Type == "BertProcessing":
		if p.Cls.id < 0 || p.Sep.id < 0 {
			return errors.New("post-processor BertProcessing: expected ids of at least 0")
		}
		t.around = []part{{id: p.Cls.id}, {text: true}, {id: p.Sep.id}}
		return nil
	}
	texts := 0
	for _, s := range p.Single {
		switch {
		case s.Sequence != nil && s.Sequence.ID == "A":
			t.around = append(t.around, part{text: true, kind: s.Sequence.TypeID})
			texts++
		case s.SpecialToken != nil && len(p.SpecialTokens[s.SpecialToken.ID].IDs) > 0:
			for _, id := range p.SpecialTokens[s.SpecialToken.ID].IDs {
				t.around = append(t.around, part{id: id, kind: s.SpecialToken.TypeID})
			}
		default:
			return errors.New("post-processor: expected a template of sequence A and known special tokens")
		}
	}
	if texts != 1 {
		return fmt.Errorf("post-processor: expected a template with one sequence, found %d", texts)
	}
	return nil
}

// Limit returns the number of tokens to which texts are truncated, 0 if they are not.
func (t *Tokenizer) Limit() int { return t.limit }

// Least returns the number of tokens of an empty text: those that surround every text.
func (t *Tokenizer) Least() int { return len(t.around) - 1 }

// Pad returns the id of the token that fills up a sequence of fixed length.
func (t *Tokenizer) Pad() int32 { return t.pad }

// MaxID returns the largest id of a token.
func (t *Tokenizer) MaxID() int32 {
	most := int32(0)
	for _, id := range t.vocab {
		most = max(most, id)
	}
	for _, s := range t.special {
		most = max(most, s.id)
	}
	for _, p := range t.around {
		most = max(most, p.id)
	}
	return most
}

// Encode returns the ids of the tokens of a text, with those around it, and their type ids: at most limit, or as many as the
// file allows if limit is 0. limit is greater than Least.
func (t *Tokenizer) Encode(text string, limit int) (ids, kinds []int64) {
	if limit == 0 {
		limit = t.limit
	}
	tokens := t.tokens(text, limit)
	if limit > 0 {
		tokens = tokens[:min(len(tokens), limit-t.Least())]
	}
	for _, p := range t.around {
		if !p.text {
			ids, kinds = append(ids, int64(p.id)), append(kinds, int64(p.kind))
			continue
		}
		for _, id := range tokens {
			ids, kinds = append(ids, int64(id)), append(kinds, int64(p.kind))
		}
	}
	return ids, kinds
}

// tokens returns the tokens of a text. It may stop when there are limit of them, if limit is not 0.
func (t *Tokenizer) tokens(text string, limit int) (ids []int32) {
	text = strings.ToValidUTF8(text, "\ufffd")
	for text != "" && (limit == 0 || len(ids) < limit) {
		at, token := t.nextSpecial(text)
		for word := range t.normal.words(text[:at]) {
			if ids = t.pieces(ids, word); limit > 0 && len(ids) >= limit {
				break
			}
		}
		if text = text[at:]; text != "" {
			ids, text = append(ids, token.id), text[len(token.text):]
		}
	}
	return ids
}

// nextSpecial returns where the first special token begins, the longest of those that begin there, or the length of the
// text if there is none.
func (t *Tokenizer) nextSpecial(text string) (at int, token specialToken) {
	at = len(text)
	for _, s := range t.special {
		i := strings.Index(text[:min(len(text), at+len(s.text))], s.text)
		if i >= 0 && (i < at || i == at && len(s.text) > len(token.text)) {
			at, token = i, s
		}
	}
	return at, token
}

// pieces appends the longest pieces of a word, from its beginning, or the unknown token if there are none.
func (t *Tokenizer) pieces(ids []int32, word string) []int32 {
	if utf8.RuneCountInString(word) > t.chars {
		return append(ids, t.unknown)
	}
	begin := len(ids)
	for from := 0; from < len(word); {
		prefix := ""
		if from > 0 {
			prefix = t.prefix
		}
		to := min(len(word), from+t.longest)
		found := false
		for ; to > from; to-- {
			if to < len(word) && !utf8.RuneStart(word[to]) {
				continue
			}
			var id int32
			if id, found = t.vocab[prefix+word[from:to]]; found {
				ids = append(ids, id)
				break
			}
		}
		if !found {
			return append(ids[:begin], t.unknown)
		}
		from = to
	}
	return ids
}
