"""Every form of votes says the same."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import quiet_fit, small

from credence import CredenceWarning, InputError, align
from credence import _votes


def ragged(counts, labels=(0, 1)):
    return [[labels[k] for k, n in enumerate(row) for _ in range(int(n))] for row in counts]


def test_forms_agree(data, fitted):
    X, counts = data
    want = fitted.predict_proba(X)
    lists = ragged(counts)
    wide = pd.DataFrame([row + [None] * (4 - len(row)) for row in lists], columns=list("abcd"))
    for votes in (lists, np.array(lists, dtype=object) if len(set(map(len, lists))) > 1 else lists):
        assert np.array_equal(quiet_fit(small(), X, votes).predict_proba(X), want)
    for frame in (wide, pl.from_pandas(wide)):
        clf = quiet_fit(small(raters="off"), X, frame)
        assert clf.classes_.tolist() == [0, 1]
        assert np.allclose(clf.predict_proba(X), quiet_fit(small(raters="off"), X, counts).predict_proba(X), atol=0.2)
    long = pd.DataFrame(
        [(i, f"r{j}", v) for i, row in enumerate(lists) for j, v in enumerate(row)], columns=["item", "rater", "label"]
    )
    clf = quiet_fit(small(raters="on"), X, align(long, range(len(X))))
    assert clf.raters_ is not None and {r["rater"] for r in clf.raters_} == {"r0", "r1", "r2"}
    frame = pd.DataFrame(X, columns=list("xyz"), index=[f"p{i}" for i in range(len(X))])
    named = long.assign(item=[f"p{i}" for i in long["item"]])
    other = quiet_fit(small(raters="on"), frame, named)
    assert np.array_equal(other.predict_proba(frame), clf.predict_proba(X))


def test_read_forms():
    frame = pd.DataFrame({"a": ["x", None], "b": ["y", "x"]})
    v = _votes.read(frame, 2)
    assert v.classes == ["x", "y"] and v.item.tolist() == [0, 0, 1] and v.rater == ["a", "b", "b"]
    counts = pd.DataFrame({"no": [20, 1], "yes": [0, 2]})
    assert _votes.read(counts, 2).counts.tolist() == [[20, 0], [1, 2]]
    assert _votes.read(pd.DataFrame({"no": [2, 1], "yes": [0, 2]}), 2, ["no", "yes"]).counts.tolist() == [[2, 0], [1, 2]]
    times = pd.DataFrame({"item": [0, 1, 1], "label": ["n", "y", "n"], "count": [3, 1, 2]})
    assert _votes.read(times, 2, index=range(2), count="count").counts.tolist() == [[3, 0], [2, 1]]
    with pytest.raises(InputError, match="more than one way"):
        _votes.read(pd.DataFrame({"a": [0, 1], "b": [1, 1]}), 2)
    assert _votes.read(pd.DataFrame({"a": [0, 1], "b": [1, 1]}), 2, form="wide").rater == ["a", "a", "b", "b"]


def test_labels_of_any_kind(data):
    X, counts = data
    for labels in (["no", "yes, indeed"], ["NA", "b"], [False, True], [3, 10], ["ä", "日本"]):
        clf = quiet_fit(small(), X, ragged(counts, labels))
        assert clf.classes_.tolist() == sorted(labels)
        assert set(clf.predict(X).tolist()) <= set(labels)


def test_plain_labels_warn(data):
    X, counts = data
    with pytest.warns(CredenceWarning, match="one label per item"):
        clf = small().fit(X, (counts[:, 1] > 1).astype(int))
    assert (clf.predict(X) == (counts[:, 1] > 1)).mean() > 0.7


def test_groups_and_weights(data, fitted):
    X, counts = data
    grouped = quiet_fit(small(), X, counts, groups=np.arange(len(X)) // 10)
    weighted = quiet_fit(small(), X, counts, sample_weight=np.where(X[:, 1] > 0, 5.0, 0.1))
    base = fitted.predict_proba(X)
    assert b"\ngroup: group" in grouped._fitted.files["config.yaml"]
    assert not np.array_equal(grouped.predict_interval(X), fitted.predict_interval(X))  # other folds calibrate
    assert not np.array_equal(weighted.predict_proba(X), base)
    frame = pd.DataFrame({"x": X[:, 0], "c": np.where(X[:, 1] > 0, "u", "v")})
    clf = quiet_fit(small(), frame, counts, groups=np.arange(len(X)) // 10, sample_weight=np.linspace(0.5, 2, len(X)))
    assert clf.predict_proba(frame).shape == (len(X), 2)


def test_votes_in_prediction(data, fitted):
    X, _ = data
    before = fitted.predict_proba(X[:3])
    after = fitted.predict_proba(X[:3], votes=[[1, 1, 1], [], [0]])
    assert after[0, 1] > before[0, 1] and np.allclose(after[1], before[1]) and after[2, 1] < before[2, 1]
    counts = np.array([[0, 3], [0, 0], [1, 0]])
    assert np.allclose(fitted.predict_proba(X[:3], votes=counts), after)
    assert np.allclose(fitted.predict_mixture(X[:3]).update(counts).mean(), after)
    assert np.allclose(fitted.predict_mixture(X[:3], votes=counts).mean(), after)
    assert fitted.predict(X[:1], votes=[[1] * 9])[0] == 1
    with pytest.raises(InputError, match="'maybe' is not one of the classes"):
        fitted.predict(X[:1], votes=[["maybe"]])
