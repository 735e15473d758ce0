"""Training and predicting on a cluster of Spark.

Spark runs the tasks, the binary does the work: one process of it per task. What a
worker that is lost had done is done again by another, and comes out the same.

The workers need this package, as the driver does. :func:`predict` sends the model to
them; :func:`fit` needs a folder that all of them see.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from . import _binary
from ._errors import CredenceError, FileError, InputError, from_messages
from ._folder import Folder

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

__all__ = ["fit", "predict"]

MODEL = "model.credence"
CONFIG = "config.yaml"
# Names that say which items rows are, as the binary knows them.
_ITEMS = ("item", "item_id", "id", "case", "case_id", "sample", "sample_id", "image", "image_id")
# Bytes that a pipe holds, so that neither end wakes the other for every few rows.
_PIPE = 1 << 20


def predict(
    df: DataFrame,
    model: str | os.PathLike[str],
    level: float | Sequence[float] = 0.95,
    *,
    item: str | None = None,
    **options: Any,
) -> DataFrame:
    """Predict the distribution of the class probabilities of the rows of a DataFrame.

    Rows pass through one process of the binary per task, batch by batch, as Arrow has
    them; no task holds more than a few thousand of them.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        Items with the features that the model was trained with. Columns of lists
        are features of several numbers; the fields of a structure ``s`` are columns
        such as ``s.x``, as in Parquet.
    model : str or path
        Of the folder of a run, or a model file, on the driver.
    level : float or sequence of float
        Of the intervals.
    item : str, optional
        The column that says which item a row is; found by its name if not given.
    **options
        Further options of ``credence predict``: ``wide=True``, ``only="mean"``,
        ``hpd=True``, ``top="off"`` and others.

    Returns
    -------
    pyspark.sql.DataFrame
        The columns of ``credence predict``: one row per item, class and level or, with
        ``wide=True``, per item. Types and numbers are those of ``-o predictions.parquet``.

    Raises
    ------
    CredenceError
        If the model or an option is refused; in a task, if a row is.
    """
    for name in ("output", "format", "o", "threads", "batch", "progress", "shard", "resume", "votes", "overwrite"):
        if name in options:
            raise InputError(f"{name} is not an option of predict on Spark: rows come from and go to DataFrames")
    files = _model_files(Path(model))
    item = item or _item_column(df.columns)
    if item not in df.columns:
        raise InputError(f"there is no column {item!r}: the columns are {', '.join(df.columns)}")
    if options.get("only") != "mean" or level != 0.95:  # which has no intervals, and so no level
        options["level"] = level
    flags = ["--format=arrow", "--progress=0", *_binary.flags({"item": item, **options})]
    schema = _schema(files, flags, df)
    sent = df.sparkSession.sparkContext.broadcast(files)

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with Folder() as folder:
            yield from _stream(batches, _place(sent.value, folder), flags)

    return df.mapInArrow(work, schema)


def fit(
    features: DataFrame,
    votes: DataFrame,
    out: str | os.PathLike[str],
    *,
    members: int = 5,
    resume: bool = False,
    **options: Any,
) -> str:
    """Train an ensemble, one network per task, and join it to one run.

    The data are written once, as Parquet, to ``out/data``; every task reads them from
    there. The run has the bytes that ``credence train`` would have written in one process
    from these files.

    Parameters
    ----------
    features : pyspark.sql.DataFrame
        Items with their features.
    votes : pyspark.sql.DataFrame
        Votes on the items, in any form that ``credence train`` reads.
    out : str or path
        Folder of the run, on storage that driver and workers see under this path.
    members : int
        Networks of the ensemble, and tasks.
    resume : bool
        Go on with what an earlier call left in ``out``, its data included.
    **options
        Further options of ``credence train``: ``epochs=50``, ``seed=2``, ``group="patient"``
        and others.

    Returns
    -------
    str
        The folder of the run, for :func:`predict` and the binary.

    Raises
    ------
    CredenceError
        If data or options are refused.
    """
    if members < 1:
        raise InputError(f"members is {members}: expected at least 1")
    for name in ("data", "out", "member", "ensemble", "overwrite", "config", "quiet", "json", "threads"):
        if name in options:
            raise InputError(f"{name} is not an option of fit on Spark")
    folder = Path(out).absolute()
    items, cast = folder / "data" / "items", folder / "data" / "votes"
    if not resume and folder.exists() and any(folder.iterdir()):
        raise FileError(f"{folder} exists and is not empty", "choose another, or go on with resume=True")
    for frame, path in ((features, items), (votes, cast)):
        if not (path / "_SUCCESS").exists():
            frame.write.mode("overwrite").parquet(path.as_uri())
        if not (path / "_SUCCESS").exists():
            raise FileError(
                f"{path} is not to be seen on the driver after it was written",
                "out has to lie on storage that driver and workers share",
            )
    line = ["train", f"--data={items}", f"--votes={cast}", f"--out={folder}", "--quiet", *_binary.flags(options)]
    given = list(options)

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            for i in batch.column(0).to_pylist():
                os.environ["GOMAXPROCS"] = str(_cores())  # a flag would be in the record of the run
                _train_member([*line, f"--member={i}/{members}"], given)
                yield pa.RecordBatch.from_pydict({"id": [i]})

    spark = features.sparkSession
    spark.range(0, members, 1, members).mapInArrow(work, "id long").collect()
    _, messages = _binary.run(["join", str(folder), "--quiet"])
    _binary.warn_of(messages)
    return str(folder)


def _train_member(line: Sequence[str], given: Sequence[str], patience: float = 60) -> None:
    """Trains one member; the process of a worker that was lost may hold its folder for a moment yet."""
    end = time.monotonic() + patience
    while True:
        try:
            _binary.run(line, dict.fromkeys(given))
            return
        except CredenceError as e:
            if " is in use by " not in e.message or time.monotonic() > end:
                raise
        time.sleep(1)


def _model_files(path: Path) -> dict[str, bytes]:
    """Reads the model, and how its run read data."""
    try:
        if not path.is_dir():
            return {MODEL: path.read_bytes()}
        files = {MODEL: (path / MODEL).read_bytes()}
        config = path / CONFIG
        if config.exists():
            files[CONFIG] = config.read_bytes()
        return files
    except OSError as e:
        raise FileError(f"reading the model {path}: {e.strerror}", "give the folder of a run, or a model file") from e


def _item_column(columns: Sequence[str]) -> str:
    """Finds the column that names items."""
    for name in columns:
        if name.lower() in _ITEMS:
            return name
    raise InputError(
        f"none of the columns {', '.join(columns)} says which item a row is",
        "name it with item=, such as item='patient'",
    )


def _schema(files: dict[str, bytes], flags: Sequence[str], df: DataFrame) -> StructType:
    """Asks the binary which columns predictions have, and whether it takes options and features."""
    import pyarrow as pa
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

    try:
        columns = to_arrow_schema(df.schema)
    except (TypeError, ValueError, NotImplementedError) as e:
        raise InputError(f"the DataFrame has columns that are no features: {e}") from e
    nothing = pa.BufferOutputStream()
    with pa.ipc.new_stream(nothing, columns):
        pass
    with Folder() as folder:
        process = _start(_place(files, folder), flags, 1, subprocess.PIPE)
        out, messages = process.communicate(nothing.getvalue())
    if process.returncode != 0:
        refused = from_messages(messages.decode("utf-8", "replace"), process.returncode)
        raise type(refused)(refused.message.replace("standard input", "the DataFrame"), refused.hint, refused.code)
    return from_arrow_schema(pa.ipc.open_stream(out).schema)


def _place(files: dict[str, bytes], folder: Folder) -> Path:
    """Puts a model into a folder and returns what to call it by."""
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder.path if CONFIG in files else folder / MODEL


def _names(flags: Sequence[str]) -> list[str]:
    """Returns the names of options on a command line."""
    return [f.removeprefix("--").split("=")[0] for f in flags]


def _start(model: Path, flags: Sequence[str], cores: int, messages: int | IO[bytes]) -> subprocess.Popen[bytes]:
    """Starts a process that takes items, and gives predictions, as Arrow streams."""
    process = subprocess.Popen(
        [_binary.checked(), "predict", str(model), "-", *flags, f"--threads={cores}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=messages,
        env=_binary.environment(_names(flags)),
        start_new_session=True,
    )
    for pipe in (process.stdin, process.stdout):
        if pipe is not None and hasattr(fcntl, "F_SETPIPE_SZ"):
            with contextlib.suppress(OSError):  # beyond what the system allows
                fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE)
    return process


def _stream(batches: Iterator[pa.RecordBatch], model: Path, flags: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Passes batches through a process of the binary."""
    import pyarrow as pa

    try:
        first = next(batches)
    except StopIteration:
        return
    with tempfile.TemporaryFile() as messages:
        process = _start(model, flags, _cores(), messages)
        assert process.stdin is not None and process.stdout is not None
        feeder = _Feeder(process.stdin, first, batches)
        try:
            broken: Exception | None = None
            try:
                yield from pa.ipc.open_stream(process.stdout)
            except (pa.ArrowInvalid, OSError) as e:  # nothing more was written; the exit code says why
                broken = e
            code = process.wait()
            feeder.finish(code == 0)
            if code != 0:
                messages.seek(0)
                raise _failure(messages.read().decode("utf-8", "replace"), code)
            if broken is not None:
                raise broken
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            process.stdout.close()
            feeder.finish(False)


def _failure(messages: str, code: int) -> CredenceError:
    """Returns the exception for a task's process, with the first rows that have no prediction: nobody sees its messages."""
    e = from_messages(messages, code)
    rows = [line.removeprefix("credence: warning: ") for line in messages.splitlines() if " has no prediction: " in line]
    if rows:
        return type(e)(f"{e.message}: {'; '.join(rows[:3])}", "", e.code)
    return e


class _Feeder:
    """Writes batches to a process, in a thread of its own: the process answers meanwhile."""

    def __init__(self, pipe: IO[bytes], first: pa.RecordBatch, rest: Iterator[pa.RecordBatch]) -> None:
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._guarded, args=(pipe, first, rest), daemon=True)
        self._thread.start()

    def _guarded(self, pipe: IO[bytes], first: pa.RecordBatch, rest: Iterator[pa.RecordBatch]) -> None:
        try:
            with pipe:
                self._write(pipe, first, rest)
        except BaseException as e:  # raised by finish
            self.error = e

    @staticmethod
    def _write(pipe: IO[bytes], first: pa.RecordBatch, rest: Iterator[pa.RecordBatch]) -> None:
        import pyarrow as pa

        with pa.ipc.new_stream(pipe, first.schema) as w:
            w.write_batch(first)
            for batch in rest:
                w.write_batch(batch)

    def finish(self, needed: bool) -> None:
        """Waits for the end of writing; an error of it is raised if the process did not end with one."""
        self._thread.join(10)
        if needed and self.error is not None:
            raise self.error


def _cores() -> int:
    """Returns how many cores a task may use."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return context.cpus() if context is not None else 1
