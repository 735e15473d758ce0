"""What is shown while the binary trains: a bar, and lines of the log."""

from __future__ import annotations

import logging
from typing import Any

logger = logging.getLogger("credence")
logger.addHandler(logging.NullHandler())  # silent unless the program configures logging


def in_notebook() -> bool:
    """Reports whether a notebook shows what is printed."""
    import sys

    if "IPython" not in sys.modules:
        return False
    from IPython import get_ipython

    return type(get_ipython()).__name__ == "ZMQInteractiveShell"


class Progress:
    """A bar over the epochs of all networks, if it is wanted and tqdm is there."""

    def __init__(self, verbose: int | None) -> None:
        self.bar: Any = None
        self.done = 0.0
        self.parts: dict[int, float] = {}  # of each network, which may train at the same time
        if verbose == 0 or verbose is None and not in_notebook():
            return
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return
        self.bar = tqdm(
            total=1.0, bar_format="{desc}{percentage:3.0f}%|{bar}| {elapsed}{postfix}", desc="training ", leave=False
        )

    def event(self, e: dict[str, Any]) -> None:
        """Takes an event of credence train --json."""
        if self.bar is None or e.get("event") not in ("epoch", "progress"):
            return
        runs, epochs = max(1, e["runs"]), max(1, e["epochs"])
        part = 1.0 if e.get("end") else min(1.0, (e["epoch"] + e["done"]) / epochs)
        self.parts[e["index"]] = part
        now = min(1.0, sum(self.parts.values()) / runs)
        if now > self.done:
            self.bar.update(now - self.done)
            self.done = now
        loss = e.get("held_out")
        self.bar.set_postfix_str(
            f"network {e['index'] + 1}/{runs} epoch {e['epoch']}/{epochs}" + (f" held out {loss:.4f}" if loss is not None else ""),
            refresh=False,
        )

    def close(self) -> None:
        """Removes the bar."""
        if self.bar is not None:
            self.bar.close()


def log(line: str) -> None:
    """Logs a message of the binary, except warnings, which go through module warnings."""
    if line.startswith("credence: warning: "):
        return
    if line.startswith("credence: "):
        logger.error(line.removeprefix("credence: "))
    elif line.strip():
        logger.info(line)
