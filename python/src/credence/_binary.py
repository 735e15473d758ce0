"""The binary: where it is, whether it fits, and running it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, TypeVar

from ._errors import BinaryError, from_messages, in_python
from ._warn import warn

_T = TypeVar("_T")
_checked: dict[tuple[str, int, int], str] = {}
_guard = threading.Lock()


def find() -> str:
    """Return the path of the binary.

    It is the one that came with the package, unless the environment variable
    ``CREDENCE_BINARY`` names another.

    Returns
    -------
    str
        The path.

    Raises
    ------
    BinaryError
        If there is none.
    """
    named = os.environ.get("CREDENCE_BINARY")
    path = named or str(Path(__file__).parent / "_bin" / "credence")
    if not os.access(path, os.X_OK) or not os.path.isfile(path):
        there = "cannot be executed" if os.path.exists(path) else "does not exist"
        hint = (
            "the environment variable CREDENCE_BINARY names it: unset it to use the one of the package"
            if named
            else "install the package again: pip install ./python in a clone builds it, with Go"
        )
        raise BinaryError(f"the binary {path} {there}", hint)
    return path


def package_version() -> str:
    """Return the version of the package, which is that of the binary it was built with.

    Returns
    -------
    str
        The version as Python writes it.
    """
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("credence")
    except PackageNotFoundError:
        return "0+unknown"


def binary_version(path: str | None = None) -> str:
    """Return the version that the binary states, as Python writes it.

    Parameters
    ----------
    path : str, optional
        Of the binary; the one in use if not given.

    Returns
    -------
    str
        For example ``0.1.0.dev0+94d8182c0a1f``.
    """
    path = path or find()
    done = subprocess.run([path, "version", "--json"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    try:
        stated = str(json.loads(done.stdout)["version"])
        return re.sub(r"-(a|b|rc)\w*\.(\d+)", r"\1\2", re.sub(r"-dev\b", ".dev0", stated))
    except (ValueError, KeyError) as e:
        raise BinaryError(
            f"{path} does not say its version: {(done.stderr or done.stdout).strip()[:200]!r}",
            "is it the binary of credence?",
            done.returncode,
        ) from e


def checked() -> str:
    """Returns the path of the binary, after a warning if it is not the package's own version."""
    path = find()
    if "CREDENCE_BINARY" not in os.environ:
        return path  # built with the package
    at = os.stat(path)
    key = (path, at.st_mtime_ns, at.st_size)
    with _guard:
        known = key in _checked
        if not known:
            _checked[key] = binary_version(path)
    if not known and _checked[key] != package_version():
        warn(
            f"the package is version {package_version()}, but the binary {path} is {_checked[key]}: "
            "what one knows the other may not"
        )
    return path


def environment(given: Sequence[str] = ()) -> dict[str, str]:
    """Returns the environment of the child, without variables that would override given options.

    The child ends with this process (CREDENCE_PARENT).
    """
    env = dict(os.environ)
    for name in given:
        env.pop("CREDENCE_" + name.upper().replace("-", "_"), None)
    env["CREDENCE_PARENT"] = str(os.getpid())
    return env


class Child:
    """A process of the binary, which never outlives its use."""

    def __init__(
        self,
        args: Sequence[str],
        given: Sequence[str] = (),
        stdout: int | None = subprocess.PIPE,
        stderr: int | IO[bytes] = subprocess.PIPE,
    ) -> None:
        # In a session of its own: Ctrl-C comes to this process alone, which decides.
        self.process = subprocess.Popen(
            [checked(), *args],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL if stdout is None else stdout,
            stderr=stderr,
            env=environment(given),
            start_new_session=True,
        )

    def communicate(self) -> tuple[bytes, bytes]:
        """Waits for the end and returns what was written; ends the child if this is interrupted."""
        try:
            out, err = self.process.communicate()
        except BaseException:
            self.end()
            raise
        return out or b"", err or b""

    def interrupt(self) -> None:
        """Does what Ctrl-C does."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)

    def end(self, patience: float = 3) -> None:
        """Ends the child, if need be with force, and closes its pipes."""
        try:
            if self.process.poll() is None:
                self.process.terminate()
                try:
                    self.process.wait(patience)
                except subprocess.TimeoutExpired:
                    pass
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            for pipe in (self.process.stdout, self.process.stderr):
                if pipe is not None:
                    pipe.close()


def run(
    args: Sequence[str], given: Mapping[str, object] | None = None, names: Mapping[str, str] | None = None
) -> tuple[bytes, str]:
    """Runs the binary to its end.

    Parameters
    ----------
    args : sequence of str
        The command line.
    given : mapping, optional
        Values of options, which environment variables must not override.
    names : mapping, optional
        Arguments of the caller that are not called as their options, for messages.

    Returns
    -------
    stdout : bytes
        Results.
    stderr : str
        Messages.

    Raises
    ------
    CredenceError
        If it fails, with its message and hint.
    """
    values = {name.strip("_").replace("_", "-"): value for name, value in (given or {}).items()}
    child = Child(args, list(values))
    out, err = child.communicate()
    text = err.decode("utf-8", "replace")
    if child.process.returncode != 0:
        raise from_messages(text, child.process.returncode, values, names)
    return out, text


def warnings_of(messages: str | Sequence[str]) -> list[str]:
    """Returns the warnings among messages of the binary, each once, in the words of a caller in Python."""
    lines = messages.splitlines() if isinstance(messages, str) else messages
    found = [in_python(m.removeprefix("credence: warning: ")) for m in lines if m.startswith("credence: warning: ")]
    return list(dict.fromkeys(found))


def warn_of(messages: str) -> None:
    """Passes on the warnings among messages of the binary."""
    for text in warnings_of(messages):
        warn(text)


def flags(options: Mapping[str, object]) -> list[str]:
    """Writes options as flags of the command line.

    Underscores are hyphens, None and False leave a flag out, lists repeat it.

    Examples
    --------
    >>> flags({"level": [0.5, 0.9], "max_width": None, "hpd": True})
    ['--level=0.5', '--level=0.9', '--hpd']
    """
    line: list[str] = []
    for name, value in options.items():
        name = name.strip("_").replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            line.append(f"--{name}")
            continue
        several = isinstance(value, Sequence) and not isinstance(value, (str, bytes))
        for one in value if several else [value]:  # type: ignore[attr-defined]
            text = os.fspath(one) if isinstance(one, os.PathLike) else str(one)
            if several and "," in text and not re.fullmatch(r"[-+0-9.eE/, ]+", text):
                text = '"' + text.replace('"', '""') + '"'  # one element, not several
            line.append(f"--{name}={text}")
    return line


def renamed(old: str, value: _T, new: str) -> _T:
    """Returns the value of a parameter that is given by its old name, with a warning."""
    warnings.warn(f"{old} is deprecated: use {new}", DeprecationWarning, stacklevel=3)
    return value


def verb(
    name: Sequence[str], arguments: Sequence[str | os.PathLike[str]], options: Mapping[str, object]
) -> str:
    """Runs a verb of the command line and returns what it prints."""
    line = [*name, *flags(options), "--", *(os.fspath(a) for a in arguments)]
    out, messages = run(line, {k: v for k, v in options.items() if v is not None and v is not False})
    warn_of(messages)
    return out.decode("utf-8")
