"""Bad input: an exception with the cause."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from conftest import leftovers, quiet_fit, small

from credence import CredenceClassifier, InputError

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize(
    ("votes", "message"),
    [
        (np.array([[1, np.nan], [2, 0], [1, 1]]), "row 0, column 1 is nan"),
        (np.array([[1, -1], [2, 0], [1, 1]]), "row 0, column 1 is -1"),
        (np.ones((2, 2)), "X has 3 items, but there are votes on 2"),
        ([[0], [1]], "on 2"),
        ([0, 1, np.nan], "label 2 is missing"),
        ([0.5, 1.2, 3.1], "continuous"),
        ([1, 1, 1], "only one class"),
        ([[], [], []], "none"),
        (None, "requires y"),
        (np.zeros((3, 2, 2)), "shape"),
        ({"a": 1}, "dict"),
        (pd.DataFrame({"item": [0, 7], "label": [0, 1]}), "the rows of X have no names"),
    ],
)
def test_votes(votes, message):
    with pytest.raises(ValueError, match=message):
        small().fit(np.arange(6.0).reshape(3, 2), votes)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.array([[1, np.inf], [0, 1]]), "infinity"),
        (np.array([[1, 1e300], [0, 1]]), "expected values within ±3.4e38, found 1e\\+300"),
        (np.array([1.0, 2.0]), "Expected 2D array"),
        (np.zeros((2, 0)), "0 feature"),
        (np.zeros((0, 2)), "0 sample"),
        (np.array([[1j, 2], [3, 4]]), "Complex"),
        ("items.csv", "one row per item"),
        (pd.DataFrame({"t": pd.to_datetime(["2020-01-01", "2021-01-01"])}), "expected numbers, categories or texts"),
        (pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]), "several columns|unique"),
        (object(), "."),
    ],
)
def test_features(X, message):
    with pytest.raises((ValueError, TypeError), match=message):
        small().fit(X, np.array([[1, 1], [0, 2]]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epochs": 0}, "epochs"),
        ({"raters": "perhaps"}, "auto, off, on"),
        ({"network": "nonet"}, "nonet"),
        ({"network": [{"type": "nolayer"}]}, "nolayer"),
        ({"random_state": -1}, "random_state=-1"),
        ({"classes": [0, 1, 2]}, "2 columns, but there are 3 classes"),
        ({"widths": ["wide"]}, "widths"),
        ({"categorical": ["nothing"]}, "no such column|no column"),
        ({"start": "/nowhere"}, "nowhere"),
    ],
)
def test_options(options, message, data):
    frame = pd.DataFrame(data[0], columns=list("xyz"))
    with pytest.raises(InputError, match=message):
        small(**options).fit(frame, data[1])


def test_hint_is_part_of_the_message(data):
    with pytest.raises(InputError) as e:
        small(network="mpl").fit(*data)
    assert e.value.code in (1, 2) and e.value.message and str(e.value).startswith(e.value.message)


def test_other_columns(data, fitted):
    X = data[0]
    with pytest.raises(ValueError, match="X has 2 features, but CredenceClassifier is expecting 3"):
        fitted.predict(X[:, :2])
    with pytest.raises(InputError, match="votes"):
        fitted.predict(X[:3], votes=[[1]])
    with pytest.raises(InputError, match="level"):
        fitted.predict_interval(X[:3], level=95)
    with pytest.raises(ValueError, match="sample_weight|weight"):
        small().fit(*data, sample_weight=[1.0])
    with pytest.raises(ValueError, match="weight"):
        small().fit(*data, sample_weight=np.full(len(X), -1.0))
    with pytest.raises(ValueError, match="groups"):
        small().fit(*data, groups=[1])


def test_a_million_columns(data):
    """Refused or trained, but never left behind."""
    before = leftovers()
    X = scipy.sparse.csr_matrix((300_000, 1_000_000))
    with pytest.raises(InputError, match="sparse matrix of 300,000 × 1,000,000"):
        small().fit(X, np.ones((300_000, 2)))
    wide = np.zeros((4, 1_000_000), dtype="f4")
    wide[:, 0] = range(4)
    try:
        clf = quiet_fit(small(epochs=1, widths=[1], calibrate="off"), wide, np.array([[1, 1]] * 4))
        assert clf.predict_proba(wide).shape == (4, 2)
    except InputError as e:
        assert e.message
    assert leftovers()[: len(before)] == before or len(leftovers()) <= len(before) + 1


@pytest.mark.parametrize("bad", ["features", "votes", "options"])
def test_failed_refit_keeps_the_model(data, bad):
    X, counts = data
    frame = pd.DataFrame(X, columns=list("xyz"))
    clf = quiet_fit(small(), frame, counts)
    want, before = clf.predict_proba(frame), set(vars(clf))
    clf.set_params(epochs=0 if bad == "options" else 2)
    with pytest.raises(ValueError, match="infinity|votes on 2|epochs"):
        clf.fit(np.full((300, 2), np.inf if bad == "features" else 1.0), counts[:2] if bad == "votes" else counts)
    assert np.array_equal(clf.predict_proba(frame), want) and set(vars(clf)) == before
    assert clf.feature_names_in_.tolist() == ["x", "y", "z"] and clf.n_features_in_ == 3
    fresh = small()
    with pytest.raises(ValueError, match="votes on 2"):
        fresh.fit(X, counts[:2])
    assert vars(fresh).keys() == vars(small()).keys()


def test_refit_forgets_the_columns(data):
    X, counts = data
    clf = quiet_fit(small(), pd.DataFrame(X, columns=list("xyz")), counts)
    images = np.arange(300.0 * 64).reshape(300, 8, 8)
    assert not hasattr(quiet_fit(clf, images, counts), "feature_names_in_") and clf.n_features_in_ == 64


def test_load_corrupt(tmp_path, fitted):
    fitted.save(tmp_path)
    whole = {name: (tmp_path / name).read_bytes() for name in ("model.credence", "python.json", "metrics.json")}
    flipped = bytearray(whole["model.credence"])
    flipped[-100] ^= 1
    other = whole["python.json"].replace(b"0,\n  1\n", b"0,\n  2\n")
    assert other != whole["python.json"]
    for name, content, message in (
        ("model.credence", bytes(flipped), rf"reading {tmp_path}/model.credence: the file is corrupt"),
        ("model.credence", whole["model.credence"][:5000], "model.credence"),
        ("python.json", whole["python.json"][:100], "python.json: the file is corrupt"),
        ("python.json", b"{}", "python.json: the file is corrupt: KeyError"),
        ("python.json", other, r"classes \[0, 2\], but model.credence has \['0', '1'\]"),
        ("metrics.json", b"{", "metrics.json of the model is corrupt"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=message):
            CredenceClassifier.load(tmp_path)
        (tmp_path / name).write_bytes(whole[name])
    assert CredenceClassifier.load(tmp_path).classes_.tolist() == [0, 1]


def test_load_nothing(tmp_path):
    with pytest.raises(OSError, match="no such file"):
        CredenceClassifier.load(tmp_path / "none")
    with pytest.raises(OSError, match="contains no model.credence"):
        CredenceClassifier.load(tmp_path)
    (tmp_path / "model.credence").write_bytes(b"no model")
    with pytest.raises(InputError):
        CredenceClassifier.load(tmp_path)
