"""Mixtures of Dirichlet distributions, as many as there are items; the binary computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ._binary import flags, run
from ._errors import FileError, InputError
from ._folder import Folder
from ._frames import LIBRARIES
from ._frames import library as frame_library
from ._rows import names_of
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
    classes : sequence, optional
        Names of the classes, for frames and figures; numbers from 0 if not given.
    index : sequence, optional
        Names of the items; numbers from 0 if not given.

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

    def __init__(
        self,
        weights: npt.ArrayLike,
        alpha: npt.ArrayLike,
        resolution: float = 0.0,
        classes: Sequence[Any] | None = None,
        index: Any = None,
    ) -> None:
        w, a = _numbers(weights, "weights"), _numbers(alpha, "alpha")
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
        self.classes = list(range(a.shape[2])) if classes is None else list(classes)
        self.index = np.arange(len(w)) if index is None else index
        if len(self.classes) != a.shape[2]:
            raise InputError(f"classes={self.classes!r}: expected {a.shape[2]} names, one for each class of alpha")
        if len(self.index) != len(w):
            raise InputError(f"index has {len(self.index):,} names: expected {len(w):,}, one for each item")

    @classmethod
    def _of(
        cls, weights: Floats, alpha: Floats, trained: Run | None, resolution: float, classes: Sequence[Any], index: Any
    ) -> Mixture:
        m = cls(weights, alpha, resolution, classes, index)
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
        index = self.index[at] if hasattr(self.index, "dtype") else np.asarray(self.index, dtype=object)[at]
        return Mixture._of(self.weights[at], self.alpha[at], self._run, self.resolution, self.classes, index)

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
        found = self._ask("quantile", quantile=_list(q, "q"))
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
        found = self._ask("cdf", cdf=_list(x, "x"))
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
        return self._ask("interval", level=[one_level(level)])[..., 0, :]

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
        v = _numbers(votes, "votes")
        if v.shape not in ((n, d), (d,)):
            raise InputError(f"votes of shape {v.shape}: expected counts for each class, ({n}, {d}) or ({d},)")
        records = self._records(["weights", "alpha"], votes=np.broadcast_to(v, (n, d)))
        return Mixture._of(
            records["weights"].copy(), records["alpha"].copy(), self._run, self.resolution, self.classes, self.index
        )

    def sample(self, n: int = 1, random_state: Any = None) -> Floats:
        """Draw class probabilities from the distributions.

        Parameters
        ----------
        n : int, default 1
            Number of draws per item.
        random_state : int, Generator or None
            Seed, or the generator of numpy to draw with.

        Returns
        -------
        array of shape (items, n, classes)
            Each draw sums to one.

        Raises
        ------
        InputError
            If the model has a rater model: quantiles then describe the votes of an average rater, of which
            there is no joint distribution to draw from.

        Examples
        --------
        >>> Mixture([1.0], [[30, 10]]).sample(1000, random_state=0).mean(axis=1).round(2)
        array([[0.75, 0.25]])
        """
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
            raise InputError(f"n={n!r}: expected a whole number of at least 1")
        if self._run is not None and self._run.has_raters():
            raise InputError(
                "the model has a rater model: expected a mixture without one, since mean and intervals describe the votes of an average rater",
                "Mixture(m.weights, m.alpha).sample() draws the probabilities of the items themselves",
            )
        self._ask("mean")  # the binary checks the parameters
        try:
            rng = np.random.default_rng(random_state)
        except (TypeError, ValueError) as e:
            raise InputError(f"random_state={random_state!r}: {e}") from e
        items, k, d = self.alpha.shape
        bounds = np.cumsum(self.weights, axis=1)
        at = (rng.random((items, n, 1)) * bounds[:, np.newaxis, -1:] >= bounds[:, np.newaxis, :]).sum(axis=2)
        alpha = self.alpha[np.arange(items)[:, np.newaxis], np.minimum(at, k - 1)]
        # ln Gamma(α) as ln Gamma(α+1) + ln(U)/α, which does not underflow where α is small.
        log = np.log(rng.standard_gamma(alpha + 1)) + np.log1p(-rng.random(alpha.shape)) / alpha
        drawn = np.exp(log - log.max(axis=2, keepdims=True))
        return np.asarray(drawn / drawn.sum(axis=2, keepdims=True))

    def to_frame(self, level: float = 0.95, library: str = "pandas") -> Any:
        """Return a frame with a row per item and class, with the columns of ``credence predict``.

        Parameters
        ----------
        level : float, default 0.95
            The probability that an interval holds.
        library : {"pandas", "polars"}
            Whose frame to make.

        Returns
        -------
        frame
            With item, class, mean, sd, median, level, lower, upper and p_top.
        """
        if library not in LIBRARIES[1:]:
            raise InputError(f"library={library!r}: expected one of {', '.join(LIBRARIES[1:])}")
        n, _, d = self.alpha.shape
        level = one_level(level)
        found = self._records(["mean", "sd", "median", "interval", "p_top"], level=[level])
        ends = found["interval"].reshape(n * d, 2)
        columns: dict[str, Any] = {
            "item": [name for name in names_of(self.index) for _ in range(d)],
            "class": self.classes * n,
            **{f: found[f].reshape(-1).copy() for f in ("mean", "sd", "median")},
            "level": np.full(n * d, level),
            "lower": ends[:, 0].copy(),
            "upper": ends[:, 1].copy(),
            "p_top": found["p_top"].reshape(-1).copy(),
        }
        return frame_library(library).DataFrame(columns)

    def plot(self, item: int = 0, classes: Sequence[Any] | None = None, *, level: float = 0.95, ax: Any = None) -> Any:
        """Draw the density of the class probabilities of an item, with intervals below the curves.

        Parameters
        ----------
        item : int, default 0
            The position of the item.
        classes : sequence, optional
            The classes to draw: of two the second if not given, else all.
        level : float, default 0.95
            The probability that an interval holds.
        ax : matplotlib axes, optional
            Where to draw; the current axes if not given.

        Returns
        -------
        matplotlib axes
        """
        from ._plot import density

        return density(self, item, classes, one_level(level), ax)

    def _repr_html_(self) -> str:
        """Return a table of the first items, for notebooks."""
        from ._plot import table

        return table(self)

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
            line = ["mixture", f"--data={folder / 'in.npy'}", f"--output={folder / 'out.npy'}", *flags(arguments)]
            run(line, arguments, {"quantile": "q", "cdf": "x"})
            return load(folder, "out.npy", n)


def _list(x: npt.ArrayLike, name: str) -> list[float]:
    return [float(v) for v in np.atleast_1d(_numbers(x, name))]


def _numbers(x: npt.ArrayLike, name: str) -> Floats:
    try:
        return np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError) as e:
        raise InputError(f"{name}={x!r:.60}: expected numbers: {e}") from e


def one_level(level: Any) -> float:
    """Returns the level of an interval as a number."""
    try:
        value = float(level) if not isinstance(level, (str, bytes)) else np.nan
    except (TypeError, ValueError):
        value = np.nan
    if not 0 < value < 1:
        hint = f"{level}% is level={level / 100}" if isinstance(level, (int, float)) and 1 < level < 100 else ""
        raise InputError(f"level={level!r}: expected one number between 0 and 1", hint)
    return value
