"""Figures of matplotlib in the look of credence's own."""

from __future__ import annotations

#: Colors of series, one after the other.
COLORS = ("#0072b2", "#d55e00", "#008f68", "#b5578a", "#a87400", "#59636e")


def look() -> None:
    """Set matplotlib's style to that of credence's figures.

    Examples
    --------
    >>> look()
    """
    import matplotlib
    from cycler import cycler

    text, muted, rule, grid = "#1f2328", "#59636e", "#818b98", "#e6e9ed"
    matplotlib.rcParams.update(
        {
            "axes.prop_cycle": cycler(color=COLORS),
            "axes.edgecolor": rule,
            "axes.labelcolor": muted,
            "axes.titlecolor": text,
            "axes.titlesize": "medium",
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "axes.axisbelow": True,
            "grid.color": grid,
            "xtick.color": muted,
            "ytick.color": muted,
            "text.color": text,
            "legend.frameon": False,
            "figure.figsize": (6, 3.4),
            "figure.constrained_layout.use": True,
            "lines.linewidth": 1.8,
        }
    )
