"""Answers as frames: the rows named as those of X, the columns as those of ``credence predict --wide``."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ._errors import InputError
from ._rows import index_of

LIBRARIES = ("default", "pandas", "polars")


def library(name: str) -> Any:
    """Returns pandas or polars."""
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError as e:
        raise InputError(f"{name} is not installed", f"pip install {name}") from e


class Output:
    """What decides whether predictions are arrays or frames."""

    _output: str

    def set_output(self, *, predict: Literal["default", "pandas", "polars"] | None = None, transform: Any = None) -> Any:
        """Make predictions frames instead of arrays.

        Parameters
        ----------
        predict : {"default", "pandas", "polars"}, optional
            Arrays, or frames and series of this library; None changes nothing. Of pandas they have the
            index of X. A clone, as tools of scikit-learn make, answers with arrays.
        transform : ignored
            For pipelines, whose transformers it concerns.

        Returns
        -------
        CredenceClassifier
            Itself.
        """
        if predict is None:
            return self
        if predict not in LIBRARIES:
            raise InputError(f"predict={predict!r}: expected one of {', '.join(LIBRARIES)}")
        if predict != "default":
            library(predict)
        self._output = predict
        return self

    def _framed(self, X: Any, values: Any, names: Any) -> Any:
        """Returns predictions for X in the form of `set_output`; names is that of a series, or those of columns."""
        kind = self.__dict__.get("_output", "default")
        if kind == "default":
            return values
        return frame(kind, values, names, index_of(X))


def frame(kind: str, values: Any, names: Any, index: Any) -> Any:
    """Returns a frame of values of shape (n, …), or a series if names is a single one."""
    lib = library(kind)
    if isinstance(names, str):
        return lib.Series(values, index=index, name=names) if kind == "pandas" else lib.Series(names, values)
    table = np.asarray(values).reshape(len(values), -1)
    if kind == "pandas":
        return lib.DataFrame(table, index=index, columns=list(names))
    return lib.DataFrame({str(n): np.ascontiguousarray(table[:, j]) for j, n in enumerate(names)})
