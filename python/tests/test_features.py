"""Every form of features, from a process and from a server."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from conftest import quiet_fit, small

from credence import InputError


def same(clf, X, n=8):
    """Asserts that a server predicts what a process does."""
    cold = clf.predict_proba(X), clf.predict_interval(X, 0.9), clf.predict_mixture(X).alpha, clf.next_label_value(X)
    with clf.server():
        warm = clf.predict_proba(X), clf.predict_interval(X, 0.9), clf.predict_mixture(X).alpha, clf.next_label_value(X)
    for a, b in zip(cold, warm):
        assert np.allclose(a, b, rtol=1e-9, atol=1e-12)  # means alone are summed in another order
    return cold[0]


@pytest.fixture(scope="module")
def frame(data):
    X, _ = data
    rng = np.random.default_rng(1)
    return pd.DataFrame({
        "id": X[:, 0],
        "age": pd.array(np.where(rng.random(len(X)) < 0.1, np.nan, rng.integers(20, 80, len(X))), dtype="Float64"),
        "site": pd.Categorical(rng.choice(["a", "b", "ö, c"], len(X))),
        "sex": np.where(X[:, 2] > 0, "f", None),
        "note": [" ".join(rng.choice(["large", "small", "dark", "round", "old"], 6)) for _ in X],
        "smoker": X[:, 1] > 0,
    })  # fmt: skip


def test_frame(frame, data):
    clf = quiet_fit(small(), frame, data[1])
    assert clf.feature_names_in_.tolist() == list(frame.columns) and clf.n_features_in_ == 6
    got = same(clf, frame)
    assert np.array_equal(clf.predict_proba(pl.from_pandas(frame)), got)
    assert np.array_equal(clf.predict_proba(frame[:1]), got[:1])  # a single row, whatever it looks like
    with pytest.raises(ValueError, match="feature names"):
        clf.predict(frame.rename(columns={"age": "years"}))


def test_frame_without_pyarrow(frame, data, monkeypatch):
    import builtins

    real = builtins.__import__
    clf = quiet_fit(small(), frame, data[1])
    want = clf.predict_proba(frame)

    def without(name, *args, **options):
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    assert np.allclose(clf.predict_proba(frame), want)
    other = quiet_fit(small(), frame, data[1])
    monkeypatch.undo()
    assert np.allclose(other.predict_proba(frame), want, atol=1e-6)


def test_numbers_in_frames_are_arrays(data, fitted):
    X, counts = data
    frame = pd.DataFrame(X, columns=list("xyz"))
    clf = quiet_fit(small(), frame, counts)
    assert np.array_equal(clf.predict_proba(frame), fitted.predict_proba(X))


def test_missing_and_sparse(data):
    X, counts = data
    holes = X.copy()
    holes[::7, 1] = np.nan
    same(quiet_fit(small(), holes, counts), holes)
    sparse = scipy.sparse.csr_matrix(np.where(X > 0, X, 0))
    clf = quiet_fit(small(), sparse, counts)
    assert np.allclose(same(clf, sparse), clf.predict_proba(sparse.toarray()), atol=1e-6)


def test_dtypes(data, fitted):
    X, counts = data
    whole = np.round(X * 3)
    # Objects are columns, numbers one vector: normal scores and trees differ between them.
    want = quiet_fit(small(normal_scores="off", trees="off"), whole, counts).predict_proba(whole)
    for kind in ("i1", "i4", "i8", "f4", ">f8", "O"):
        clf = quiet_fit(small(normal_scores="off", trees="off"), whole.astype(kind), counts)
        assert np.allclose(clf.predict_proba(whole.astype(kind)), want)
    assert np.array_equal(fitted.predict_proba(np.asfortranarray(X)), fitted.predict_proba(X))
    assert np.allclose(fitted.predict_proba(X.tolist()), fitted.predict_proba(X))


def test_images_and_paths(tmp_path, data):
    from PIL import Image

    rng = np.random.default_rng(2)
    counts = data[1][:60]
    images = rng.integers(0, 255, (60, 12, 12), dtype=np.uint8)
    images[counts[:, 1] > 1, 3:9, 3:9] = 255
    clf = quiet_fit(small(epochs=2), images, counts)
    same(clf, images)
    with pytest.raises(InputError, match="was trained on"):
        clf.predict(images[:, :8])
    folder = tmp_path / "Bilder ñ"
    folder.mkdir()
    paths = [folder / f"ä {i}.png" for i in range(60)]
    for p, image in zip(paths, images):
        Image.fromarray(image).save(p)
    clf = quiet_fit(small(epochs=2), paths, counts)
    same(clf, list(map(str, paths)))
    with pytest.raises(InputError, match="no file"):
        clf.predict([folder / "none.png"])


class Tensor:
    """Stands for a tensor of torch: an array of another library, which has no methods of numpy's."""

    def __init__(self, array, requires_grad=False):
        self.array, self.requires_grad = array, requires_grad
        self.shape, self.ndim, self.dtype = array.shape, array.ndim, f"torch.{array.dtype}"

    def __len__(self):
        return len(self.array)

    def __getitem__(self, key):
        return Tensor(self.array[key])

    def __array__(self, dtype=None, copy=None):
        if self.requires_grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        return np.asarray(self.array, dtype=dtype)


def test_tensors(data):
    X, counts = data[0][:60], data[1][:60]
    images = np.random.default_rng(2).normal(size=(60, 1, 12, 12)).astype("f4")
    images[counts[:, 1] > 1, :, 3:9, 3:9] += 2
    for x in (images, X):
        want = quiet_fit(small(epochs=2), x, counts).predict_proba(x)
        clf = quiet_fit(small(epochs=2), Tensor(x), Tensor(counts))
        assert np.array_equal(same(clf, Tensor(x)), want) and np.array_equal(clf.predict_proba(x), want)
        assert np.array_equal(clf.predict_proba(Tensor(x)[:5], votes=Tensor(counts)[:5]), clf.predict_proba(x[:5], votes=counts[:5]))
        with pytest.raises(InputError, match=r"requires grad.*\n.*X.detach\(\).cpu\(\).numpy\(\)"):
            clf.predict(Tensor(x, requires_grad=True))
    lists = images.tolist()
    clf = quiet_fit(small(epochs=2), lists, counts)
    assert np.array_equal(clf.predict_proba(lists), clf.predict_proba(np.array(lists)))


def test_texts(data):
    counts = data[1]
    texts = ["good work, well done" if c[1] > 1 else "bad work, do it again" for c in counts]
    clf = quiet_fit(small(), texts, counts)
    got = same(clf, texts)
    assert ((got[:, 1] > 0.5) == (counts[:, 1] > 1)).mean() > 0.8


def test_save_and_load(frame, data, tmp_path, fitted):
    from credence import CredenceClassifier, verbs

    X, counts = data
    clf = quiet_fit(small(), frame, counts)
    clf.save(tmp_path / "Läufe" / "m")
    again = CredenceClassifier.load(tmp_path / "Läufe" / "m")
    assert np.array_equal(again.predict_proba(frame), clf.predict_proba(frame))
    assert again.get_params() == clf.get_params()
    # What the command line trained, and what it reads.
    np.save(tmp_path / "x.npy", X)
    pd.DataFrame(counts, columns=["no", "yes"]).to_csv(tmp_path / "votes.csv", index=False)
    verbs.train(
        data=tmp_path / "x.npy", votes=tmp_path / "votes.csv", votes_form="counts", out=tmp_path / "run", ensemble=1, epochs=3,
        seed=0, quiet=True,
    )  # fmt: skip
    other = CredenceClassifier.load(tmp_path / "run")
    assert other.classes_.tolist() == ["no", "yes"]
    assert np.array_equal(other.predict_proba(X), fitted.predict_proba(X))
    out = verbs.predict(tmp_path / "run", tmp_path / "x.npy", level=[0.5, 0.9], digits="full")
    assert len(out.splitlines()) == 1 + 2 * 2 * len(X)


def test_report_and_scores(data, fitted, tmp_path):
    X, counts = data
    fitted.report(tmp_path / "training.html")
    fitted.report(tmp_path / "other.html", X[:100], counts[:100])
    for args in [(), (X[:100], counts[:100])]:
        with pytest.raises(InputError, match="training.html exists already"):
            fitted.report(tmp_path / "training.html", *args)
        fitted.report(tmp_path / "training.html", *args, overwrite=True)
    assert all("<html" in (tmp_path / f).read_text() for f in ("training.html", "other.html"))
    got = fitted.evaluate(X, counts)
    assert fitted.score(X, counts) == -got["nll_per_vote"] < 0
    assert fitted.metrics_["items"] == len(X)


def test_other_methods(data):
    X, counts = data
    clf = quiet_fit(small(method="softmax"), X, counts)
    assert np.allclose(clf.predict_proba(X[:5]).sum(axis=1), 1)
    assert clf.score(X, counts) < 0
    with pytest.raises(InputError):
        clf.predict_interval(X[:5])
