"""Errors cite what a caller in Python gave; warnings come once per cause and follow the caller's filters."""

from __future__ import annotations

import logging
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from conftest import quiet_fit, small
from sklearn.model_selection import GridSearchCV

from credence import CredenceClassifier, CredenceWarning, FileError, InputError, verbs


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epochs": 0}, "epochs=0: expected a whole number of at least 1"),
        ({"ensemble": 2.5}, "ensemble=2.5: expected a whole number from 1 to 1000"),
        ({"raters": "perhaps"}, "raters='perhaps': expected one of auto, off, on"),
        ({"held_out": 3}, "held_out=3: expected a share above 0, at most 0.5"),
        ({"widths": ["wide"]}, "widths='wide': expected a whole number of at least 1"),
        ({"device": "tpu"}, "device='tpu': expected auto, cpu, gpu or gpu:N"),
        ({"class_weights": [1]}, 'class_weights gives 1 weight for 2 classes ["0" "1"]: expected one for each'),
        ({"start": "/nowhere"}, "start: reading the model /nowhere: no such file or directory"),
        ({"votes_form": "tall"}, "votes_form='tall': expected one of auto, long, wide, counts, fractions"),
        ({"momentum": 0.9}, "momentum=0.9 applies to optimizer sgd, not to adamw"),
        ({"classes": 5}, "classes=5: expected a list of all labels, in order"),
        ({"classes": ["a", "a"]}, "classes=['a', 'a']: expected each label once, found 'a' twice"),
        ({"network": 5}, "network=5: expected a name, a file or a list of layers, each a dict"),
        ({"verbose": "yes"}, "verbose='yes': expected 0, 1 or None"),
    ],
)
def test_options(options, message, data):
    with pytest.raises(InputError) as e:
        small(**options).fit(*data)
    assert e.value.message == message
    assert "--" not in str(e.value) and "credence-py" not in str(e.value)


def test_levels(data, fitted):
    X = data[0][:3]
    for level in (95, "a", [0.5, 0.9], 0, 1, np.nan):
        with pytest.raises(InputError) as e:
            fitted.predict_interval(X, level=level)
        assert e.value.message == f"level={level!r}: expected one number between 0 and 1"
    assert fitted.predict_interval(X, level=np.float32(0.5)).shape == (3, 2, 2)


def test_options_of_verbs(data, fitted, tmp_path):
    with pytest.raises(InputError, match="^bootstrap=-1: expected a number of draws\nhint: help\\(credence.verbs.evaluate\\)"):
        fitted.evaluate(*data, bootstrap=-1)
    with pytest.raises(InputError, match="^unknown option depth\n"):
        fitted.evaluate(*data, depth=3)
    with pytest.raises(InputError, match="^level=95: expected a level between 0 and 1\nhint: 95% is level=0.95"):
        verbs.mixture(alpha=["2,5"], level=95)
    with pytest.raises(InputError, match="^budget=0: expected a whole number"):
        fitted.next_votes(data[0], 0)
    with pytest.raises(InputError, match="(?s)^budget=array.{0,40}: expected a whole number"):
        fitted.next_votes(data[0], data[1])
    with pytest.raises(InputError, match="^max_votes=-1"):
        fitted.next_votes(data[0], 5, max_votes=-1)
    with pytest.raises(FileError, match="^writing .*/none/page.html: No such file"):
        fitted.report(tmp_path / "none" / "page.html")


def seen(call):
    """Returns the warnings of a call, all of which it lets through."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    return found


def test_one_warning_for_one_cause(data):
    X, counts = data
    found = [str(w.message) for w in seen(lambda: small().fit(X, counts[:, 1] > 1))]
    assert len([m for m in found if "two votes" in m]) == 1, found
    assert len(set(found)) == len(found)
    frame = pd.DataFrame({"x": X[:, 0], "site": np.where(X[:, 1] > 0, "a", "b")})
    clf = quiet_fit(small(), frame, counts)
    other = frame.assign(site="c")
    for served in (False, True):
        for call in (clf.predict, clf.predict_proba, clf.predict_interval, clf.predict_mixture, clf.next_label_value):
            if served:
                with clf.server():
                    found = seen(lambda: call(other))
            else:
                found = seen(lambda: call(other))
            assert len(found) == 1 and found[0].filename == __file__, (call, [str(w.message) for w in found])


def test_warnings_are_not_logged_as_well(data, caplog):
    caplog.set_level(logging.INFO)
    assert seen(lambda: small().fit(*data))
    assert not [r for r in caplog.records if r.levelno >= logging.WARNING]


def fit_in_worker(clf, X, counts):
    """Fits in a worker of joblib, and returns the warnings that its own filters let through."""
    with warnings.catch_warnings(record=True) as found:
        clf.fit(X, counts)
    return [str(w.message) for w in found]


def test_filters_in_workers(data):
    """Workers have none of the caller's filters, unless these come with the classifier."""
    run = joblib.Parallel(n_jobs=2)
    job = joblib.delayed(fit_in_worker)

    def found(*filters, **options):
        with warnings.catch_warnings():
            warnings.resetwarnings()
            for f in filters:
                warnings.filterwarnings(*f)
            return [m for part in run(job(small(random_state=i), *data) for i in range(2)) for m in part]

    assert len(found()) >= 2
    assert found(("ignore", "", CredenceWarning)) == []
    assert found(("ignore",)) == []
    assert found(("ignore", ".* were still improving")) == [m for m in found() if "were still improving" not in m]
    with pytest.raises(CredenceWarning, match="improving|hardly determine"):
        found(("error", "", CredenceWarning))
    assert len(found()) >= 2  # nothing of it remains
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        state = small().__getstate__()
    clf = CredenceClassifier.__new__(CredenceClassifier)
    clf.__setstate__(state)  # not in a worker
    assert seen(lambda: clf.fit(*data)) and "_filters" not in vars(clf)


def test_search_is_silenced(data, capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CredenceWarning)
        GridSearchCV(small(), {"components": [1, 2]}, n_jobs=2, cv=2).fit(*data)
    assert "CredenceWarning" not in capfd.readouterr().err
