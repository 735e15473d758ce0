"""A trained run: its files in memory, in a temporary folder while the binary needs them."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _items
from ._binary import Child, flags, run, warn_of, warnings_of
from ._errors import BinaryError, FileError, InputError, from_messages
from ._folder import Folder
from ._progress import Progress, log
from ._rows import Votes

if TYPE_CHECKING:
    from ._server import Server

#: Files of a run that are kept; the binary makes the rest anew.
KEPT = ("model.credence", "config.yaml", "metrics.json", "history.csv", "report.html")

#: Parameters of the classifier that are not called as their options.
ARGUMENTS = {"seed": "random_state", "from": "start", "data": "X", "item-weights": "sample_weight", "group": "groups"}


class Run:
    """The files of a run. They travel with a pickle; their folder does not."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files
        self._folder: Folder | None = None
        self._owner = 0
        self._guard = threading.Lock()
        self.card: dict[str, Any] | None = None  # what credence inspect says, once asked
        self.server: Server | None = None  # while a block asks for one

    def __getstate__(self) -> dict[str, bytes]:
        return self.files

    def __setstate__(self, files: dict[str, bytes]) -> None:
        self.__init__(files)  # type: ignore[misc]

    def __deepcopy__(self, memo: dict[int, Any]) -> Run:
        return self  # it does not change

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Run) and self.files == other.files

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def read(cls, path: Path) -> Run:
        """Reads the run in a folder, or a model file."""
        if path.is_file():
            return cls({"model.credence": path.read_bytes()})
        files = {name: (path / name).read_bytes() for name in KEPT if (path / name).is_file()}
        if "model.credence" not in files:
            raise FileError(f"{path} contains no model.credence", "give the folder that save or credence train wrote")
        return cls(files)

    def write(self, path: Path) -> None:
        """Writes the files into a folder."""
        path.mkdir(parents=True, exist_ok=True)
        for name, content in self.files.items():
            (path / name).write_bytes(content)

    def inspect(self) -> dict[str, Any]:
        """Returns what credence inspect reports about the model."""
        if self.card is None:
            out, _ = run(["inspect", self.path(), "--json"])
            self.card = json.loads(out)
        return self.card

    def has_raters(self) -> bool:
        """Reports whether the model predicts the votes of an average rater."""
        return bool((self.inspect().get("raters") or {}).get("known"))

    def path(self) -> str:
        """Returns the folder of the run, which lives as long as this object does in this process."""
        import os

        with self._guard:
            if self._folder is None or self._owner != os.getpid() or not (self._folder / "run").is_dir():
                folder = Folder()
                try:
                    self.write(folder / "run")
                except OSError as e:
                    folder.remove()
                    raise FileError(f"writing the model to {folder.path}: {e.strerror or e}") from e
                self._folder, self._owner = folder, os.getpid()
            return str(self._folder / "run")


def yaml(options: dict[str, object]) -> str:
    """Writes options as a configuration file. JSON is YAML, which holds any name."""
    return "".join(f"{k}: {json.dumps(v, ensure_ascii=False)}\n" for k, v in options.items() if v is not None)


def train(options: dict[str, object], folder: Folder, verbose: int | None) -> tuple[Run, bool, list[str]]:
    """Trains, and returns the run, whether somebody stopped it, and warnings.

    The first Ctrl-C stops training in good order: the best networks so far are kept. The second gives up.
    """
    config = folder / "options.yaml"
    config.write_text(yaml(options), encoding="utf-8")
    out = folder / "run"
    child = Child(["train", "--config", str(config), "--out", str(out), "--json"], list(options))
    messages: list[str] = []
    reader = threading.Thread(target=_read_messages, args=(child, messages), daemon=True)
    progress = Progress(verbose)
    stopped = False
    try:
        reader.start()
        stopped = _follow(child, progress)
        reader.join()
    finally:
        progress.close()
        child.end()
    code = child.process.returncode
    if code != 0 and not (stopped and (out / "model.credence").is_file()):
        if stopped:
            raise KeyboardInterrupt("training was stopped before there was a model")
        raise from_messages("\n".join(messages), code, options, ARGUMENTS)
    return Run.read(out), stopped, warnings_of(messages)


def _read_messages(child: Child, messages: list[str]) -> None:
    assert child.process.stderr is not None
    for raw in child.process.stderr:
        line = raw.decode("utf-8", "replace").rstrip("\n")
        messages.append(line)
        log(line)


def _follow(child: Child, progress: Progress) -> bool:
    """Reads events until the child ends; reports whether Ctrl-C stopped it."""
    assert child.process.stdout is not None
    stopped = False
    while True:
        try:
            for raw in iter(child.process.stdout.readline, b""):
                try:
                    progress.event(json.loads(raw))
                except ValueError:
                    continue
            child.process.wait()
            return stopped
        except KeyboardInterrupt:
            if stopped:
                raise
            stopped = True
            child.interrupt()


def predict(
    trained: Run,
    items: _items.Items,
    fields: Sequence[str],
    *,
    votes: Votes | None = None,
    options: dict[str, object] | None = None,
) -> np.ndarray[Any, Any]:
    """Predicts with a process of its own; returns records with the given fields."""
    with Folder() as folder:
        written = _items.write(items, folder)
        line = ["predict", trained.path(), *written.files, "-o", str(folder / "out.npy"), "--progress=0"]
        arguments = dict(options or {})
        arguments["only"] = list(fields)
        for name in ("item", "image-column"):
            if name in written.options:
                arguments[name] = written.options[name]
        if votes is not None:
            path, how = votes.write(folder)
            arguments.update(how, votes=path)
            arguments.pop("item", None) if not written.ids else None
        _, messages = run([*line, *flags(arguments)], arguments, ARGUMENTS)
        warn_of(messages)
        return load(folder, "out.npy", len(items))


def load(folder: Folder, name: str, n: int) -> np.ndarray[Any, Any]:
    """Reads the records that the binary wrote."""
    try:
        records: np.ndarray[Any, Any] = np.load(folder / name)
    except (OSError, ValueError) as e:
        raise BinaryError(f"credence wrote no answers: {e}") from e
    if len(records) != n:
        raise InputError(f"{n:,} items, but {len(records):,} predictions")
    return records


def with_files(
    trained: Run, items: _items.Items, votes: Votes | None, verb: Callable[[str, list[str], Any, dict[str, object]], Any]
) -> Any:
    """Writes items and votes, if there are any, for a verb, and calls it with the run, files, file of votes and options."""
    with Folder() as folder:
        written = _items.write(items, folder)
        path, options = (None, {}) if votes is None else votes.write(folder)
        if "item" in written.options:
            options["item"] = written.options["item"]
        return verb(trained.path(), written.files, path, options)
