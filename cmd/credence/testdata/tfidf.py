"""TF-IDF logistic regressions on the shares of votes, the reference of TestCollections.

Reads {"train": [...], "test": [...], "meta": [...]}, prints the cross-entropy per test vote of each.
"""
import json
import sys
import warnings

import numpy as np
from scipy.sparse import hstack
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

warnings.filterwarnings("ignore")
data = json.load(sys.stdin)
train, test, meta = data["train"], data["test"], data["meta"]


def votes(items):
    return np.array([item["counts"] for item in items], float)


def fit(x, counts, penalty):
    """A logistic regression on votes: each item once per class, weighted by its votes."""
    n = x.shape[0]
    rows, labels = np.r_[np.arange(n), np.arange(n)], np.r_[np.zeros(n), np.ones(n)]
    weights = np.r_[counts[:, 0], counts[:, 1]]
    keep = weights > 0
    model = LogisticRegression(C=penalty, max_iter=2000)
    return model.fit(x[rows[keep]], labels[keep], weights[keep])


def loss(model, x, counts):
    p = np.clip(model.predict_proba(x), 1e-9, 1)
    return -(counts * np.log(p)).sum() / counts.sum()


def features(kind, joined):
    """Words and pairs of words, or runs of two to four characters, of the texts joined or apart."""
    options = dict(analyzer="word", ngram_range=(1, 2), min_df=2, sublinear_tf=True)
    if kind == "characters":
        options = dict(analyzer="char_wb", ngram_range=(2, 4), min_df=2, sublinear_tf=True)
    blocks = []
    parts = range(1) if joined else range(len(train[0]["texts"]))
    for part in parts:
        text = lambda item: " ".join(item["texts"]) if joined else item["texts"][part]
        try:
            v = TfidfVectorizer(**options).fit([text(i) for i in train])
        except ValueError:  # no words
            continue
        blocks.append([v.transform([text(i) for i in items]) for items in (train, test)])
    if meta:
        v = DictVectorizer().fit([{m: i[m] for m in meta} for i in train])
        blocks.append([v.transform([{m: i[m] for m in meta} for i in items]) for items in (train, test)])
    return [hstack([b[k] for b in blocks]).tocsr() for k in (0, 1)] if blocks else None


losses = {}
for kind in ("words", "characters"):
    for joined in (True, False):
        made = features(kind, joined)
        if made is None:
            continue
        x, new = made
        y = votes(train)
        best = None
        for penalty in (0.03, 0.1, 0.3, 1, 3, 10):
            total = 0.0
            for a, b in KFold(5, shuffle=True, random_state=0).split(x):
                total += loss(fit(x[a], y[a], penalty), x[b], y[b]) * y[b].sum()
            if best is None or total < best[0]:
                best = (total, penalty)
        losses[kind + (" joined" if joined else " apart")] = loss(fit(x, y, best[1]), new, votes(test))
print(json.dumps(losses))
