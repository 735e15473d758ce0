"""Classifiers on several votes per item, with credible intervals of each class probability.

The package carries the static binary of credence and speaks to it through files,
pipes and a socket; everything that is computed is computed by the binary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._binary import binary_version, find, package_version
from ._errors import BinaryError, CredenceError, CredenceWarning, FileError, InputError

if TYPE_CHECKING:
    from . import verbs
    from ._align import align
    from ._classifier import CredenceClassifier
    from ._mixture import Mixture
    from ._parameters import Parameters

    __version__: str

__all__ = [
    "BinaryError",
    "CredenceClassifier",
    "CredenceError",
    "CredenceWarning",
    "FileError",
    "InputError",
    "Mixture",
    "Parameters",
    "align",
    "binary_version",
    "find",
    "verbs",
]

# Imported when they are asked for, so that python -m credence starts at once.
_LATER = {
    "CredenceClassifier": "_classifier",
    "Mixture": "_mixture",
    "Parameters": "_parameters",
    "align": "_align",
    "verbs": "verbs",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return package_version()
    if name in _LATER:
        from importlib import import_module

        module = import_module("." + _LATER[name], __name__)
        return module if name == "verbs" else getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
