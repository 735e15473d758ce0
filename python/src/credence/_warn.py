"""Warnings: attributed to the caller's line, and filtered in worker processes as in the process that started them."""

from __future__ import annotations

import multiprocessing
import os
import re
import sys
import warnings
from typing import Any

from ._errors import CredenceWarning

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep

#: A filter that concerns this package: action, pattern of the message, and the name of the category.
Filter = tuple[str, "str | None", str]
_CATEGORIES: dict[str, type] = {c.__name__: c for c in CredenceWarning.__mro__ if issubclass(c, Warning)}

#: Filters of the process that sent a classifier to this worker.
_inherited: list[Filter] = []


def warn(text: str, category: type[Warning] = CredenceWarning) -> None:
    """Warns with the line of the first caller outside the package.

    Filters of this process come first, then those that came with a classifier from the parent process.
    """
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    action = None
    if _inherited and _action(_own(), text, category) is None:
        action = _action(_inherited, text, category)
    if action == "ignore":
        return
    if action == "error":
        raise category(text)
    warnings.warn(text, category, stacklevel=level)


def _action(filters: list[Filter], text: str, category: type) -> str | None:
    """Returns the action of the first filter that applies to a warning."""
    for action, message, kind in filters:
        if issubclass(category, _CATEGORIES[kind]) and (message is None or re.match(message, text, re.I)):
            return action
    return None


def _own() -> list[Filter]:
    """Returns the filters of this process that may concern this package, wherever a warning is from."""
    found: list[Filter] = []
    each: Any
    for each in warnings.filters:
        action, message, category, module, line = each
        if category in _CATEGORIES.values() and module is None and line == 0:
            found.append((action, getattr(message, "pattern", message), category.__name__))
    return found


def current() -> list[Filter]:
    """Returns the filters that a pickled classifier carries to workers."""
    return _own() + _inherited


def inherit(filters: list[Any]) -> None:
    """Takes the filters that came with a classifier, if this is a worker of another process."""
    if multiprocessing.parent_process() is not None:
        _inherited[:] = [(action, message, kind) for action, message, kind in filters]
