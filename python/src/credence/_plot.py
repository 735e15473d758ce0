"""What notebooks show of a mixture: densities as a figure, the first items as a table."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._errors import InputError
from ._rows import names_of, plain_value

if TYPE_CHECKING:
    from ._mixture import Mixture

#: Cells of the density; an item's mass in each is exact.
_CELLS = 400
#: Items and classes of a table at most.
_ROWS, _COLUMNS = 5, 8


def density(m: Mixture, item: int, classes: Sequence[Any] | None, level: float, ax: Any) -> Any:
    """Draws the densities of an item's class probabilities, and returns the axes."""
    if isinstance(item, bool) or not isinstance(item, (int, np.integer)) or not -len(m) <= item < len(m):
        raise InputError(f"item={item!r}: expected the position of an item, from 0 to {len(m) - 1:,}")
    if classes is None:
        classes = m.classes[1:] if len(m.classes) == 2 else m.classes
    elif isinstance(classes, str) or not isinstance(classes, (Sequence, np.ndarray)):
        classes = [classes]
    unknown = [c for c in classes if plain_value(c) not in m.classes]
    if unknown:
        raise InputError(f"classes={list(classes)!r}: expected some of {m.classes!r}, found {unknown[0]!r}")
    if ax is None:
        try:
            import matplotlib.pyplot as plt
        except ImportError as e:
            raise InputError("matplotlib is not installed", "pip install matplotlib") from e
        ax = plt.gca()
    one = m[int(item)]
    # Cells are narrower near 0 and 1, where densities may rise without bound.
    edges = (1 - np.cos(np.pi * np.arange(_CELLS + 1) / _CELLS)) / 2
    mass = np.diff(one.cdf(edges)[0], axis=1)
    ends = one.interval(level)[0]
    for c in classes:
        i = m.classes.index(plain_value(c))
        x, y = (edges[1:] + edges[:-1]) / 2, mass[i] / np.diff(edges)
        (line,) = ax.plot(x, y, label=str(c))
        inside = (x >= ends[i, 0]) & (x <= ends[i, 1])
        ax.fill_between(x, y, where=inside, color=line.get_color(), alpha=0.15, linewidth=0)
    ax.set_xlim(0, 1)
    ax.set_ylim(bottom=0)
    name = f" of class {classes[0]}" if len(classes) == 1 else ""
    ax.set_xlabel(f"probability{name}, with {100 * level:.4g}% interval")
    ax.set_ylabel("density")
    ax.set_title(f"item {names_of(one.index)[0]}")
    if len(classes) > 1:
        ax.legend()
    return ax


def table(m: Mixture) -> str:
    """Returns the first items as HTML: mean and 95% interval of each class."""
    about = html.escape(repr(m))
    if not len(m):
        return f"<p>{about}</p>"
    part = m[:_ROWS]
    found = part._records(["mean", "interval"], level=[0.95])
    names = m.classes[:_COLUMNS]
    rows = ["<tr><th>item</th>" + "".join(f"<th>{html.escape(str(c))}</th>" for c in names) + "</tr>"]
    for j, item in enumerate(names_of(part.index)):
        cells = []
        for i in range(len(names)):
            lo, hi = found["interval"][j, i].reshape(2)
            cells.append(f"<td>{found['mean'][j, i]:.3f} <small>[{lo:.3f}, {hi:.3f}]</small></td>")
        rows.append(f"<tr><th>{html.escape(str(item))}</th>{''.join(cells)}</tr>")
    return f"<table><caption>{about}: mean [95% interval]</caption>{''.join(rows)}</table>"
