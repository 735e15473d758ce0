"""Exceptions and warnings."""

from __future__ import annotations

import re


class CredenceError(Exception):
    """What the binary reports, with its hint.

    Attributes
    ----------
    message : str
        What went wrong, where, and what was expected.
    hint : str
        How to fix it; empty if there is no advice.
    code : int
        The exit code of the binary; negative for the signal that ended it.
    """

    def __init__(self, message: str, hint: str = "", code: int = 1) -> None:
        super().__init__(message + (f"\nhint: {hint}" if hint else ""))
        self.message, self.hint, self.code = message, hint, code

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.message, self.hint, self.code)


class InputError(CredenceError, ValueError):
    """Data or options that cannot be used: nothing was computed."""


class BinaryError(CredenceError, RuntimeError):
    """The binary is missing, is of another version, or was killed."""


class FileError(CredenceError, OSError):
    """A file cannot be read or written, for example because the disk is full."""


class CredenceWarning(UserWarning):
    """What the binary warns of."""


_DISK = re.compile(r"no space left on device|disk quota exceeded|read-only file system|permission denied", re.I)


def from_messages(text: str, code: int) -> CredenceError:
    """Returns the exception for a binary that ended with ``code`` after these messages."""
    message, hint = "", ""
    lines = text.splitlines()
    for i, line in enumerate(lines):
        if line.startswith("credence: error: "):
            message = line.removeprefix("credence: error: ")
            # Messages of several lines go on until the hint.
            for more in lines[i + 1 :]:
                if more.startswith("credence: "):
                    break
                message += "\n" + more
        elif line.startswith("credence: hint: "):
            hint = line.removeprefix("credence: hint: ")
    if code < 0:
        return BinaryError(
            f"credence was ended by signal {-code}" + (f": {message}" if message else ""),
            "the kernel ends programs when memory runs out (signal 9)" if code == -9 else "",
            code,
        )
    if not message:
        last = lines[-1] if lines else "no message"
        return BinaryError(f"credence ended with exit code {code}: {last}", "", code)
    if _DISK.search(message):
        return FileError(message, hint, code)
    if code == 3 or "out of memory" in message:
        return BinaryError(message, hint, code)
    return InputError(message, hint, code)
