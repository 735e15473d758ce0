"""Exceptions and warnings."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping


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


def from_messages(
    text: str, code: int, values: Mapping[str, object] | None = None, names: Mapping[str, str] | None = None
) -> CredenceError:
    """Returns the exception for a binary that ended with ``code`` after these messages, in the words of `in_python`."""
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
    message, hint = in_python(message, values, names), in_python(hint, values, names)
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


#: Temporary files, by the beginning of their names, and what a caller gave instead of them.
_GIVEN = {"items": "X", "votes": "votes", "in": "the mixtures", "options": "the options", "run": "the model"}
_COMMAND = re.compile(r'("credence [^"]*")')
_USAGE = re.compile(r'run "credence ([a-z-]+)(?: [a-z-]+)? --help" for usage')
_OF_CONFIG = re.compile(r'^the options:\d+:\d+: ([a-z-]+) "(.*?)": (?=expected|unknown|method)', re.S)
_OF_FLAG = re.compile(r'^(?:--)?([a-z-]+) "?([^\s":]+)"?: (?=expected)')


def in_python(text: str, values: Mapping[str, object] | None = None, names: Mapping[str, str] | None = None) -> str:
    """Rewrites a message of the binary for a caller in Python: arguments instead of flags and temporary files.

    Parameters
    ----------
    text : str
        The message or hint.
    values : mapping, optional
        Values of options, by their names on the command line.
    names : mapping, optional
        Arguments that are not called as their options.

    Examples
    --------
    >>> in_python('--held-out "3": expected a share', {"held-out": 3.0})
    'held_out=3.0: expected a share'
    >>> in_python("leave out --one-hot")
    'leave out one_hot'
    """
    values, names = values or {}, names or {}

    def name(flag: str) -> str:
        return names.get(flag, flag.replace("-", "_"))

    def with_value(m: re.Match[str]) -> str:
        value = values.get(m[1])
        if isinstance(value, (list, tuple)) and len(value) == 1:
            value = value[0]
        return f"{name(m[1])}={m[2] if value is None else repr(value)}: "

    root = re.escape(tempfile.gettempdir())
    text = re.sub(rf"writing (?:{root}|/\S*)/credence-py-\w+/out\.npy: ", "", text)
    text = re.sub(
        rf"(?:{root}|/[^\s:]*)/credence-py-\w+/([a-z]+)[\w.-]*(?:/[\w.-]+)*", lambda m: _GIVEN.get(m[1], "a temporary file"), text
    )
    text = re.sub(r"\brecord (\d+) \(from 0\)", r"item \1 (from 0)", text.removeprefix("the mixtures: "))
    text = _USAGE.sub(lambda m: f"help({'credence.Parameters' if m[1] == 'train' else 'credence.verbs.' + m[1]}) describes all options", text)
    text = _OF_FLAG.sub(with_value, _OF_CONFIG.sub(with_value, text))
    parts = _COMMAND.split(text)  # a command to type in a shell keeps its flags
    for i in range(0, len(parts), 2):
        part = re.sub(r"unknown flag: --([a-z][a-z-]*)", lambda m: f"unknown option {name(m[1])}", parts[i])
        part = re.sub(r"(?<![\w-])--([a-z][a-z-]*)[ =](?=[0-9\"'\[])", lambda m: name(m[1]) + "=", part)
        parts[i] = re.sub(r"(?<![\w-])--([a-z][a-z-]*)", lambda m: name(m[1]), part)
    return "".join(parts)
