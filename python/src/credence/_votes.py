"""Votes in any of their forms, as counts or as single votes by raters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ._errors import InputError
from ._items import is_frame, is_series
from ._rows import (
    Votes,
    first_twice,
    index_of,
    is_packed,
    label_name,
    labels_of,
    names_of,
    order,
    plain_value,
    unpack,
)
from ._warn import warn as warn_caller


def _is_missing(v: Any) -> bool:
    return v is None or isinstance(v, (float, np.floating)) and bool(np.isnan(v)) or type(v).__name__ in ("NAType", "NaTType")


def read(
    votes: Any,
    n: int,
    classes: Sequence[Any] | None = None,
    *,
    form: str | None = None,
    index: Any = None,
    columns: Sequence[str] = (),
    item: Any = None,
    rater: Any = None,
    label: Any = None,
    count: Any = None,
    warn: bool = True,
) -> Votes:
    """Takes votes on n items.

    Parameters
    ----------
    votes : array, list or frame
        Counts (n × classes), a list of each item's labels, a wide frame (a column per rater, blanks where
        one did not vote), a long frame (item, rater, label), a label for each item, or what
        `credence.align` returned.
    n : int
        The number of items.
    classes : sequence, optional
        The labels in order.
    form : str, optional
        The form of a frame: long, wide or counts.
    index : sequence, optional
        The names of the rows of X. Votes that name items, too, are matched with them; others are taken
        by position.
    columns : sequence of str
        The columns of X.
    """
    if votes is None:
        raise InputError("requires y to be passed, but the target y is None", "fit(X, votes) takes votes or labels")
    if isinstance(votes, Mapping) and not is_frame(votes):
        raise InputError("votes are a dict: expected counts, lists of labels or a frame", "pandas.DataFrame(votes) makes one")
    if is_packed(votes):
        found, theirs = unpack(votes)
        _lengths(found.n, n, "votes")
        return _in_order(found.relabel(classes), theirs, index)
    if is_frame(votes):
        return _from_frame(votes, n, classes, form, index, columns, {"item": item, "rater": rater, "label": label, "count": count})
    return _in_order(_by_position(votes, n, classes, form, warn), index_of(votes), index)


def _in_order(votes: Votes, theirs: Any, index: Any) -> Votes:
    """Puts votes that were read by position in the order of the rows of X."""
    rows = order(theirs, index, "votes")
    return votes if rows is None else votes.take(rows)


def _by_position(votes: Any, n: int, classes: Sequence[Any] | None, form: str | None, warn: bool) -> Votes:
    if is_series(votes):
        votes = votes.to_numpy()
    if isinstance(votes, (list, tuple)) and any(_is_several(v) for v in votes):
        return _ragged(list(votes), n, classes)
    a = np.asarray(votes)
    if a.ndim == 1 and a.dtype == object and any(_is_several(v) for v in a):
        return _ragged(a.tolist(), n, classes)
    if a.ndim == 2 and a.shape[1] == 1 and form is None:
        if warn:
            _warn_of_column()
        a = a[:, 0]
    if a.ndim == 2:
        return _counts(a, n, classes)
    if a.ndim != 1:
        raise InputError(f"votes have the shape {a.shape}: expected one row per item")
    return _plain(a, n, classes)


def _warn_of_column() -> None:
    text = "A column-vector y was passed when a 1d array was expected: taken as one label per item"
    try:
        from sklearn.exceptions import DataConversionWarning
    except ImportError:
        warn_caller(text)
    else:
        warn_caller(text, DataConversionWarning)


def _is_several(v: Any) -> bool:
    return isinstance(v, (list, tuple, set, frozenset, np.ndarray)) or is_series(v)


def _lengths(found: int, n: int, what: str) -> None:
    if found != n:
        raise InputError(f"X has {n:,} items, but there are {what} on {found:,}: inconsistent numbers of samples")


def _plain(a: np.ndarray[Any, Any], n: int, classes: Sequence[Any] | None) -> Votes:
    _lengths(len(a), n, "labels")
    values = a.tolist()
    if any(_is_missing(v) for v in values):
        at = next(i for i, v in enumerate(values) if _is_missing(v))
        raise InputError(f"Input y contains NaN: label {at} is missing", "votes may be missing: give them as a list of lists")
    if a.dtype.kind == "c":
        raise InputError("Complex data not supported: y has complex numbers")
    if a.dtype.kind == "f" and classes is None:
        if np.isinf(a).any():
            raise InputError("Input y contains infinity or a value too large")
        if (a != np.round(a)).any():
            raise InputError(
                f"Unknown label type: continuous. Label {a[a != np.round(a)][0]} is no class", "fractions of votes are counts"
            )
    names, at_ = labels_of([plain_value(v) for v in values], classes)
    codes = np.fromiter((at_[plain_value(v)] for v in values), np.int64, n)
    counts = np.zeros((n, len(names)))
    counts[np.arange(n), codes] = 1
    return Votes(n, names, counts=counts, plain=True)


def _counts(a: np.ndarray[Any, Any], n: int, classes: Sequence[Any] | None) -> Votes:
    _lengths(a.shape[0], n, "votes")
    try:
        counts = a.astype(np.float64)
    except (TypeError, ValueError) as e:
        raise InputError(
            f"votes are a matrix of {a.dtype}: expected counts, a column per class",
            "one column per rater is a frame: pandas.DataFrame(votes)",
        ) from e
    if not np.isfinite(counts).all():
        at = np.argwhere(~np.isfinite(counts))[0]
        raise InputError(
            f"votes are counts, but row {at[0]}, column {at[1]} is {counts[tuple(at)]}",
            "one column per rater, with blanks, is a frame: pandas.DataFrame(votes)",
        )
    if (counts < 0).any():
        at = np.argwhere(counts < 0)[0]
        raise InputError(f"votes are counts, but row {at[0]}, column {at[1]} is {counts[tuple(at)]}: expected at least 0")
    labels = list(range(counts.shape[1])) if classes is None else [plain_value(c) for c in classes]
    if len(labels) != counts.shape[1]:
        raise InputError(f"votes have {counts.shape[1]} columns, but there are {len(labels)} classes: {labels!r}")
    return Votes(n, labels, counts=counts)


def _ragged(rows: list[Any], n: int, classes: Sequence[Any] | None) -> Votes:
    _lengths(len(rows), n, "votes")
    flat, item = [], []
    for i, row in enumerate(rows):
        if _is_missing(row):
            continue
        for v in row if _is_several(row) else [row]:
            if not _is_missing(v):
                flat.append(plain_value(v))
                item.append(i)
    labels, at = labels_of(flat, classes, "vote")
    counts = np.zeros((n, len(labels)))
    np.add.at(counts, (np.array(item, np.int64), np.array([at[v] for v in flat], np.int64)), 1)
    return Votes(n, labels, counts=counts)


_ITEMS = ("item", "item_id", "items", "id", "task", "task_id", "example", "example_id", "index")
_LABELS = ("label", "labels", "vote", "answer", "class", "annotation", "response", "rating")
_RATERS = ("rater", "rater_id", "worker", "worker_id", "annotator", "annotator_id", "performer", "reader", "labeler", "user")


def _named(names: list[str], wanted: Any, known: Sequence[str]) -> str | None:
    if wanted is not None:
        if str(wanted) not in names:
            raise InputError(f"votes have no column {wanted!r}: the columns are {names[:20]}")
        return str(wanted)
    lower = {c.lower(): c for c in reversed(names)}
    return next((lower[k] for k in known if k in lower), None)


def _cells(frame: Any, name: str) -> list[Any]:
    if hasattr(frame, "iloc"):
        at = [str(c) for c in frame.columns].index(name)
        return [plain_value(v) for v in frame.iloc[:, at].tolist()]
    c = frame[name]
    return list(c.to_pylist() if hasattr(c, "to_pylist") else c.to_list())


def _from_frame(
    frame: Any,
    n: int,
    classes: Sequence[Any] | None,
    form: str | None,
    index: Any,
    columns: Sequence[str],
    named: dict[str, Any],
) -> Votes:
    labels = list(frame.column_names if hasattr(frame, "column_names") else frame.columns)
    names = [str(c) for c in labels]
    twice = first_twice(names)
    if twice is not None:
        raise InputError(f"votes have several columns of the name {names[twice]!r}")
    item = _named(names, named["item"] if named["item"] is None or str(named["item"]) in names else None, _ITEMS)
    label = _named(names, named["label"], _LABELS)
    if label is None and classes is not None and item in [label_name(c) for c in classes]:
        item = None  # a class of such a name
    if form in (None, "auto"):
        if item is not None and label is not None:
            form = "long"
        else:
            form = _recognized(frame, [c for c in names if c != item], classes)
    if form == "long":
        if item is None or label is None:
            raise InputError(f"votes have the columns {names[:20]}: expected item and label", "item= and label= name them")
        _named_by_index(index, item, columns)
        return _long(frame, n, classes, index, item, label, _named(names, named["rater"], _RATERS), named["count"])
    theirs = index_of(frame)
    if item is not None:
        _named_by_index(index, item, columns)
        theirs = _cells(frame, item)
        labels.pop(names.index(item))
        names.remove(item)
    if form == "counts":
        return _in_order(_counts_by_name(frame, n, classes, labels), theirs, index)
    if form != "wide":
        raise InputError(f"votes_form={form!r}: a frame is long, wide or counts")
    return _in_order(_wide(frame, n, classes, names), theirs, index)


def _named_by_index(index: Any, item: str, columns: Sequence[str]) -> None:
    """Refuses votes that name items, where it is not certain that the rows of X are named."""
    if index is None:
        raise InputError(
            f"votes name items in their column {item!r}, but the rows of X have no names: X has no index, as an array or what a "
            "transformer in a pipeline returned",
            'set_output(transform="pandas") makes transformers keep the index of a frame; credence.align(votes, index) '
            "puts votes in the order of the rows of X, which index names",
        )
    if item in columns and getattr(index, "name", None) != item:
        raise InputError(
            f"votes name items in their column {item!r}, and X has a column of that name, which is not its index",
            f"X.set_index({item!r}) if the column names the items, X.drop(columns={item!r}) if the index does",
        )


def _counts_by_name(frame: Any, n: int, classes: Sequence[Any] | None, labels: list[Any]) -> Votes:
    """Takes counts whose columns are named as the classes, in any order."""
    if classes is None:
        classes = [plain_value(c) for c in labels]
    else:
        classes, at = labels_of([], classes)
        number = [at.get(c, at.get(label_name(c), -1)) for c in labels]
        other = [c for c, k in zip(labels, number) if k < 0]
        if other:
            raise InputError(
                f"votes have the columns {other[:20]!r}, which are no classes: expected a column for each of {classes!r}"
            )
        if sorted(number) != list(range(len(classes))):
            raise InputError(f"votes have the {len(labels)} columns {labels!r}: expected a column for each of the classes {classes!r}")
        labels = [labels[number.index(k)] for k in range(len(classes))]
    values = np.array([[np.nan if _is_missing(v) else v for v in _cells(frame, str(c))] for c in labels], dtype=object).T
    return _counts(values.reshape(-1, len(labels)), n, classes)


def _recognized(frame: Any, names: list[str], classes: Sequence[Any] | None) -> str:
    """Returns the form of a frame that is not long, by the rules of the binary."""
    if classes is not None and sorted(names) == sorted(label_name(c) for c in classes):
        return "counts"
    largest = 0.0
    for c in names:
        for v in _cells(frame, c):
            if _is_missing(v) or isinstance(v, (str, bool)) or not isinstance(v, (int, float)):
                return "wide"
            if v < 0 or v != int(v):
                largest = -np.inf
            largest = max(largest, float(v)) if largest >= 0 else largest
    if largest > 10:
        return "counts"
    raise InputError(
        f"votes in the columns {names[:20]} are whole numbers without blanks, which can be read in more than one way",
        'votes_form="wide" if columns are raters and numbers are labels, votes_form="counts" if columns are classes',
    )


def _wide(frame: Any, n: int, classes: Sequence[Any] | None, names: list[str]) -> Votes:
    item, who, said = [], [], []
    rows = None
    for c in names:
        cells = _cells(frame, c)
        rows = len(cells)
        for i, v in enumerate(cells):
            if not _is_missing(v) and v != "":
                item.append(i)
                who.append(c)
                said.append(_whole(v))
    _lengths(rows or 0, n, "votes")
    labels, at = labels_of(said, classes, "vote")
    return Votes(n, labels, item=np.array(item, np.int64), rater=who, label=np.array([at[v] for v in said], np.int64))


def _whole(v: Any) -> Any:
    """Undoes that pandas makes floats of integers where some are missing."""
    return int(v) if isinstance(v, float) and v.is_integer() else v


def _long(
    frame: Any,
    n: int,
    classes: Sequence[Any] | None,
    index: Any,
    item: str,
    label: str,
    rater: str | None,
    count: Any,
) -> Votes:
    keys = names_of(index)
    twice = first_twice(keys)
    if twice is not None:
        raise InputError(f"the index of X names the item {keys[twice]!r} twice", "give each row of X an index of its own")
    rows = {k: i for i, k in enumerate(keys)}
    at_item, said, who, unused = [], [], [], []
    raters = _cells(frame, rater) if rater is not None else None
    times = _cells(frame, str(count)) if count is not None else None
    for k, (i, v) in enumerate(zip(_cells(frame, item), _cells(frame, label))):
        if _is_missing(v) or v == "":
            continue
        if _is_missing(i):
            raise InputError(f"vote {k} of the long frame, for {v!r}, names no item: its column {item!r} is blank")
        if i not in rows:
            unused.append(i)
            continue
        for _ in range(int(times[k]) if times is not None else 1):
            at_item.append(rows[i])
            said.append(_whole(v))
            if raters is not None:
                who.append("" if _is_missing(raters[k]) else str(_whole(raters[k])))
    if unused:
        _report_unused(unused, len(at_item), keys)
    labels, at = labels_of(said, classes)
    codes = np.array([at[v] for v in said], np.int64)
    if raters is None or "" in who or times is not None:
        counts = np.zeros((n, len(labels)))
        np.add.at(counts, (np.array(at_item, np.int64), codes), 1)
        return Votes(n, labels, counts=counts)
    return Votes(n, labels, item=np.array(at_item, np.int64), rater=who, label=codes)


def _report_unused(unused: list[Any], used: int, keys: list[Any]) -> None:
    """Warns of votes on items that X does not have, as after a split; refuses them if there are no others."""
    if not used:
        raise InputError(
            f"no vote is on an item of X: votes name {unused[0]!r} ({type(unused[0]).__name__}), for example, "
            f"and the index of X {keys[0]!r} ({type(keys[0]).__name__})",
            "X.set_index(column) sets the column that names items",
        )
    warn_caller(f"{len(unused):,} of {len(unused) + used:,} votes are on items that X does not have, such as {unused[0]!r}: they are not used")
