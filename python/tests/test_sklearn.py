"""What scikit-learn asks of an estimator, and what people do with one."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from conftest import quiet_fit, small
from sklearn.base import clone
from sklearn.calibration import CalibrationDisplay
from sklearn.compose import ColumnTransformer
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

pytestmark = pytest.mark.filterwarnings("ignore")


def test_check_estimator():
    """As check_estimator does, which stops at the first failure."""
    failed, passed = [], 0
    for estimator, check in estimator_checks_generator(small(epochs=20)):
        try:
            check(estimator)
            passed += 1
        except BaseException as e:
            if type(e).__name__ != "SkipTest":
                failed.append(f"{check.func.__name__}: {e}"[:300])
    assert not failed
    assert passed > 50


def test_pipeline(data):
    X, counts = data
    frame = pd.DataFrame({"x": X[:, 0], "y": X[:, 1], "c": np.where(X[:, 2] > 0, "u", "v")})
    columns = ColumnTransformer([("n", StandardScaler(), ["x", "y"]), ("c", OneHotEncoder(), ["c"])])
    pipe = make_pipeline(columns, small()).fit(frame, counts)
    assert pipe.predict_proba(frame).shape == (len(X), 2)
    assert pipe.score(frame, counts) < 0


def test_search_and_scores(data):
    X, counts = data
    search = GridSearchCV(small(), {"components": [1, 2]}, n_jobs=2, cv=2).fit(X, counts)
    assert search.best_params_["components"] in (1, 2) and np.isfinite(search.best_score_)
    assert (cross_val_score(small(), X, counts, cv=2) < 0).all()


def test_inspection(data, fitted):
    import matplotlib

    matplotlib.use("Agg")
    X, counts = data
    found = permutation_importance(fitted, X, counts, n_repeats=2, random_state=0)
    assert found.importances_mean.argmax() == 0
    y = (counts[:, 1] > 1).astype(int)
    CalibrationDisplay.from_estimator(quiet_fit(small(), X, y), X, y)


def test_copies(data, fitted):
    import cloudpickle

    X, _ = data
    want = fitted.predict_proba(X)
    for module in (pickle, cloudpickle):
        assert np.array_equal(module.loads(module.dumps(fitted)).predict_proba(X), want)
    with fitted.server():
        assert np.array_equal(pickle.loads(pickle.dumps(fitted)).predict_proba(X), want)
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params() and not hasattr(copy, "classes_")
    assert "components" in repr(small(components=2))


def test_without_sklearn(data, tmp_path):
    """The classifier works with numpy alone."""
    import subprocess
    import sys

    code = """
import sys
for name in ("sklearn", "pandas", "polars", "pyarrow", "scipy", "tqdm"):
    sys.modules[name] = None
import numpy as np, credence, warnings
warnings.simplefilter("ignore")
X = np.random.default_rng(0).normal(size=(80, 2)); c = np.array([[2, 1], [0, 3]] * 40)
clf = credence.CredenceClassifier(ensemble=1, epochs=2).fit(X, c)
assert clf.predict_interval(X).shape == (80, 2, 2) and clf.n_features_in_ == 2
assert clf.set_params(epochs=3).get_params()["epochs"] == 3
for bad in ([1, 2], [[1, 2, 3]], [[np.inf, 1]], [[]]):
    try: clf.predict(bad)
    except ValueError: continue
    raise AssertionError(bad)
try: credence.CredenceClassifier().predict(X)
except ValueError as e: assert "not fitted" in str(e)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
