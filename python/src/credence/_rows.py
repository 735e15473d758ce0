"""Votes by the rows of X, and which row of X a row of something else belongs to."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ._errors import FileError, InputError
from ._folder import Folder
from ._items import free_name

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

    def take(self, rows: np.ndarray[Any, Any]) -> Votes:
        """Returns the votes on the given rows, which may repeat. Single votes keep the order in which they were given."""
        if self.counts is not None:
            return replace(self, n=len(rows), counts=self.counts[rows])
        assert self.item is not None and self.label is not None and self.rater is not None
        by_item = np.argsort(self.item, kind="stable")
        starts = np.searchsorted(self.item[by_item], np.arange(self.n + 1))
        sizes = np.diff(starts)[rows]
        within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        vote = by_item[np.repeat(starts[:-1][rows], sizes) + within]
        order = np.argsort(vote, kind="stable")
        vote = vote[order]
        item = np.repeat(np.arange(len(rows)), sizes)[order]
        return replace(self, n=len(rows), item=item, rater=[self.rater[i] for i in vote], label=self.label[vote])

    def relabel(self, classes: Sequence[Any] | None) -> Votes:
        """Returns the votes with the classes of a model, which may be more or in another order."""
        if classes is None:
            return self
        labels, at = labels_of(self.classes, classes, "class")
        to = np.array([at[c] for c in self.classes], np.int64)
        if self.counts is None:
            return replace(self, classes=labels, label=to[self.label])
        counts = np.zeros((self.n, len(labels)))
        counts[:, to] = self.counts
        return replace(self, classes=labels, counts=counts)

    def write(self, folder: Folder, name: str = "votes") -> tuple[str, dict[str, object]]:
        """Writes votes into a folder; returns the file and how it is to be read."""
        path = folder / f"{name}.csv"
        names = self.names
        options: dict[str, object]
        try:
            with open(path, "w", newline="", encoding="utf-8") as f:
                w = csv.writer(f, quoting=csv.QUOTE_NONNUMERIC)
                if self.counts is not None:
                    item = free_name("item", names)
                    w.writerow([item, *names])
                    counts = self.counts
                    table = counts.astype(np.int64) if (counts == np.round(counts)).all() else counts
                    f.writelines(f"{i},{','.join(map(repr, row))}\n" for i, row in enumerate(table.tolist()))
                    options = {"votes-form": "counts", "votes-item": item, "vote-columns": names}
                else:
                    assert self.item is not None and self.label is not None and self.rater is not None
                    w.writerow(["item", "rater", "label"])
                    w.writerows(
                        (i, r, names[k]) for i, r, k in zip(self.item.tolist(), self.rater, self.label.tolist())
                    )
                    options = {"votes-form": "long", "votes-item": "item", "rater": "rater", "label": "label"}
        except OSError as e:
            raise FileError(
                f"writing votes to {path}: {e.strerror or e}", "the environment variable TMPDIR names another place"
            ) from e
        return str(path), options


class ItemVotes:
    """The votes on one item, as cells of the array that `credence.align` returns."""

    __slots__ = ("_row", "_votes", "name")

    def __init__(self, votes: Votes, row: int, name: Any) -> None:
        self._votes, self._row = votes, row
        self.name = name  # of the row in the index that align was given; None if it was no index of a frame

    def __repr__(self) -> str:
        one = self._votes.take(np.array([self._row]))
        if one.counts is not None:
            cast = [f"{c!r}: {n:g}" for c, n in zip(one.classes, one.counts[0]) if n]
        else:
            assert one.rater is not None and one.label is not None
            cast = [f"{r}: {one.classes[k]!r}" for r, k in zip(one.rater, one.label.tolist())]
        return f"ItemVotes({', '.join(cast)})"


def pack(votes: Votes, names: Sequence[Any] | None) -> np.ndarray[Any, Any]:
    """Returns an array of shape (n, classes, 1), all cells of a row being the ItemVotes of that row.

    scikit-learn takes arrays of one or two axes for labels: it sorts them to see whether to stratify, and
    cross_val_predict numbers their values. Arrays of three axes it only indexes, and the second axis is
    where cross_val_predict looks up the number of classes.
    """
    cells = np.empty((votes.n, len(votes.classes), 1), dtype=object)
    for i in range(votes.n):
        cells[i] = ItemVotes(votes, i, None if names is None else names[i])
    return cells


def is_packed(votes: Any) -> bool:
    """Reports whether votes are what pack returns, or rows of it."""
    return isinstance(votes, np.ndarray) and votes.dtype == object and votes.size > 0 and isinstance(votes.flat[0], ItemVotes)


def unpack(cells: np.ndarray[Any, Any]) -> tuple[Votes, list[Any] | None]:
    """Returns the votes that pack took, of the rows that are left, and the names of these rows."""
    rows: list[ItemVotes] = cells.reshape(len(cells), -1)[:, 0].tolist()
    votes = rows[0]._votes
    if any(r._votes is not votes for r in rows):
        raise InputError("votes come from several calls of credence.align", "align all votes in one call, then split them")
    names = [r.name for r in rows]
    return votes.take(np.array([r._row for r in rows], np.int64)), None if names[0] is None else names


def index_of(x: Any) -> Any:
    """Returns the index of a frame or column of pandas; None of anything else."""
    return x.index if hasattr(x, "iloc") and hasattr(x, "index") else None


def names_of(index: Any) -> list[Any]:
    """Returns the names in an index, as objects of Python."""
    for method in ("to_pylist", "tolist"):
        if hasattr(index, method):
            index = getattr(index, method)()
    return [plain_value(k) for k in index]


def order(theirs: Any, ours: Any, what: str) -> np.ndarray[Any, Any] | None:
    """Returns the rows of something indexed in the order of X.

    Parameters
    ----------
    theirs, ours : sequence or None
        The names of its rows, and of the rows of X; None where they have none.
    what : str
        What it is, for errors.

    Returns
    -------
    array or None
        None if rows are taken by position: one of both has no names, or the names are the same in order.
    """
    if theirs is None or ours is None or len(theirs) != len(ours):
        return None  # that lengths differ is for the caller to report
    if hasattr(theirs, "equals") and theirs.equals(ours):
        return None
    found, wanted = names_of(theirs), names_of(ours)
    if found == wanted:
        return None
    for whose, names in ((what, found), ("X", wanted)):
        twice = first_twice(names)
        if twice is not None:
            raise InputError(
                f"the index of {whose} names {names[twice]!r} twice, and the rows of {what} are not in the order of X",
                "give each row a name of its own",
            )
    at = {k: i for i, k in enumerate(found)}
    missing = [k for k in wanted if k not in at]
    if missing:
        known = set(wanted)
        other = next(k for k in found if k not in known)
        raise InputError(
            f"the index of X has {missing[0]!r}, which that of {what} does not have; there is {other!r} instead "
            f"({len(missing):,} of {len(wanted):,} names differ)",
            f"both name the same items; if the rows are in the order of X: {what}.set_axis(X.index)",
        )
    return np.array([at[k] for k in wanted], np.int64)


def first_twice(names: Sequence[Any]) -> int | None:
    """Returns where the first name stands that was there before; None if all differ."""
    seen: set[Any] = set()
    for i, k in enumerate(names):
        if k in seen:
            return i
        seen.add(k)
    return None


def class_names(labels: Sequence[Any]) -> list[str]:
    """Writes labels as texts, all different and none of them a missing value."""
    names = [label_name(label) for label in labels]
    if len(set(names)) < len(names) or any(n.strip().lower() in _MISSING or n != n.strip() for n in names):
        names = [f"class {i}" if len(set(names)) < len(names) else f"{n!r}" for i, n in enumerate(names)]
    return names


def label_name(label: Any) -> str:
    """Writes a label as a text."""
    if isinstance(label, (float, np.floating)) and float(label).is_integer():
        return str(int(label))
    return str(label)


def plain_value(v: Any) -> Any:
    """Makes objects of Python of those of numpy."""
    return v.item() if isinstance(v, np.generic) else v


def labels_of(values: Sequence[Any], given: Sequence[Any] | None, what: str = "label") -> tuple[list[Any], dict[Any, int]]:
    """Returns the classes in order, and the number of each."""
    if given is not None:
        classes = [plain_value(v) for v in given]
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
        at.setdefault(label_name(c), at[c])
    for v in values:
        if v not in at:
            raise InputError(f"{what} {v!r} is not one of the classes {classes!r}")
    return classes, at
