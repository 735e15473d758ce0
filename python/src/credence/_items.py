"""Features as files that the binary reads: arrays as NPY, frames as Parquet or CSV."""

from __future__ import annotations

import csv
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ._errors import FileError, InputError
from ._folder import Folder

#: What names of images and volumes end with.
IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".webp", ".nii", ".nii.gz")

#: Types of elements that NPY files are read with.
_PLAIN = {"b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"}


@dataclass
class Items:
    """Features in the form that they are written in."""

    kind: str  # "array", "frame", "paths" or "texts"
    n: int
    width: int  # columns, or values of an item
    array: np.ndarray[Any, Any] | None = None
    sparse: Any = None
    columns: dict[str, Column] = field(default_factory=dict)
    index: Any = None  # names of the rows of a frame or column of pandas
    texts: list[str] | None = None  # paths or sentences

    def __len__(self) -> int:
        return self.n


@dataclass
class Column:
    """A column of a frame."""

    kind: str  # "number", "category" or "text", which the binary may take for a category
    values: Any  # numbers as float64 with NaN, else a list of str and None


def is_frame(x: object) -> bool:
    """Reports whether x is a frame of pandas, polars or pyarrow, or something like one."""
    return hasattr(x, "columns") and (hasattr(x, "iloc") or hasattr(x, "get_columns")) or _is_arrow(x)


def _is_arrow(x: object) -> bool:
    return type(x).__module__.startswith("pyarrow") and hasattr(x, "column_names")


def is_series(x: object) -> bool:
    """Reports whether x is a column of pandas or polars."""
    return hasattr(x, "to_numpy") and not hasattr(x, "columns") and not _is_arrow(x)


def is_sparse(x: object) -> bool:
    """Reports whether x is a sparse matrix of scipy."""
    return hasattr(x, "tocsr") and hasattr(x, "nnz")


def as_numpy(x: Any) -> Any:
    """Returns arrays of other libraries, and nested lists of images, as arrays of numpy; anything else as it is."""
    if isinstance(x, (list, tuple)):
        try:
            a = np.asarray(x)
        except (RuntimeError, TypeError, ValueError):
            return x  # rows of different lengths, which are refused later
        return a if a.ndim > 2 else x
    if isinstance(x, np.ndarray) or not hasattr(x, "__array__") or is_frame(x) or is_series(x) or is_sparse(x):
        return x
    try:
        return np.asarray(x)
    except (RuntimeError, TypeError, ValueError) as e:
        raise InputError(
            f"X is {type(x).__module__}.{type(x).__name__}, of which no array can be made: {e}",
            "X.detach().cpu().numpy() makes an array of a tensor of torch",
        ) from e


def read(x: Any, columns: Sequence[str] | None = None) -> Items:
    """Takes features in any of their forms.

    Parameters
    ----------
    x : array, frame, sparse matrix, list of paths or of texts
        The features, one row per item.
    columns : sequence of str, optional
        The only columns of a frame to take.
    """
    if is_frame(x):
        return _frame(x, columns)
    if is_sparse(x):
        if x.ndim != 2:
            raise InputError(f"X is a sparse array of {x.ndim} axes: expected 2, one row per item")
        return Items("array", x.shape[0], x.shape[1], sparse=x.tocsr())
    if isinstance(x, (str, bytes, os.PathLike)):
        raise InputError(
            f"X is {os.fspath(x)!r}: expected one row per item", "a single file is read by credence.verbs.train"
        )
    if is_series(x):
        items = read(x.to_numpy())
        items.index = x.index if hasattr(x, "iloc") else None
        return items
    if isinstance(x, (list, tuple)) and x and all(isinstance(e, (str, os.PathLike)) for e in x):
        return _texts([os.fspath(e) for e in x])
    if not hasattr(x, "__array__") and not hasattr(x, "__array_interface__") and not isinstance(x, (list, tuple)):
        raise InputError(f"X is {type(x).__name__}: expected an array, a frame, a sparse matrix, or a list of paths")
    try:
        a = np.asarray(x)
    except ValueError as e:
        raise InputError(f"X is no array: {e}", "rows have different lengths?") from e
    return _array(a)


def _array(a: np.ndarray[Any, Any]) -> Items:
    if a.dtype.kind == "c":
        raise InputError("Complex data not supported: X has complex numbers")
    if a.ndim == 1 and a.size and all(isinstance(e, (str, os.PathLike)) for e in a.tolist()):
        return _texts([os.fspath(e) for e in a.tolist()])
    if a.ndim < 2:
        raise InputError(
            f"Expected 2D array, got {'scalar' if a.ndim == 0 else '1D'} array instead: array={a!r:.80}.",
            "Reshape your data: X.reshape(-1, 1) if it has a single feature, X.reshape(1, -1) if it is a single item",
        )
    if a.dtype.kind in "OUS":
        return _mixed(a)
    if a.dtype.kind in "mM" or a.dtype.str[1:] not in _PLAIN:
        a = a.astype(np.float64)
    _refuse_infinities(a)
    return Items("array", a.shape[0], int(np.prod(a.shape[1:], dtype=np.int64)), array=a)


def _refuse_infinities(a: np.ndarray[Any, Any]) -> None:
    if a.dtype.kind != "f" or not a.size:
        return
    with np.errstate(all="ignore"):
        if np.isfinite(np.add.reduce(a, axis=None, dtype=np.float64)):
            return
    bad = np.isinf(a)
    if bad.any():
        at = tuple(int(i) for i in np.argwhere(bad)[0])
        raise InputError(
            f"Input X contains infinity or a value too large: X{list(at)} is {a[at]}",
            "a missing value is NaN; others are finite",
        )
    large = np.abs(a, where=~np.isnan(a), out=np.zeros(a.shape)) > np.finfo(np.float32).max
    if large.any():
        at = tuple(int(i) for i in np.argwhere(large)[0])
        raise InputError(f"Input X contains infinity or a value too large for float32: X{list(at)} is {a[at]}")


def _mixed(a: np.ndarray[Any, Any]) -> Items:
    """Takes an array of objects: numbers where all are, else columns by themselves."""
    if a.ndim != 2:
        return _array(a.astype(np.float64))
    for e in a.ravel()[:1000].tolist():
        if isinstance(e, (dict, list, tuple, set)):
            raise TypeError(
                f"X has {type(e).__name__} as an element: argument must be a string, a bytes-like object or a number"
            )
    try:
        return _array(a.astype(np.float64))
    except (ValueError, TypeError):
        pass
    items = Items("frame", a.shape[0], a.shape[1])
    for j in range(a.shape[1]):
        items.columns[f"x{j}"] = _column(a[:, j].tolist())
    return items


def _column(values: list[Any]) -> Column:
    """Takes the cells of a column: numbers where all are, else texts."""
    missing = [v is None or isinstance(v, float) and v != v or type(v).__name__ in ("NAType", "NaTType") for v in values]
    if all(m or isinstance(v, (int, float, np.number, np.bool_)) for v, m in zip(values, missing)):
        numbers = np.array([np.nan if m else float(v) for v, m in zip(values, missing)], dtype=np.float64)
        _refuse_infinities(numbers)
        return Column("number", numbers)
    return Column("text", [None if m else str(v) for v, m in zip(values, missing)])


def _texts(list_: list[str]) -> Items:
    paths = all(e.lower().endswith(IMAGES) for e in list_)
    if paths:
        for e in list_:
            if not os.path.exists(e):
                raise InputError(f"X has the path {e!r}, where there is no file")
        list_ = [os.path.abspath(e) for e in list_]
    return Items("paths" if paths else "texts", len(list_), 1, texts=list_)


def _frame(x: Any, only: Sequence[str] | None) -> Items:
    names = [str(c) for c in (x.column_names if _is_arrow(x) else x.columns)]
    twice = {n for n in names if names.count(n) > 1} if len(set(names)) != len(names) else set()
    if twice:
        raise InputError(f"X has several columns of the name {min(twice)!r}")
    index = x.index if hasattr(x, "index") and not _is_arrow(x) else None
    items = Items("frame", len(x) if not _is_arrow(x) else x.num_rows, 0, index=index)
    for j, name in enumerate(names):
        if only is None or name in only:
            items.columns[name] = _frame_column(x.iloc[:, j] if hasattr(x, "iloc") else x[name], name)
    missing = [n for n in only or () if n not in items.columns]
    if missing:
        raise InputError(f"X has no column {missing[0]!r}: the columns are {names[:20]}")
    items.width = len(items.columns)
    return items


def as_array(items: Items) -> Items:
    """Makes an array of a frame of numbers; its columns keep their names."""
    for name, c in items.columns.items():
        if c.kind != "number":
            raise InputError(f"column {name!r} of X holds texts: expected numbers, as in training")
    a = np.column_stack([c.values for c in items.columns.values()])
    return Items("array", items.n, items.width, array=a, columns=items.columns, index=items.index)


def _frame_column(c: Any, name: str) -> Column:
    kind = str(c.dtype if hasattr(c, "dtype") else c.type).lower()
    if kind.startswith(("category", "categorical", "enum", "dictionary")):
        values = c.to_pylist() if hasattr(c, "to_pylist") else c.to_list()
        return Column("category", [None if v is None or v != v else str(v) for v in values])
    if kind.startswith(("complex",)):
        raise InputError(f"Complex data not supported: column {name!r} of X has complex numbers")
    if kind.startswith(("date", "time", "duration", "period")):
        raise InputError(
            f"column {name!r} of X is of type {kind}: expected numbers, categories or texts",
            "make numbers of times, such as years or days since a date",
        )
    if kind.startswith(("int", "uint", "float", "bool", "double", "half")):
        numbers = _numbers(c)
        if numbers is not None:
            _refuse_infinities(numbers)
            return Column("number", numbers)
    return _column(list(c.to_pylist() if hasattr(c, "to_pylist") else c.to_list()))


def _numbers(c: Any) -> np.ndarray[Any, Any] | None:
    try:
        if hasattr(c, "iloc"):
            return np.asarray(c.to_numpy(dtype=np.float64, na_value=np.nan))
        if hasattr(c, "cast") and hasattr(c, "is_null") and not hasattr(c, "to_pylist"):
            import polars

            return np.asarray(c.cast(polars.Float64).fill_null(float("nan")).to_numpy(), dtype=np.float64)
        if hasattr(c, "to_pylist"):
            return np.array([np.nan if v is None else float(v) for v in c.to_pylist()], dtype=np.float64)
        return np.asarray(c, dtype=np.float64)
    except (TypeError, ValueError):
        return None


@dataclass
class Written:
    """Files of features, and how the binary is to read them."""

    files: list[str]
    options: dict[str, object]
    ids: bool  # whether they name items; else items are rows counted from 0


def write(items: Items, folder: Folder, name: str = "items", beside: dict[str, Column] | None = None) -> Written:
    """Writes features into a folder, in rows whose ids count from 0, and columns that are no features."""
    beside = beside or {}
    try:
        if items.kind == "array":
            return _write_array(items, folder, name, beside)
        if items.kind == "frame":
            return _write_frame(items, folder, name, beside)
        column = "path" if items.kind == "paths" else "text"
        assert items.texts is not None
        path = folder / f"{name}.csv"
        with open(path, "w", newline="", encoding="utf-8") as f:
            w = csv.writer(f, quoting=csv.QUOTE_ALL)
            w.writerow(["item", column, *beside])
            w.writerows(zip(range(items.n), items.texts, *(c.values for c in beside.values())))
        options: dict[str, object] = {"item": "item", "features": [column]}
        options["image-column" if items.kind == "paths" else "text"] = column if items.kind == "paths" else [column]
        return Written([str(path)], options, True)
    except OSError as e:
        raise FileError(
            f"writing features to {folder.path}: {e.strerror or e}",
            "the environment variable TMPDIR names another place",
        ) from e


def _write_array(items: Items, folder: Folder, name: str, beside: dict[str, Column]) -> Written:
    path = folder / f"{name}.npy"
    files, options = [str(path)], dict[str, object]()
    if beside:  # an array has no columns: a table before it has them
        table = Items("frame", items.n, len(beside), columns=beside)
        files.insert(0, str(_csv(table, "item", folder, "beside")))
        options["item"] = "item"
    if items.sparse is None:
        assert items.array is not None
        with open(path, "wb") as f:
            np.save(f, np.ascontiguousarray(items.array), allow_pickle=False)
        return Written(files, options, False)
    need, free = 4 * items.n * items.width, shutil.disk_usage(folder.path).free
    if need > free:
        raise InputError(
            f"X is a sparse matrix of {items.n:,} × {items.width:,}, which takes {need / 1e9:.3g} GB when written out, "
            f"and {free / 1e9:.3g} GB are free in {folder.path}",
            "reduce its columns first, for example with sklearn.decomposition.TruncatedSVD",
        )
    with open(path, "wb") as f:
        np.lib.format.write_array_header_1_0(
            f, {"descr": "<f4", "fortran_order": False, "shape": (items.n, items.width)}
        )
        for block in _dense(items.sparse, items.width):
            f.write(block.tobytes())
    return Written(files, options, False)


def _dense(matrix: Any, width: int) -> Iterator[np.ndarray[Any, Any]]:
    step = max(1, (16 << 20) // (4 * max(1, width)))
    for i in range(0, matrix.shape[0], step):
        block = np.ascontiguousarray(matrix[i : i + step].toarray(), dtype="<f4")
        if np.isinf(block).any():
            raise InputError("Input X contains infinity or a value too large for float32")
        yield block


def free_name(wanted: str, taken: Sequence[str] | set[str] | dict[str, Any]) -> str:
    """Returns a name for a column that no other has."""
    while wanted in taken:
        wanted += "_"
    return wanted


def _write_frame(items: Items, folder: Folder, name: str, beside: dict[str, Column]) -> Written:
    item = free_name("item", {*items.columns, *beside})
    options: dict[str, object] = {"item": item, "features": list(items.columns)}
    for kind, option in (("category", "categorical"), ("number", "numeric")):
        names = [n for n, c in items.columns.items() if c.kind == kind]
        if names:
            options[option] = names
    whole = Items("frame", items.n, items.width, columns={**items.columns, **beside})
    path = _parquet(whole, item, folder, name) or _csv(whole, item, folder, name)
    return Written([str(path)], options, True)


def _parquet(items: Items, item: str, folder: Folder, name: str) -> Path | None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        return None
    columns = {item: pyarrow.array(np.arange(items.n))}
    for n, c in items.columns.items():
        if c.kind == "number":
            columns[n] = pyarrow.array(c.values, from_pandas=True)
        else:
            columns[n] = pyarrow.array(c.values, type=pyarrow.string())
    path = folder / f"{name}.parquet"
    pyarrow.parquet.write_table(pyarrow.table(columns), path, compression="none")
    return path


def _csv(items: Items, item: str, folder: Folder, name: str) -> Path:
    path = folder / f"{name}.csv"
    cells: list[Sequence[object]] = [range(items.n)]
    for c in items.columns.values():
        cells.append(["" if v is None or v != v else v for v in (c.values.tolist() if c.kind == "number" else c.values)])
    with open(path, "w", newline="", encoding="utf-8") as f:
        w = csv.writer(f, quoting=csv.QUOTE_MINIMAL)
        w.writerow([item, *items.columns])
        w.writerows(zip(*cells))
    return path
