"""Training and predicting on a cluster of Spark.

Spark runs the tasks, the binary does the work: one process of it per task. What a
worker that is lost had done is done again by another, and comes out the same.

The workers need this package, as the driver does. :func:`predict` sends the model to
them; :func:`fit` needs a folder that all of them see.
"""

from __future__ import annotations

import csv
import io
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from . import _binary
from ._errors import CredenceError, FileError, InputError, from_messages
from ._folder import Folder

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

__all__ = ["fit", "predict"]

MODEL = "model.credence"
CONFIG = "config.yaml"
# Columns of predictions that are no numbers.
_TEXTS = {"item", "class", "hpd", "weights", "a", "b", "distribution"}
_TRUTHS = {"at_least", "abstain"}
# Names that say which items rows are, as the binary knows them.
_ITEMS = ("item", "item_id", "id", "case", "case_id", "sample", "sample_id", "image", "image_id")
# Bytes of predictions that are read at a time.
_BYTES = 1 << 20


def predict(
    df: DataFrame,
    model: str | os.PathLike[str],
    level: float | Sequence[float] = 0.95,
    *,
    item: str | None = None,
    **options: Any,
) -> DataFrame:
    """Predict the distribution of the class probabilities of the rows of a DataFrame.

    Rows pass through one process of the binary per task, batch by batch; no task holds
    more than a few thousand of them.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        Items with the features that the model was trained with. Columns of lists
        are features of several numbers.
    model : str or path
        Of the folder of a run, or a model file, on the driver.
    level : float or sequence of float
        Of the intervals.
    item : str, optional
        The column that says which item a row is; found by its name if not given.
    **options
        Further options of ``credence predict``: ``wide=True``, ``only="mean"``,
        ``hpd=True``, ``digits="full"`` and others.

    Returns
    -------
    pyspark.sql.DataFrame
        The columns of ``credence predict``: one row per item, class and level or, with
        ``wide=True``, per item. Numbers have six digits unless ``digits`` says otherwise.

    Raises
    ------
    CredenceError
        If the model or an option is refused; in a task, if a row is.
    """
    for name in ("output", "format", "o", "threads", "batch", "progress", "shard", "resume", "votes"):
        if name in options:
            raise InputError(f"{name} is not an option of predict on Spark: rows come from and go to DataFrames")
    files = _model_files(Path(model))
    item = item or _item_column(df.columns)
    if item not in df.columns:
        raise InputError(f"there is no column {item!r}: the columns are {', '.join(df.columns)}")
    flags = ["--format=csv", "--progress=0", *_binary.flags({"item": item, "level": level, **options})]
    names = _columns(files, flags, df)
    wide = bool(options.get("wide"))
    sent = df.sparkSession.sparkContext.broadcast(files)

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with Folder() as folder:
            yield from _stream(batches, _place(sent.value, folder), flags, names, wide)

    schema = ", ".join(f"`{name.replace('`', '``')}` {_kind(name, wide)}" for name in names)
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
        raise FileError(f"{folder} is there already and not empty", "choose another, or go on with resume=True")
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
            _binary.run(line, given)
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


def _columns(files: dict[str, bytes], flags: Sequence[str], df: DataFrame) -> list[str]:
    """Asks the binary which columns predictions have, and whether it takes options and features."""
    from pyarrow import parquet
    from pyspark.sql.pandas.types import to_arrow_schema

    with Folder() as folder:
        items = folder / "items.parquet"
        try:
            parquet.write_table(to_arrow_schema(df.schema).empty_table(), items)
        except (TypeError, ValueError, NotImplementedError) as e:
            raise InputError(f"the DataFrame has columns that are no features: {e}") from e
        target = _place(files, folder)
        try:
            out, _ = _binary.run(["predict", str(target), str(items), *flags], _names(flags))
        except CredenceError as e:
            raise type(e)(e.message.replace(str(items), "the DataFrame"), e.hint, e.code) from e
    return next(csv.reader(io.StringIO(out.decode())))


def _place(files: dict[str, bytes], folder: Folder) -> Path:
    """Puts a model into a folder and returns what to call it by."""
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder.path if CONFIG in files else folder / MODEL


def _names(flags: Sequence[str]) -> list[str]:
    """Returns the names of options on a command line."""
    return [f.removeprefix("--").split("=")[0] for f in flags]


def _kind(name: str, wide: bool) -> str:
    """Returns the type of a column of predictions, as Spark names it."""
    if name == "predicted":
        return "string" if wide else "boolean"
    if name in _TEXTS or name.startswith(".pred_class"):
        return "string"
    if wide and name.startswith(("hpd_", "weights_", "a_", "b_")):
        return "string"
    if name in _TRUTHS or wide and name.startswith(("at_least_", "abstain")):
        return "boolean"
    return "double"


def _stream(
    batches: Iterator[pa.RecordBatch], model: Path, flags: Sequence[str], names: Sequence[str], wide: bool
) -> Iterator[pa.RecordBatch]:
    """Passes batches through a process of the binary."""
    import pyarrow as pa

    try:
        first = next(batches)
    except StopIteration:
        return
    nested = any(pa.types.is_nested(f.type) for f in first.schema)
    with Folder() as folder, tempfile.TemporaryFile(dir=folder.path) as messages:
        items = "-"
        if nested:  # which CSV has no columns for
            items = str(folder / "items.parquet")
            _write_parquet(first, batches, items)
        process = subprocess.Popen(
            [_binary.checked(), "predict", str(model), items, *flags, f"--threads={_cores()}"],
            stdin=subprocess.DEVNULL if nested else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=messages,
            env=_binary.environment(_names(flags)),
            start_new_session=True,
        )
        feeder = None
        try:
            if process.stdin is not None:
                feeder = _Feeder(process.stdin, first, batches)
            assert process.stdout is not None
            yield from _read(process.stdout, names, wide)
            code = process.wait()
            if feeder is not None:
                feeder.finish(code == 0)
            if code != 0:
                messages.seek(0)
                raise from_messages(messages.read().decode("utf-8", "replace"), code)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            if feeder is not None:
                feeder.finish(False)


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
        from pyarrow import csv as arrow_csv

        with arrow_csv.CSVWriter(pipe, first.schema) as w:
            w.write_batch(first)
            for batch in rest:
                w.write_batch(batch)

    def finish(self, needed: bool) -> None:
        """Waits for the end of writing; an error of it is raised if the process did not end with one."""
        self._thread.join(10)
        if needed and self.error is not None:
            raise self.error


def _write_parquet(first: pa.RecordBatch, rest: Iterator[pa.RecordBatch], path: str) -> None:
    """Writes batches to a file."""
    from pyarrow import parquet

    with parquet.ParquetWriter(path, first.schema) as w:
        w.write_batch(first)
        for batch in rest:
            w.write_batch(batch)


def _read(pipe: IO[bytes], names: Sequence[str], wide: bool) -> Iterator[pa.RecordBatch]:
    """Reads predictions as they are written."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    arrow: dict[str, Callable[[], pa.DataType]] = {"string": pa.string, "boolean": pa.bool_, "double": pa.float64}
    types = {name: arrow[_kind(name, wide)]() for name in names}
    try:
        reader = arrow_csv.open_csv(
            pipe,
            read_options=arrow_csv.ReadOptions(block_size=_BYTES, use_threads=False),
            convert_options=arrow_csv.ConvertOptions(column_types=types, strings_can_be_null=False, null_values=[""]),
        )
    except pa.ArrowInvalid:
        return  # nothing was written; the exit code says why
    yield from reader


def _cores() -> int:
    """Returns how many cores a task may use."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return context.cpus() if context is not None else 1
