package tokenizer

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"credence/internal/python"
)

// check compares the tokens of the lines in a folder with those of Hugging Face's library, and returns the number of lines.
func check(t *testing.T, folder string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	tok, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := os.ReadFile(filepath.Join(folder, "lines.json"))
	if err != nil {
		t.Fatal(err)
	}
	var want [][]any
	if err := json.Unmarshal(lines, &want); err != nil {
		t.Fatal(err)
	}
	whole := func(list any) (out []int64) {
		for _, x := range list.([]any) {
			out = append(out, int64(x.(float64)))
		}
		return out
	}
	bad := 0
	for _, w := range want {
		ids, kinds := tok.Encode(w[0].(string), 0)
		if !slices.Equal(ids, whole(w[1])) || !slices.Equal(kinds, whole(w[2])) {
			if bad++; bad < 5 {
				t.Errorf("%q:\n%v, want\n%v", w[0], ids, w[1])
			}
		}
	}
	if bad > 0 {
		t.Errorf("%d of %d lines differ", bad, len(want))
	}
	return len(want)
}

// The files in testdata are those of lines.py testdata 150, with tokenizers 0.22.1.
func TestEncode(t *testing.T) {
	if n := check(t, "testdata"); n != 150 {
		t.Errorf("%d lines", n)
	}
}

// Lines in twenty scripts, for a tokenizer of lower-case and one of cased text. CREDENCE_TOKENIZER names a tokenizer.json to
// compare on as well, with ten thousand lines for each.
func TestEncodeAsTheLibrary(t *testing.T) {
	interpreter := python.Interpreter(t, "tokenizers")
	n, sources := "1000", []string{"lower", "cased"}
	if path := os.Getenv("CREDENCE_TOKENIZER"); path != "" {
		n, sources = "10000", append(sources, path)
	}
	for _, source := range sources {
		t.Run(filepath.Base(source), func(t *testing.T) {
			folder := t.TempDir()
			if out, err := exec.Command(interpreter, "testdata/lines.py", folder, n, source).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			check(t, folder)
		})
	}
}

// everyCharacter prints, for each code point, whether the library drops it from a text, splits at it or surrounds it by
// blanks, and what it becomes without accents and in lower case.
const everyCharacter = `
from tokenizers import normalizers, pre_tokenizers
off = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
steps = [normalizers.BertNormalizer(**{**off, key: True}) for key in off]
split = pre_tokenizers.BertPreTokenizer()
for code in range(0x110000):
    if not 0xd800 <= code < 0xe000:
        text = "a" + chr(code) + "b"
        out = [s.normalize_str(text) for s in steps] + ["|".join(w for w, _ in split.pre_tokenize_str(text))]
        print("%x" % code, *[x.encode().hex() for x in out])
`

// Every character is normalized as the library does it, except for one that has a decomposition only since Unicode 13.
func TestEveryCharacter(t *testing.T) {
	if os.Getenv("CREDENCE_TOKENIZER") == "" {
		t.Skip("a million characters: set CREDENCE_TOKENIZER")
	}
	out, err := exec.Command(python.Interpreter(t, "tokenizers"), "-c", everyCharacter).Output()
	if err != nil {
		t.Fatal(err)
	}
	on, off := true, false
	steps := []*normalizer{
		{CleanText: &on, Chinese: &off, StripAccents: &off, Lowercase: &off},
		{CleanText: &off, Chinese: &on, StripAccents: &off, Lowercase: &off},
		{CleanText: &off, Chinese: &off, StripAccents: &on, Lowercase: &off},
		{CleanText: &off, Chinese: &off, StripAccents: &off, Lowercase: &on},
	}
	bad := 0
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		code, err := strconv.ParseUint(fields[0], 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		text := "a" + string(rune(code)) + "b"
		var none *normalizer
		got := []string{}
		for _, s := range steps {
			got = append(got, s.apply(text))
		}
		got = append(got, strings.Join(slices.Collect(none.words(text)), "|"))
		for k, g := range got {
			if x := hex.EncodeToString([]byte(g)); x != fields[k+1] && code != 0x11938 {
				if bad++; bad < 10 {
					t.Errorf("U+%04X, step %d: %s, want %s", code, k, x, fields[k+1])
				}
			}
		}
	}
	if bad > 0 {
		t.Errorf("%d results differ", bad)
	}
}

func TestRefuse(t *testing.T) {
	valid, err := os.ReadFile("testdata/tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, want string }{
		{`"type": "WordPiece"`, `"type": "BPE"`, `model "BPE" is not supported: expected WordPiece`},
		{`"type": "BertNormalizer"`, `"type": "Sequence"`, `normalizer "Sequence" is not supported: expected BertNormalizer`},
		{`"type": "BertPreTokenizer"`, `"type": "Metaspace"`, `pre-tokenizer "Metaspace" is not supported`},
		{`"type": "TemplateProcessing"`, `"type": "RobertaProcessing"`, `post-processor "RobertaProcessing" is not supported: expected TemplateProcessing or BertProcessing`},
		{`"unk_token": "[UNK]"`, `"unk_token": "<unk>"`, `expected the unknown token "<unk>" in the vocabulary`},
		{`"max_length": 40`, `"max_length": 2`, "expected truncation to at least 3 tokens, found 2"},
		{`"direction": "Right"`, `"direction": "Left"`, "truncation to the left with stride 0 is not supported"},
		{`"lstrip": false`, `"lstrip": true`, `added token "[PAD]" is not supported`},
		{`"id": "A"`, `"id": "B"`, "expected a template of sequence A"},
		{`{`, `[`, "this is not a tokenizer"},
		{`"model": {`, `"other": {`, "expected a model of kind WordPiece, found none"},
	} {
		text := strings.Replace(string(valid), c.old, c.new, 1)
		if text == string(valid) {
			t.Errorf("no %s", c.old)
		}
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.new, err, c.want)
		}
	}
	if _, err := Parse(make([]byte, MaxSize+1)); err == nil || !strings.Contains(err.Error(), "at most 64 MB") {
		t.Error(err)
	}
}

// FuzzParse checks that no file panics, and that encodings keep to their limit.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"model":{"type":"WordPiece","unk_token":"u","vocab":{"u":0,"a":1,"##b":2}},"pre_tokenizer":{"type":"BertPreTokenizer"}}`), "ab abc [CLS] ä")
	f.Add([]byte(`{"model":{"type":"WordPiece","unk_token":"","vocab":{"":3}},"pre_tokenizer":{"type":"BertPreTokenizer"},"normalizer":{"type":"BertNormalizer"},`+
		`"post_processor":{"type":"BertProcessing","sep":["x",1],"cls":["y",2]},"added_tokens":[{"id":5,"content":"a"}],"truncation":{"max_length":4}}`), "xay\xff\x00İ")
	f.Fuzz(func(t *testing.T, file []byte, text string) {
		tok, err := Parse(file)
		if err != nil {
			return
		}
		ids, kinds := tok.Encode(text, 0)
		if len(ids) != len(kinds) || tok.Limit() > 0 && len(ids) > tok.Limit() {
			t.Errorf("%d ids, %d kinds, limit %d", len(ids), len(kinds), tok.Limit())
		}
		for _, id := range ids {
			if id < 0 && tok.MaxID() >= 0 || id > int64(tok.MaxID()) {
				t.Errorf("id %d, largest %d", id, tok.MaxID())
			}
		}
	})
}
