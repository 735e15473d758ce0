"""Predictions of a classifier within pipelines and searches of scikit-learn, which pass on only its usual methods."""

from __future__ import annotations

from typing import Any

from ._classifier import CredenceClassifier
from ._errors import InputError
from ._mixture import Mixture


def predict_interval(model: Any, X: Any, level: float = 0.95, votes: Any = None) -> Any:
    """Return the credible interval of each class probability, by a classifier or by what contains one.

    Parameters
    ----------
    model : CredenceClassifier, Pipeline or search
        Whose last step is a classifier of this package; of a search such as GridSearchCV, the best one.
    X : array, frame, …
        Features, as `model` takes them.
    level, votes
        As in `CredenceClassifier.predict_interval`.

    Returns
    -------
    array of shape (n, classes, 2)
        Lower and upper end.
    """
    clf, X = _last(model, X)
    return clf.predict_interval(X, level=level, votes=votes)


def predict_mixture(model: Any, X: Any, votes: Any = None) -> Mixture:
    """Return the distributions of the class probabilities, by a classifier or by what contains one.

    Parameters
    ----------
    model : CredenceClassifier, Pipeline or search
        As in `predict_interval`.
    X : array, frame, …
        Features, as `model` takes them.
    votes
        As in `CredenceClassifier.predict_mixture`.

    Returns
    -------
    Mixture
    """
    clf, X = _last(model, X)
    return clf.predict_mixture(X, votes=votes)


def next_votes(model: Any, X: Any, budget: int, votes: Any = None, *, max_votes: int | None = None) -> Any:
    """Allocate a budget of further votes to items, by a classifier or by what contains one.

    Parameters
    ----------
    model : CredenceClassifier, Pipeline or search
        As in `predict_interval`.
    X : array, frame, …
        Features, as `model` takes them.
    budget, votes, max_votes
        As in `CredenceClassifier.next_votes`.

    Returns
    -------
    array of int, of shape (n,)
        Further votes on each item.
    """
    clf, X = _last(model, X)
    return clf.next_votes(X, budget, votes, max_votes=max_votes)


def _last(model: Any, X: Any) -> tuple[CredenceClassifier, Any]:
    """Returns the classifier within a model, and X as the steps before it transform it."""
    while not isinstance(model, CredenceClassifier):
        if hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif hasattr(model, "steps"):
            if len(model.steps) > 1:
                X = model[:-1].transform(X)
            model = model.steps[-1][1]
        else:
            from ._base import not_fitted

            if hasattr(model, "param_grid") or hasattr(model, "param_distributions"):
                raise not_fitted(type(model).__name__)
            raise InputError(
                f"model is {type(model).__name__}: expected a CredenceClassifier, or a Pipeline or search that ends in one"
            )
    return model, X
