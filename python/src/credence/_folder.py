"""Temporary folders that are removed whatever happens.

A folder holds a file that its process keeps locked. What a process that was killed
left behind is removed by the next one that makes a folder: its lock is free.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import threading
import time
import weakref
from pathlib import Path
from types import TracebackType

from ._errors import FileError

PREFIX = "credence-py-"
_LOCK = "lock"

_swept: set[str] = set()
_guard = threading.Lock()


def _remove(path: str, lock: int, owner: int) -> None:
    """Removes a folder, in the process that made it: a forked child only lets go of the lock."""
    if os.getpid() == owner:
        shutil.rmtree(path, ignore_errors=True)
    with contextlib.suppress(OSError):
        os.close(lock)


class Folder:
    """A temporary folder; also a context manager."""

    def __init__(self, parent: str | None = None) -> None:
        parent = parent or tempfile.gettempdir()
        sweep(parent)
        try:
            self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
            lock = os.open(self.path / _LOCK, os.O_CREAT | os.O_RDWR, 0o600)
        except OSError as e:
            raise FileError(
                f"no temporary folder can be made in {parent}: {e.strerror or e}",
                "the environment variable TMPDIR names another place",
            ) from e
        fcntl.flock(lock, fcntl.LOCK_EX)
        self.remove = weakref.finalize(self, _remove, str(self.path), lock, os.getpid())

    def __truediv__(self, name: str) -> Path:
        return self.path / name

    def __enter__(self) -> Folder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()


def sweep(parent: str) -> None:
    """Removes folders whose process is gone, once per process and place."""
    with _guard:
        if parent in _swept:
            return
        _swept.add(parent)
    with contextlib.suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            if entry.name.startswith(PREFIX):
                _sweep_one(entry.path)


def _sweep_one(path: str) -> None:
    try:
        if os.lstat(path).st_uid != os.getuid():
            return
        try:
            lock = os.open(os.path.join(path, _LOCK), os.O_RDWR | os.O_NOFOLLOW)
        except FileNotFoundError:
            # Somebody may be about to lock it.
            if time.time() - os.lstat(path).st_mtime > 3600:
                shutil.rmtree(path, ignore_errors=True)
            return
    except OSError:
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(lock).st_nlink:
            shutil.rmtree(path, ignore_errors=True)
    except OSError:
        pass  # its process lives
    finally:
        os.close(lock)
