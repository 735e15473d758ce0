"""A child ``credence serve`` on a socket, for many small predictions."""

from __future__ import annotations

import http.client
import json
import os
import socket
import struct
import tempfile
import threading
import time
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from ._binary import Child
from ._errors import BinaryError, InputError, from_messages, in_python
from ._folder import Folder
from ._items import Column, Items
from ._run import Run
from ._warn import warn

if TYPE_CHECKING:
    from ._classifier import CredenceClassifier

#: Values of a request at most.
_VALUES = 4_000_000
#: What a path of a socket may have, with room to spare.
_LONGEST = 100

_DATATYPES = {"b1": "BOOL", "i1": "INT8", "i2": "INT16", "i4": "INT32", "i8": "INT64", "u1": "UINT8", "u2": "UINT16",
              "u4": "UINT32", "u8": "UINT64", "f2": "FP16", "f4": "FP32", "f8": "FP64"}  # fmt: skip

#: Outputs of the server that make up a field.
_OUTPUTS = {"interval": ("lower", "upper")}


class _Connection(http.client.HTTPConnection):
    """A connection to a socket in the file system."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=120)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Server:
    """A server of one run, which ends with the block that it was made for."""

    def __init__(self, owner: CredenceClassifier, trained: Run, threads: int | None = None) -> None:
        self.owner = owner
        self.run = trained
        self.threads = threads
        self.uses = 0
        self._guard = threading.RLock()
        self._free: list[_Connection] = []
        self._owner = os.getpid()

    def __enter__(self) -> CredenceClassifier:
        with self._guard:
            self.uses += 1
            if self.uses > 1:
                return self.owner
            try:
                self._start()
            except BaseException:
                self.uses = 0
                raise
        self.run.server = self
        return self.owner

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._guard:
            self.uses -= 1
            if self.uses > 0:
                return
        self.run.server = None
        self._stop()

    async def __aenter__(self) -> Any:
        import asyncio

        from ._async import AsyncClassifier

        await asyncio.to_thread(self.__enter__)
        self._awaited = AsyncClassifier(self.owner)
        return self._awaited

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        import asyncio

        await self._awaited.close()
        await asyncio.to_thread(self.__exit__, kind, value, trace)

    def _start(self) -> None:
        self.folder = Folder()
        path = str(self.folder / "s")
        if len(os.fsencode(path)) > _LONGEST:
            self.folder.remove()
            self.folder = Folder("/tmp")
            path = str(self.folder / "s")
        self.path = path
        line = ["serve", self.run.path(), "--addr", f"unix:{path}", "--log-level", "error"]
        line += ["--max-rows", "10000000", "--max-body", str(1 << 30), "--timeout", "10m"]
        # Whoever asks is this process: nothing but its own memory bounds what it may ask for.
        line += ["--max-intervals", str(10**12), "--max-answer", str(1 << 40), "--max-memory", str(1 << 40)]
        if self.threads:
            line += ["--threads", str(self.threads)]
        self.messages = tempfile.TemporaryFile()
        try:
            self.child = Child(line, stdout=None, stderr=self.messages)
            self._wait()
        except BaseException:
            self._stop()
            raise
        self.inputs = self._get("/v2/models/run")["inputs"]

    def _wait(self) -> None:
        """Waits until the server answers."""
        until = time.monotonic() + 60
        while True:
            if self.child.process.poll() is not None:
                self.messages.seek(0)
                raise from_messages(self.messages.read().decode("utf-8", "replace"), self.child.process.returncode)
            try:
                probe = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                with probe:
                    probe.connect(self.path)
                return
            except OSError:
                if time.monotonic() > until:
                    raise BinaryError("credence serve did not answer within a minute") from None
                time.sleep(0.002)

    def _stop(self) -> None:
        if os.getpid() != self._owner:
            return
        for c in self._free:
            c.close()
        self._free.clear()
        if hasattr(self, "child"):
            self.child.end()
        self.messages.close()
        self.folder.remove()

    def _connection(self) -> _Connection:
        with self._guard:
            if os.getpid() != self._owner:  # after a fork, the parent's connections are not ours
                self._free, self._owner = [], os.getpid()
            return self._free.pop() if self._free else _Connection(self.path)

    def _get(self, route: str) -> Any:
        return json.loads(self._ask("GET", route, b"", {})[0])

    def _ask(self, method: str, route: str, body: bytes, headers: dict[str, str]) -> tuple[bytes, int]:
        c = self._connection()
        try:
            c.request(method, route, body, headers)
            r = c.getresponse()
            data = r.read()
        except (OSError, http.client.HTTPException) as e:
            c.close()
            code = self.child.process.poll()
            if code is not None:
                raise BinaryError(f"the server is gone: it ended with exit code {code}", "", code) from e
            raise BinaryError(f"the server does not answer: {e}") from e
        except BaseException:
            c.close()
            raise
        with self._guard:
            self._free.append(c)
        if r.status != 200:
            try:
                text = json.loads(data)["error"]
            except (ValueError, KeyError):
                text = data.decode("utf-8", "replace").strip()
            raise InputError(in_python(str(text)))
        return data, int(r.headers.get("Inference-Header-Content-Length", len(data)))

    def can(self, items: Items, fields: Sequence[str]) -> bool:
        """Reports whether the server predicts these items: it opens no files."""
        return items.kind != "paths" and not {"variance", "item_alpha"}.intersection(fields)

    def predict(self, items: Items, fields: Sequence[str], level: float = 0.95) -> dict[str, Any]:
        """Returns the fields of the predictions, after the warnings of the server."""
        step = max(1, _VALUES // max(1, items.width))
        notes: list[str] = []
        parts = [self._part(items, i, min(items.n, i + step), fields, level, notes) for i in range(0, items.n, step)]
        for note in dict.fromkeys(notes):
            warn(in_python(note))
        return parts[0] if len(parts) == 1 else {f: np.concatenate([p[f] for p in parts]) for f in fields}

    def _part(
        self, items: Items, start: int, end: int, fields: Sequence[str], level: float, notes: list[str]
    ) -> dict[str, Any]:
        inputs, tail = self._encode(items, start, end)
        outputs = [o for f in fields for o in _OUTPUTS.get(f, (f,))]
        head = json.dumps({
            "inputs": inputs,
            "parameters": {"level": level},
            "outputs": [{"name": o, "parameters": {"binary_data": True}} for o in outputs],
        }).encode()  # fmt: skip
        data, cut = self._ask(
            "POST",
            "/v2/models/run/infer",
            head + b"".join(tail),
            {"Inference-Header-Content-Length": str(len(head)), "Content-Type": "application/octet-stream"},
        )
        found: dict[str, Any] = {}
        at = cut
        answer = json.loads(data[:cut])
        notes += answer.get("parameters", {}).get("warnings", "").splitlines()
        for o in answer["outputs"]:
            size = o["parameters"]["binary_data_size"]
            found[o["name"]] = np.frombuffer(data, "<f8", size // 8, at).reshape(o["shape"])
            at += size
        return {
            f: np.stack([found["lower"], found["upper"]], axis=-1) if f == "interval" else found[f].copy() for f in fields
        }

    def _encode(self, items: Items, start: int, end: int) -> tuple[list[dict[str, Any]], list[bytes]]:
        n = end - start
        if items.kind == "array":
            if items.sparse is not None:
                a = np.asarray(items.sparse[start:end].toarray(), dtype="<f4")
            else:
                assert items.array is not None
                a = np.ascontiguousarray(items.array[start:end])
                a = a.astype(a.dtype.newbyteorder("<"), copy=False)
            raw = a.tobytes()
            shape = [n, *a.shape[1:]]
            about = {"name": self.inputs[0]["name"], "shape": shape, "datatype": _DATATYPES[a.dtype.str[1:]]}
            return [dict(about, parameters={"binary_data_size": len(raw)})], [raw]
        columns = items.columns or {"text": Column("text", items.texts)}
        inputs, tail = [], []
        for name, c in columns.items():
            if c.kind == "number":
                raw, kind = np.asarray(c.values[start:end], dtype="<f8").tobytes(), "FP64"
            else:
                raw, kind = b"".join(_text(v) for v in c.values[start:end]), "BYTES"
            inputs.append({"name": name, "shape": [n], "datatype": kind, "parameters": {"binary_data_size": len(raw)}})
            tail.append(raw)
        return inputs, tail


def _text(value: str | None) -> bytes:
    raw = (value or "").encode("utf-8")
    return struct.pack("<I", len(raw)) + raw
