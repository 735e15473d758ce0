"""Data that tests share, and a model that was trained on them."""

from __future__ import annotations

import os
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest

from credence import CredenceClassifier


@pytest.fixture(scope="session", autouse=True)
def own_folder(tmp_path_factory):
    """Temporary files go to a folder of the tests, so that what is left behind is seen."""
    folder = tmp_path_factory.mktemp("t")
    old = tempfile.tempdir
    tempfile.tempdir = str(folder)
    os.environ["TMPDIR"] = str(folder)
    yield folder
    tempfile.tempdir = old


def leftovers() -> list[str]:
    """Returns the temporary folders that there are."""
    return sorted(p.name for p in Path(tempfile.gettempdir()).glob("credence-py-*"))


@pytest.fixture(scope="session")
def data():
    """300 items of three features, with three votes each."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    yes = rng.binomial(3, 1 / (1 + np.exp(-2 * X[:, 0])))
    return X, np.column_stack([3 - yes, yes])


def small(**options):
    """Returns a classifier that trains in a moment."""
    return CredenceClassifier(**{"ensemble": 1, "epochs": 3, **options})


def quiet_fit(clf, *args, **options):
    """Fits without the warnings that so little training deserves."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clf.fit(*args, **options)


@pytest.fixture(scope="session")
def fitted(data):
    """A model of the data."""
    return quiet_fit(small(), *data)
