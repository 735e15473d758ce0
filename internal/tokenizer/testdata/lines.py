"""Writes a tokenizer.json and what Hugging Face's tokenizers makes of lines in twenty scripts: lines.py FOLDER N [TOKENIZER]

FOLDER/tokenizer.json is a WordPiece tokenizer trained on the lines, or a copy of TOKENIZER; FOLDER/lines.json is a list of
[line, ids, type ids].
"""

import json
import os
import random
import shutil
import sys

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

rng = random.Random(36)

SCRIPTS = {
    "Latin": [(0x41, 0x5A), (0x61, 0x7A), (0xC0, 0x17F), (0x1E00, 0x1EFF)],
    "Greek": [(0x370, 0x3FF), (0x1F00, 0x1FFF)],
    "Cyrillic": [(0x400, 0x52F)],
    "Armenian": [(0x531, 0x58A)],
    "Hebrew": [(0x591, 0x5F4)],
    "Arabic": [(0x600, 0x6FF), (0x750, 0x77F)],
    "Devanagari": [(0x900, 0x97F)],
    "Bengali": [(0x980, 0x9FE)],
    "Gurmukhi": [(0xA01, 0xA76)],
    "Tamil": [(0xB82, 0xBFA)],
    "Telugu": [(0xC00, 0xC7F)],
    "Thai": [(0xE01, 0xE5B)],
    "Tibetan": [(0xF00, 0xFDA)],
    "Georgian": [(0x10A0, 0x10FF), (0x1C90, 0x1CBF)],
    "Hangul": [(0x1100, 0x11FF), (0xAC00, 0xD7A3)],
    "Ethiopic": [(0x1200, 0x139F)],
    "Khmer": [(0x1780, 0x17F9)],
    "Kana": [(0x3041, 0x30FF), (0xFF66, 0xFF9D)],
    "Han": [(0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0xF900, 0xFAD9)],
    "Adlam and Osage": [(0x1E900, 0x1E95F), (0x104B0, 0x104FB)],
}
BETWEEN = [" "] * 12 + [", ", ". ", "-", "'", "…", "\u00a0", "\u3000", "\t", "\n", "\u200b", "\u2028", "\x00", "\ufffd", "\x07", "?!", "«", "»", "、", "۔", "।", " 12,5 ",
                        "😀", "👩‍👩‍👧", "[SEP]", " [MASK] ", "[CLS", "[unk]", "_", "$", "€", "№", "\U000e0041", "\ue000", "İ", "ß", "ﬁ", "e\u0301\u0323"]


def line():
    """Returns a line of words of one script, now and then with a word of another, or very long."""
    names = list(SCRIPTS)
    script, out = rng.choice(names), ""
    for _ in range(rng.randint(0, 14)):
        ranges = SCRIPTS[rng.choice(names) if rng.random() < 0.1 else script]
        lo, hi = rng.choice(ranges)
        pool = [rng.randint(lo, hi) for _ in range(rng.choice([1, 2, 3, 4, 5, 6, 8, 12]))]
        word = "".join(chr(c) for c in pool)
        if rng.random() < 0.01:
            word *= 30
        out += word + rng.choice(BETWEEN)
    return out


def train(lines, lowercase):
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    t.train_from_iterator(lines, trainers.WordPieceTrainer(vocab_size=4000, limit_alphabet=2500, special_tokens=special, show_progress=False))
    if lowercase:
        t.post_processor = processors.TemplateProcessing(single="[CLS]:0 $A:0 [SEP]:0", pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
                                                         special_tokens=[(s, t.token_to_id(s)) for s in ("[CLS]", "[SEP]")])
        t.enable_truncation(40)
    else:
        t.post_processor = processors.BertProcessing(("[SEP]", t.token_to_id("[SEP]")), ("[CLS]", t.token_to_id("[CLS]")))
    return t


def main(folder, n, source="lower"):
    lines = [line() for _ in range(int(n))]
    path = os.path.join(folder, "tokenizer.json")
    if source in ("lower", "cased"):
        train(lines[: len(lines) // 2 + 1], source == "lower").save(path)
    else:
        shutil.copyfile(source, path)
    t = Tokenizer.from_file(path)
    t.no_padding()
    with open(os.path.join(folder, "lines.json"), "w", encoding="utf-8") as f:
        json.dump([[s, e.ids, e.type_ids] for s, e in ((s, t.encode(s)) for s in lines)], f)


main(*sys.argv[1:])
