"""Mixtures of Dirichlet distributions, as many as there are items; the binary computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ._binary import flags, run
from ._errors import FileError, InputError
from ._folder import Folder
from ._run import Run, load

Floats = npt.NDArray[np.float64]


class Mixture:
    """Distributions of the class probabilities of n items.

    Each is a mixture of K Dirichlet distributions over d classes, of Beta distributions if there are two.
    Everything is computed by the binary.

    Parameters
    ----------
    weights : array of shape (n, K) or (K,)
        Weights of the components; those of an item sum to one.
    alpha : array of shape (n, K, d) or (K, d)
        Parameters of the components, a number above 0 for each class.
    resolution : float, default 0
        Distance from 0 and 1 within which intervals do not end.

    Examples
    --------
    >>> m = Mixture([0.5, 0.5], [[30, 4], [3, 25]])
    >>> m.mean().round(3)
    array([[0.495, 0.505]])
    >>> m.interval(0.95).round(3)
    array([[[0.031, 0.958],
            [0.042, 0.969]]])
    >>> m.update([[2, 0]]).mean().round(3)
    array([[0.875, 0.125]])
    """

    def __init__(self, weights: npt.ArrayLike, alpha: npt.ArrayLike, resolution: float = 0.0) -> None:
        w, a = np.asarray(weights, dtype=np.float64), np.asarray(alpha, dtype=np.float64)
        if w.ndim == 1:
            w, a = w[np.newaxis], a[np.newaxis]
        if w.ndim != 2 or a.ndim != 3 or a.shape[:2] != w.shape:
            raise InputError(
                f"weights of shape {w.shape} and alpha of shape {a.shape}: expected (n, K) and (n, K, classes)"
            )
        self.weights: Floats = w
        self.alpha: Floats = a
        self.resolution = float(resolution)
        self._run: Run | None = None

    @classmethod
    def _of(cls, weights: Floats, alpha: Floats, trained: Run | None, resolution: float) -> Mixture:
        m = cls(weights, alpha, resolution)
        m._run = trained
        return m

    def __len__(self) -> int:
        return len(self.weights)

    def __repr__(self) -> str:
        n, k, d = self.alpha.shape
        return f"<Mixture: {n:,} items, {k} components, {d} classes>"

    def __getitem__(self, at: Any) -> Mixture:
        """Return the mixtures of some items: a number, a slice, numbers or a mask."""
        if isinstance(at, (int, np.integer)):
            at = [at]
        return Mixture._of(self.weights[at], self.alpha[at], self._run, self.resolution)

    def mean(self) -> Floats:
        """Return the mean of each class probability.

        Returns
        -------
        array of shape (n, classes)
        """
        return self._ask("mean")

    def variance(self) -> Floats:
        """Return the variance of each class probability.

        Returns
        -------
        array of shape (n, classes)
        """
        return self._ask("variance")

    def sd(self) -> Floats:
        """Return the standard deviation of each class probability.

        Returns
        -------
        array of shape (n, classes)
        """
        return self._ask("sd")

    def median(self) -> Floats:
        """Return the median of each class probability.

        Returns
        -------
        array of shape (n, classes)
        """
        return self._ask("median")

    def quantile(self, q: npt.ArrayLike) -> Floats:
        """Return quantiles of each class probability.

        Parameters
        ----------
        q : float or sequence of float
            Probabilities, from 0 to 1.

        Returns
        -------
        array of shape (n, classes), or (n, classes, len(q)) for several
        """
        found = self._ask("quantile", quantile=_list(q))
        return found[..., 0] if np.ndim(q) == 0 else found

    def cdf(self, x: npt.ArrayLike) -> Floats:
        """Return the probability that a class probability is at most x.

        Parameters
        ----------
        x : float or sequence of float
            From 0 to 1.

        Returns
        -------
        array of shape (n, classes), or (n, classes, len(x)) for several
        """
        found = self._ask("cdf", cdf=_list(x))
        return found[..., 0] if np.ndim(x) == 0 else found

    def interval(self, level: float = 0.95) -> Floats:
        """Return the two-sided credible interval of each class probability.

        Parameters
        ----------
        level : float, default 0.95
            The probability that it holds.

        Returns
        -------
        array of shape (n, classes, 2)
            Lower and upper end.
        """
        return self._ask("interval", level=[level])[..., 0, :]

    def top_class(self) -> Floats:
        """Return the probability of each class to be the most probable one.

        Returns
        -------
        array of shape (n, classes)
        """
        return self._ask("p_top")

    def next_label_value(self) -> Floats:
        """Return the variance that one further vote is expected to take off, summed over classes.

        Returns
        -------
        array of shape (n,)
        """
        return self._ask("next_gain")

    def update(self, votes: npt.ArrayLike) -> Mixture:
        """Return the mixtures after further votes have been seen.

        Of a model that knows raters apart, they count as votes of raters picked at random.

        Parameters
        ----------
        votes : array of shape (n, classes) or (classes,)
            How many there are for each class.

        Returns
        -------
        Mixture
        """
        n, _, d = self.alpha.shape
        v = np.asarray(votes, dtype=np.float64)
        if v.shape not in ((n, d), (d,)):
            raise InputError(f"votes of shape {v.shape}: expected counts for each class, ({n}, {d}) or ({d},)")
        records = self._records(["weights", "alpha"], votes=np.broadcast_to(v, (n, d)))
        return Mixture._of(records["weights"].copy(), records["alpha"].copy(), self._run, self.resolution)

    def _ask(self, field: str, **options: Any) -> Floats:
        found: Floats = np.ascontiguousarray(self._records([field], **options)[field])
        return found

    def _records(self, fields: Sequence[str], votes: Floats | None = None, **options: object) -> Any:
        n, k, d = self.alpha.shape
        if n == 0:
            raise InputError("no mixtures: expected at least one item")
        kind: list[Any] = [("weights", "<f8", (k,)), ("alpha", "<f8", (k, d))]
        if votes is not None:
            kind.append(("votes", "<f8", (d,)))
        records = np.empty(n, dtype=kind)
        records["weights"], records["alpha"] = self.weights, self.alpha
        if votes is not None:
            records["votes"] = votes
        arguments = dict(options, fields=list(fields), run=self._run.path() if self._run is not None else None)
        arguments["resolution"] = repr(self.resolution)
        with Folder() as folder:
            try:
                with open(folder / "in.npy", "wb") as f:
                    np.save(f, records)
            except OSError as e:
                raise FileError(f"writing mixtures to {folder.path}: {e.strerror or e}") from e
            run(["mixture", f"--data={folder / 'in.npy'}", f"--output={folder / 'out.npy'}", *flags(arguments)])
            return load(folder, "out.npy", n)


def _list(x: npt.ArrayLike) -> list[float]:
    return [float(v) for v in np.atleast_1d(np.asarray(x, dtype=np.float64))]
