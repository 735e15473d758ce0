"""Votes in the order of the rows of X, in a form that scikit-learn can split."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _votes
from ._errors import InputError
from ._items import is_frame
from ._rows import index_of, names_of, pack


def align(
    votes: Any,
    index: Any,
    *,
    classes: Sequence[Any] | None = None,
    form: str | None = None,
    item: str | None = None,
    rater: str | None = None,
    label: str | None = None,
    count: str | None = None,
) -> np.ndarray[Any, Any]:
    """Put votes in the order of the rows of X, one row per item.

    What it returns is indexed as X is: `train_test_split`, `cross_val_score`, `cross_val_predict` and
    `GridSearchCV` split it, and pipelines whose steps return arrays pass it on. Votes keep their raters,
    and every part knows all classes.

    Parameters
    ----------
    votes : frame, array or list
        In any form that `fit` takes.
    index : index, frame of pandas, or sequence
        The names of the rows of X: its index (or the frame itself), or a column or list of names. For votes
        whose items are row numbers, ``range(len(X))``.
    classes : sequence, optional
        The labels in order; by default those that occur, sorted, or the columns of counts.
    form : {"long", "wide", "counts"}, optional
        The form of a frame, where it can be read in two ways.
    item, rater, label, count : str, optional
        The columns of a long frame, if they have other names.

    Returns
    -------
    array of shape (n, classes, 1)
        Its cells are objects, the same in the whole row of an item: its votes.

    Examples
    --------
    >>> long = {"item": ["b", "a", "b"], "rater": ["ann", "ann", "bob"], "label": ["yes", "no", "no"]}
    >>> import pandas as pd
    >>> y = align(pd.DataFrame(long), ["a", "b"])
    >>> y[1, 0, 0]
    ItemVotes(ann: 'yes', bob: 'no')
    >>> y[[1]].shape
    (1, 2, 1)
    """
    rows = index_of(index)  # of a frame or a column: names of the rows of X
    if rows is None and is_frame(index) or isinstance(index, (str, int)):
        raise InputError(
            f"index is {type(index).__module__}.{type(index).__name__}: expected the names of the rows of X",
            'the column that names them: credence.align(votes, X["item"])',
        )
    if rows is None and hasattr(index, "get_indexer"):  # an index is that of X
        rows = index
    names = names_of(rows if is_frame(index) else index)
    cast = _votes.read(
        votes, len(names), classes, form=form, index=names, item=item, rater=rater, label=label, count=count, warn=False
    )
    return pack(cast, None if rows is None else names_of(rows))
