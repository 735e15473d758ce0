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
    from ._async import AsyncClassifier
    from ._classifier import CredenceClassifier
    from ._mixture import Mixture
    from ._parameters import Parameters
    from ._pipeline import next_votes, predict_interval, predict_mixture

    __version__: str

#: Types of the package that a file of skops may contain: ``skops.io.load(path, trusted=credence.skops_trusted_types)``.
skops_trusted_types = ["credence._classifier.CredenceClassifier", "credence._run.Run"]

__all__ = [
    "AsyncClassifier",
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
    "next_votes",
    "predict_interval",
    "predict_mixture",
    "skops_trusted_types",
    "verbs",
]

# Imported when they are asked for, so that python -m credence starts at once.
_LATER = {
    "AsyncClassifier": "_async",
    "CredenceClassifier": "_classifier",
    "Mixture": "_mixture",
    "Parameters": "_parameters",
    "align": "_align",
    "next_votes": "_pipeline",
    "predict_interval": "_pipeline",
    "predict_mixture": "_pipeline",
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
