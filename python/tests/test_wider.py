"""Pipelines, frames, asyncio, MLflow and skops."""

from __future__ import annotations

import asyncio
import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import leftovers, quiet_fit, small
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import credence
from credence import CredenceClassifier, InputError, verbs

pytestmark = pytest.mark.filterwarnings("ignore")


def test_pipeline(data):
    X, counts = data
    pipe = make_pipeline(StandardScaler(), small()).fit(X, counts)
    scaled = pipe[:-1].transform(X)
    want = pipe[-1].predict_interval(scaled, level=0.8)
    assert np.array_equal(credence.predict_interval(pipe, X, level=0.8), want)
    assert not np.array_equal(pipe[-1].predict_interval(X, level=0.8), want)  # the scaler matters
    voted = credence.predict_interval(pipe, X, votes=counts)
    assert np.array_equal(voted, pipe[-1].predict_interval(scaled, votes=counts))
    m = credence.predict_mixture(pipe, X)
    assert np.array_equal(m.alpha, pipe[-1].predict_mixture(scaled).alpha)
    plan = credence.next_votes(pipe, X, 20)
    assert np.array_equal(plan, pipe[-1].next_votes(scaled, 20)) and plan.sum() == 20
    search = GridSearchCV(pipe, {"credenceclassifier__components": [1, 2]}, cv=2).fit(X, counts)
    best = search.best_estimator_
    assert np.array_equal(credence.predict_interval(search, X), credence.predict_interval(best, X))
    assert np.array_equal(credence.predict_interval(pipe[-1], scaled, level=0.8), want)
    with pytest.raises(InputError, match="model is StandardScaler: expected a CredenceClassifier, or a Pipeline"):
        credence.predict_interval(make_pipeline(StandardScaler()), X)
    with pytest.raises(ValueError, match="not fitted"):
        credence.predict_interval(GridSearchCV(small(), {}), X)


def test_next_votes(data, fitted, tmp_path):
    X, counts = data
    plan = fitted.next_votes(X, 30, votes=counts, max_votes=2)
    assert plan.shape == (300,) and plan.max() <= 2 and plan.sum() == 30
    fitted.save(tmp_path / "run")
    np.save(tmp_path / "x.npy", X)
    listed = json.loads(verbs.next(tmp_path / "run", tmp_path / "x.npy", budget=50, json=True))["plan"]
    want = np.zeros(300, dtype=int)
    for row in listed:
        want[int(row["item"])] = row["votes"]
    assert np.array_equal(fitted.next_votes(X, 50), want)


def test_set_output(data):
    X, counts = data
    frame = pd.DataFrame(X, columns=list("abc"), index=[f"i{k}" for k in range(300)])
    clf = quiet_fit(small(), frame, pd.DataFrame(counts, columns=["no", "yes"], index=frame.index).assign(no=counts[:, 0] * 4))
    plain = clf.predict_proba(frame), clf.predict_interval(frame), clf.predict(frame), clf.next_votes(frame, 9)
    assert clf.set_output(predict="pandas") is clf
    p, ends, label, plan = clf.predict_proba(frame), clf.predict_interval(frame), clf.predict(frame), clf.next_votes(frame, 9)
    assert list(p.columns) == ["no", "yes"] and list(ends.columns) == ["lower_no", "upper_no", "lower_yes", "upper_yes"]
    for answer, want in ((p, plain[0]), (ends, plain[1].reshape(300, 4)), (label, plain[2]), (plan, plain[3])):
        assert (answer.index == frame.index).all() and np.array_equal(answer.to_numpy(), want)
    assert label.name == "predicted" and clf.next_label_value(frame).name == "next_gain"
    assert clf.predict_mixture(frame)[7].to_frame()["item"].tolist() == ["i7", "i7"]
    clf.set_output(predict="polars")
    ends = clf.predict_interval(frame)
    assert isinstance(ends, pl.DataFrame) and np.array_equal(ends.to_numpy(), plain[1].reshape(300, 4))
    assert isinstance(clf.predict(frame), pl.Series)
    # Tools of scikit-learn clone, and get arrays; a pipeline sets the output of its transformers alone.
    assert isinstance(cross_val_predict(clf, frame.to_numpy(), counts, cv=2, method="predict_proba"), np.ndarray)
    assert "_output" not in vars(clone(clf))
    pipe = make_pipeline(StandardScaler(), clf).set_output(transform="pandas")
    assert isinstance(pipe.fit(frame, counts).predict_proba(frame), pl.DataFrame)
    assert isinstance(clf.set_output(predict="default").predict_proba(frame), np.ndarray)
    assert isinstance(clf.set_output().predict_proba(frame), np.ndarray)
    with pytest.raises(InputError, match="predict='arrow': expected one of default, pandas, polars"):
        clf.set_output(predict="arrow")


def test_async(data, fitted):
    X = data[0]
    want = fitted.predict_interval(X)
    before = leftovers()

    async def ask():
        ticks = 0

        async def tick():
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0.001)

        ticker = asyncio.create_task(tick())
        async with fitted.server() as served:
            parts = await asyncio.gather(*(served.predict_interval(X[i : i + 10]) for i in range(0, 300, 10)))
            rest = await served.predict_proba(X), await served.predict(X), await served.next_label_value(X)
            m = await served.predict_mixture(X)
            with pytest.raises(InputError, match="level=95"):
                await served.predict_interval(X, level=95)
            voted = await served.predict_proba(X, votes=data[1])
            cut = asyncio.create_task(served.predict_interval(X))
            await asyncio.sleep(0)
            cut.cancel()
            with pytest.raises(asyncio.CancelledError):
                await cut
        ticker.cancel()
        return np.concatenate(parts), rest, m, voted, ticks

    ends, (p, label, value), m, voted, ticks = asyncio.run(ask())
    assert np.allclose(ends, want) and ticks > 5
    assert np.allclose(p, fitted.predict_proba(X)) and (label == fitted.predict(X)).all()
    assert np.allclose(value, fitted.next_label_value(X)) and np.allclose(m.alpha, fitted.predict_mixture(X).alpha)
    assert np.array_equal(voted, fitted.predict_proba(X, votes=data[1]))
    assert fitted._fitted.server is None and leftovers() == before


def test_server_is_the_classifier(data, fitted):
    with fitted.server() as served, served.server() as again:
        assert served is again is fitted
        assert np.allclose(served.predict_interval(data[0][:1]), fitted.predict_interval(data[0])[:1])


def test_mlflow(data, fitted, tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    import credence.mlflow as flavor

    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"file://{tmp_path}/runs")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    X, counts = data
    frame = pd.DataFrame(X, columns=list("abc"))
    clf = quiet_fit(small(), frame, counts)
    flavor.save_model(clf, tmp_path / "saved", level=0.8, input_example=frame[:3])
    model = mlflow.pyfunc.load_model(str(tmp_path / "saved"))
    for params, level in ((None, 0.8), ({"level": 0.5}, 0.5)):
        out = model.predict(frame, params=params)
        assert list(out.columns) == ["predicted", "mean_0", "mean_1", "lower_0", "upper_0", "lower_1", "upper_1"]
        ends = clf.predict_interval(frame, level=level)
        assert np.array_equal(out[["lower_0", "upper_0", "lower_1", "upper_1"]].to_numpy().reshape(300, 2, 2), ends)
        assert np.allclose(out[["mean_0", "mean_1"]], clf.predict_proba(frame), rtol=1e-12)
        assert (out["predicted"].to_numpy() == clf.predict(frame)).all()
    assert np.array_equal(flavor.load_model(str(tmp_path / "saved")).predict_proba(frame), clf.predict_proba(frame))
    assert isinstance(model.get_raw_model(), CredenceClassifier)
    assert model.metadata.signature.inputs.input_names() == ["a", "b", "c"]
    with pytest.raises(mlflow.MlflowException, match="level|schema|convert"):
        model.predict(frame, params={"level": "wide"})
    with pytest.raises(InputError, match="level=95"):
        model.predict(frame, params={"level": 95.0})
    with mlflow.start_run():
        info = flavor.log_model(clf, name="model")
    assert np.array_equal(mlflow.pyfunc.load_model(info.model_uri).predict(frame)["lower_0"], clf.predict_interval(frame)[:, 0, 0])
    with pytest.raises(InputError, match="exists already"):
        flavor.save_model(clf, tmp_path / "saved")
    with pytest.raises(InputError, match="clf is Pipeline: expected a CredenceClassifier"):
        flavor.save_model(make_pipeline(clf), tmp_path / "other")
    with pytest.raises(ValueError, match="not fitted"):
        flavor.save_model(small(), tmp_path / "other")


def test_skops(data, fitted, tmp_path):
    skops = pytest.importorskip("skops.io")
    for model in (fitted, make_pipeline(StandardScaler(), small()).fit(*data)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # filters go with a model to workers: they must not need trust
            skops.dump(model, tmp_path / "model.skops")
        untrusted = skops.get_untrusted_types(file=tmp_path / "model.skops")
        assert set(untrusted) == set(credence.skops_trusted_types)
        again = skops.load(tmp_path / "model.skops", trusted=credence.skops_trusted_types)
        assert np.array_equal(again.predict_proba(data[0]), model.predict_proba(data[0]))


def test_same_numbers_as_the_command_line(data, fitted, tmp_path):
    """Intervals bit by bit as in JSON lines; means, for which no distribution is computed, to 1e-12."""
    X = data[0]
    fitted.save(tmp_path / "run")
    np.save(tmp_path / "x.npy", X)
    verbs.predict(tmp_path / "run", tmp_path / "x.npy", output=tmp_path / "out.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    ends = np.array([[r["lower"], r["upper"]] for r in rows]).reshape(300, 2, 2)
    assert np.array_equal(fitted.predict_interval(X), ends)
    mean = np.array([r["mean"] for r in rows]).reshape(300, 2)
    assert np.allclose(fitted.predict_proba(X), mean, rtol=1e-12, atol=0)
    verbs.predict(tmp_path / "run", tmp_path / "x.npy", output=tmp_path / "out.npy")
    records = np.load(tmp_path / "out.npy")
    assert np.array_equal(records["interval"][:, :, 0], ends) and np.array_equal(records["mean"], mean)
    verbs.predict(tmp_path / "run", tmp_path / "x.npy", output=tmp_path / "mean.jsonl", only=["mean"])
    alone = [json.loads(line)["mean"] for line in (tmp_path / "mean.jsonl").read_text().splitlines()]
    assert np.array_equal(fitted.predict_proba(X), np.array(alone).reshape(300, 2))
