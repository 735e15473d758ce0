"""Booleans in all their spellings, and levels that training did not have, from a process and from a server."""

from __future__ import annotations

import contextlib
import warnings

import numpy as np
import pandas as pd
import pytest
from conftest import quiet_fit, small

from credence import CredenceClassifier, CredenceWarning, verbs


@pytest.fixture(scope="module")
def consents(data):
    X, y = data
    frame = pd.DataFrame({"x": X[:, 0].round(3), "ok": X[:, 1] > 0, "site": np.where(X[:, 2] > 0, "a", "b")})
    return frame, y + np.outer(frame["ok"], [3, 0])  # so that the boolean matters


def predicted(clf, frame, served):
    """Returns predictions, which come without a warning."""
    with clf.server() if served else contextlib.nullcontext(), warnings.catch_warnings():
        warnings.simplefilter("error", CredenceWarning)
        return clf.predict_proba(frame)


@pytest.mark.parametrize("served", [False, True])
def test_booleans(consents, tmp_path, served):
    frame, counts = consents
    frame.rename_axis("item").to_csv(tmp_path / "items.csv")  # True and False
    votes = pd.DataFrame(counts, columns=["no", "yes"]).rename_axis("item")
    votes.to_csv(tmp_path / "votes.csv")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        verbs.train(
            data=[tmp_path / "items.csv"],
            votes=[tmp_path / "votes.csv"],
            votes_form="counts",
            out=tmp_path / "run",
            epochs=3,
            ensemble=1,
        )
    clf = CredenceClassifier.load(tmp_path / "run")
    want = predicted(clf, frame.assign(ok=frame["ok"].map(str)), served)
    assert np.ptp(predicted(clf, frame.assign(x=0.0, site="a", ok=frame["ok"].map(str)), served)[:, 0]) > 0
    for kind in (bool, object, "boolean", "category", int):
        assert np.array_equal(predicted(clf, frame.assign(ok=frame["ok"].astype(kind)), served), want), kind
    assert np.array_equal(predicted(clf, frame.assign(ok=frame["ok"].map(str).str.upper()), served), want)


def test_booleans_of_python(consents, tmp_path):
    frame, counts = consents
    clf = quiet_fit(small(), frame, counts)
    clf.save(tmp_path / "run")
    frame.rename_axis("item").to_csv(tmp_path / "items.csv")
    verbs.predict(tmp_path / "run", tmp_path / "items.csv", output=tmp_path / "out.csv", wide=True, digits="full")
    got = pd.read_csv(tmp_path / "out.csv").filter(like="mean_").to_numpy()
    assert np.allclose(got, clf.predict_proba(frame), rtol=1e-12)


@pytest.mark.parametrize("served", [False, True])
def test_unknown_levels(consents, served):
    frame, counts = consents
    clf = quiet_fit(small(), frame, counts)
    with clf.server() if served else contextlib.nullcontext():
        with pytest.warns(CredenceWarning, match="300 of 300 values have a level that is not in the training data, such as \"c\"") as found:
            clf.predict_proba(frame.assign(site="c"))
    if served:
        assert found[0].filename == __file__
