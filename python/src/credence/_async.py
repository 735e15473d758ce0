"""Predictions that are awaited, for programs of asyncio."""

from __future__ import annotations

import asyncio
import contextvars
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._classifier import CredenceClassifier

#: Requests at the same time at most; the server computes them on all cores.
_REQUESTS = 16


class AsyncClassifier:
    """What ``async with clf.server()`` gives: the predictions of a classifier, awaited.

    A request is sent by a thread of its own, so that the event loop never waits. Requests that were
    begun are finished when the block ends.

    Examples
    --------
    >>> import asyncio, warnings
    >>> import numpy as np
    >>> from credence import CredenceClassifier
    >>> X, counts = np.arange(80.0).reshape(40, 2), np.array([[2, 1], [0, 3]] * 20)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     clf = CredenceClassifier(ensemble=1, epochs=2).fit(X, counts)
    >>> async def main():
    ...     async with clf.server() as served:
    ...         return await asyncio.gather(*(served.predict_interval(X[i : i + 1]) for i in range(3)))
    >>> [ends.shape for ends in asyncio.run(main())]
    [(1, 2, 2), (1, 2, 2), (1, 2, 2)]
    """

    def __init__(self, classifier: CredenceClassifier) -> None:
        self._classifier = classifier
        self._threads = ThreadPoolExecutor(_REQUESTS, thread_name_prefix="credence")

    async def predict_proba(self, X: Any, votes: Any = None) -> Any:
        """Return what `CredenceClassifier.predict_proba` returns."""
        return await self._ask("predict_proba", X, votes=votes)

    async def predict(self, X: Any, votes: Any = None) -> Any:
        """Return what `CredenceClassifier.predict` returns."""
        return await self._ask("predict", X, votes=votes)

    async def predict_interval(self, X: Any, level: float = 0.95, votes: Any = None) -> Any:
        """Return what `CredenceClassifier.predict_interval` returns."""
        return await self._ask("predict_interval", X, level=level, votes=votes)

    async def predict_mixture(self, X: Any, votes: Any = None) -> Any:
        """Return what `CredenceClassifier.predict_mixture` returns."""
        return await self._ask("predict_mixture", X, votes=votes)

    async def next_label_value(self, X: Any, votes: Any = None) -> Any:
        """Return what `CredenceClassifier.next_label_value` returns."""
        return await self._ask("next_label_value", X, votes=votes)

    async def _ask(self, method: str, X: Any, **options: Any) -> Any:
        context = contextvars.copy_context()
        call = getattr(self._classifier, method)
        return await asyncio.get_running_loop().run_in_executor(self._threads, lambda: context.run(call, X, **options))

    async def close(self) -> None:
        """Wait for the requests that were begun."""
        await asyncio.to_thread(self._threads.shutdown)
