"""Classifiers on several votes per item, with credible intervals of each class probability.

The package carries the static binary of credence and speaks to it through files,
pipes and a socket; everything that is computed is computed by the binary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._binary import binary_version, find, package_version
from ._errors import BinaryError, CredenceError, CredenceWarning, FileError, InputError

if TYPE_CHECKING:
    __version__: str

__all__ = [
    "BinaryError",
    "CredenceError",
    "CredenceWarning",
    "FileError",
    "InputError",
    "binary_version",
    "find",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return package_version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
