"""Votes in any of their forms, as counts or as single votes by raters."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._errors import CredenceWarning, FileError, InputError
from ._folder import Folder
from ._items import free_name, is_frame, is_series

#: Spellings that the binary reads as missing.
_MISSING = {"", "na", "n/a", "#n/a", "nan", "null", "none", "<na>"}


@dataclass
class Votes:
    """Votes on n items: counts, or single votes by raters."""

    n: int
    classes: list[Any]  # labels, in their order
    counts: np.ndarray[Any, Any] | None = None  # [n, classes]
    item: np.ndarray[Any, Any] | None = None  # of single votes: rows,
    rater: list[str] | None = None  # who cast them,
    label: np.ndarray[Any, Any] | None = None  # and numbers of classes
    plain: bool = False  # one label per item, as y

    @property
    def names(self) -> list[str]:
        """The labels as the binary knows them."""
        return class_names(self.classes)


def class_names(labels: Sequence[Any]) -> list[str]:
    """Writes labels as texts, all different and none of them a missing value."""
    names = [_name(label) for label in labels]
    if len(set(names)) < len(names) or any(n.strip().lower() in _MISSING or n != n.strip() for n in names):
        names = [f"class {i}" if len(set(names)) < len(names) else f"{n!r}" for i, n in enumerate(names)]
    return names


def _name(label: Any) -> str:
    if isinstance(label, (float, np.floating)) and float(label).is_integer():
        return str(int(label))
    return str(label)


def _is_missing(v: Any) -> bool:
    return v is None or isinstance(v, (float, np.floating)) and bool(np.isnan(v)) or type(v).__name__ in ("NAType", "NaTType")


def _plainly(v: Any) -> Any:
    return v.item() if isinstance(v, np.generic) else v


def labels_of(values: Sequence[Any], given: Sequence[Any] | None, what: str = "label") -> tuple[list[Any], dict[Any, int]]:
    """Returns the classes in order, and the number of each."""
    if given is not None:
        classes = [_plainly(v) for v in given]
        if len(set(classes)) != len(classes):
            raise InputError(f"classes {classes!r} name one twice")
    else:
        found = set(values)
        try:
            classes = sorted(found)
        except TypeError:
            classes = sorted(found, key=str)
    at = {c: i for i, c in enumerate(classes)}
    for c in classes:  # labels that were read as texts
        at.setdefault(_name(c), at[c])
    for v in values:
        if v not in at:
            raise InputError(f"{what} {v!r} is not one of the classes {classes!r}")
    return classes, at


def read(
    votes: Any,
    n: int,
    classes: Sequence[Any] | None = None,
    *,
    form: str | None = None,
    index: Sequence[Any] | None = None,
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
        one did not vote), a long frame (item, rater, label), or a label for each item.
    n : int
        The number of items.
    classes : sequence, optional
        The labels in order.
    form : str, optional
        The form of a frame: long, wide or counts.
    index : sequence, optional
        The names of the items, for a long frame.
    """
    if votes is None:
        raise InputError("requires y to be passed, but the target y is None", "fit(X, votes) takes votes or labels")
    if isinstance(votes, Mapping) and not is_frame(votes):
        raise InputError("votes are a dict: expected counts, lists of labels or a frame", "pandas.DataFrame(votes) makes one")
    if is_frame(votes):
        return _from_frame(votes, n, classes, form, index, {"item": item, "rater": rater, "label": label, "count": count})
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
        warnings.warn(text, CredenceWarning, stacklevel=5)
    else:
        warnings.warn(text, DataConversionWarning, stacklevel=5)


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
    names, at_ = labels_of([_plainly(v) for v in values], classes)
    codes = np.fromiter((at_[_plainly(v)] for v in values), np.int64, n)
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
    labels = list(range(counts.shape[1])) if classes is None else [_plainly(c) for c in classes]
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
                flat.append(_plainly(v))
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
        return [_plainly(v) for v in frame.iloc[:, at].tolist()]
    c = frame[name]
    return list(c.to_pylist() if hasattr(c, "to_pylist") else c.to_list())


def _from_frame(
    frame: Any, n: int, classes: Sequence[Any] | None, form: str | None, index: Sequence[Any] | None, named: dict[str, Any]
) -> Votes:
    names = [str(c) for c in (frame.column_names if hasattr(frame, "column_names") else frame.columns)]
    item = _named(names, named["item"] if named["item"] is None or str(named["item"]) in names else None, _ITEMS)
    label = _named(names, named["label"], _LABELS)
    if form in (None, "auto"):
        if item is not None and label is not None:
            form = "long"
        else:
            form = _recognized(frame, names, classes)
    if form == "long":
        if item is None or label is None:
            raise InputError(f"votes have the columns {names[:20]}: expected item and label", "item= and label= name them")
        return _long(frame, n, classes, index, item, label, _named(names, named["rater"], _RATERS), named["count"])
    columns = [c for c in names if c != item] if item is not None and item in _ITEMS else names
    if form == "counts":
        values = np.array([[np.nan if _is_missing(v) else v for v in _cells(frame, c)] for c in columns], dtype=object).T
        return _counts(values, n, classes if classes is not None else columns)
    if form != "wide":
        raise InputError(f"votes_form={form!r}: a frame is long, wide or counts")
    return _wide(frame, n, classes, columns)


def _recognized(frame: Any, names: list[str], classes: Sequence[Any] | None) -> str:
    """Returns the form of a frame that is not long, by the rules of the binary."""
    if classes is not None and sorted(names) == sorted(_name(c) for c in classes):
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
    index: Sequence[Any] | None,
    item: str,
    label: str,
    rater: str | None,
    count: Any,
) -> Votes:
    keys = list(range(n)) if index is None else [_plainly(k) for k in index]
    rows = {k: i for i, k in enumerate(keys)}
    if len(rows) < len(keys):
        raise InputError("the index of X names an item twice", "give each row of X an index of its own")
    at_item, said, who = [], [], []
    raters = _cells(frame, rater) if rater is not None else None
    times = _cells(frame, str(count)) if count is not None else None
    for k, (i, v) in enumerate(zip(_cells(frame, item), _cells(frame, label))):
        if _is_missing(v) or v == "":
            continue
        if i not in rows:
            raise InputError(
                f"votes have an item {i!r} that X does not have",
                "items of a long frame are the index of a pandas frame, or rows of X counted from 0",
            )
        for _ in range(int(times[k]) if times is not None else 1):
            at_item.append(rows[i])
            said.append(_whole(v))
            if raters is not None:
                who.append("" if _is_missing(raters[k]) else str(_whole(raters[k])))
    labels, at = labels_of(said, classes)
    codes = np.array([at[v] for v in said], np.int64)
    if raters is None or "" in who or times is not None:
        counts = np.zeros((n, len(labels)))
        np.add.at(counts, (np.array(at_item, np.int64), codes), 1)
        return Votes(n, labels, counts=counts)
    return Votes(n, labels, item=np.array(at_item, np.int64), rater=who, label=codes)


def write(votes: Votes, folder: Folder, name: str = "votes") -> tuple[str, dict[str, object]]:
    """Writes votes into a folder; returns the file and how it is to be read."""
    path = folder / f"{name}.csv"
    names = votes.names
    options: dict[str, object]
    try:
        with open(path, "w", newline="", encoding="utf-8") as f:
            w = csv.writer(f, quoting=csv.QUOTE_NONNUMERIC)
            if votes.counts is not None:
                item = free_name("item", names)
                w.writerow([item, *names])
                counts = votes.counts
                table = counts.astype(np.int64) if (counts == np.round(counts)).all() else counts
                f.writelines(f"{i},{','.join(map(repr, row))}\n" for i, row in enumerate(table.tolist()))
                options = {"votes-form": "counts", "votes-item": item, "vote-columns": names}
            else:
                assert votes.item is not None and votes.label is not None and votes.rater is not None
                w.writerow(["item", "rater", "label"])
                w.writerows(
                    (i, r, names[k]) for i, r, k in zip(votes.item.tolist(), votes.rater, votes.label.tolist())
                )
                options = {"votes-form": "long", "votes-item": "item", "rater": "rater", "label": "label"}
    except OSError as e:
        raise FileError(
            f"writing votes to {path}: {e.strerror or e}", "the environment variable TMPDIR names another place"
        ) from e
    return str(path), options
