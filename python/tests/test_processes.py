"""Processes, threads, signals: nothing outlives its use, and nothing is left behind."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from conftest import leftovers, quiet_fit, small

import credence
from credence import BinaryError, CredenceError, CredenceWarning, FileError, InputError

LONG = """
import os, sys, warnings, numpy as np, credence
rng = np.random.default_rng(0)
X = rng.normal(size=(3000, 20)); v = rng.binomial(3, 1 / (1 + np.exp(-X[:, 0])))
clf = credence.CredenceClassifier(epochs=100000, patience=0, ensemble=1)
print("begun", flush=True)
"""


def children(pid: int) -> list[int]:
    """Returns the processes below one that are not dead."""
    found = []
    for p in Path("/proc").iterdir():
        if p.name.isdigit():
            try:
                state, parent = (p / "stat").read_text().rpartition(")")[2].split()[:2]
            except OSError:
                continue
            if int(parent) == pid:
                found.append((int(p.name), state))
    return found


def alive(pid: int) -> bool:
    """Reports whether a process runs, and is not merely waited for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def script(tail: str, **env: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", LONG + tail], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **env}
    )


def wait_for_child(p: subprocess.Popen) -> int:
    """Waits until the script's child trains, and returns its id."""
    assert p.stdout.readline() == "begun\n", p.stderr.read()
    until = time.monotonic() + 60
    while time.monotonic() < until:
        found = [pid for pid, _ in children(p.pid)]
        if found:
            return found[0]
        time.sleep(0.02)
    raise AssertionError("no child")


def work(fitted, X, out):
    """What a child process does: predict, and train."""
    clf = quiet_fit(small(), X[:60], np.array([[2, 1], [0, 3]] * 30))
    out.put((fitted.predict_proba(X).tolist(), clf.predict_proba(X[:1]).shape))


@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_processes(how, data, fitted):
    X = data[0]
    want = fitted.predict_proba(X)
    context = multiprocessing.get_context(how)
    out = context.Queue()
    p = context.Process(target=work, args=(fitted, X, out))
    p.start()
    got, shape = out.get(timeout=120)
    p.join()
    assert np.array_equal(got, want) and shape == (1, 2)
    assert np.array_equal(fitted.predict_proba(X), want)  # the child did not take the files along


def test_fork_within_server(data, fitted):
    X = data[0]
    context = multiprocessing.get_context("fork")
    out = context.Queue()
    with fitted.server():
        want = fitted.predict_proba(X)
        p = context.Process(target=work, args=(fitted, X, out))
        p.start()
        assert np.array_equal(out.get(timeout=120)[0], want)
        p.join()
        assert np.array_equal(fitted.predict_proba(X), want)


def test_threads(data, fitted):
    X = data[0]
    want = fitted.predict_proba(X)
    wrong: list[object] = []

    def ask(i: int) -> None:
        try:
            for j in range(5):
                if not np.allclose(fitted.predict_proba(X[i : i + 10 + j]), want[i : i + 10 + j]):
                    wrong.append(i)
        except BaseException as e:
            wrong.append(e)

    for block in (False, True):
        threads = [threading.Thread(target=ask, args=(i,)) for i in range(8)]
        server = fitted.server()
        if block:
            server.__enter__()
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        if block:
            server.__exit__(None, None, None)
    assert not wrong


def test_nothing_left(data, tmp_path):
    before = leftovers()
    X, counts = data
    clf = quiet_fit(small(), X, counts)
    clf.predict_proba(X)
    with clf.server():
        clf.predict_proba(X[:1])
        assert children(os.getpid())
        socket = clf._fitted.server.path
    assert not os.path.exists(socket)
    with pytest.raises(InputError):
        small(epochs=0).fit(X, counts)
    with pytest.raises(ValueError):
        clf.predict(X[:, :1])
    del clf
    assert leftovers() == before
    assert not [c for c in children(os.getpid()) if c[1] == "Z"]


def test_ctrl_c_keeps_the_best():
    p = script("""
warnings.simplefilter("ignore")
clf.fit(X, np.column_stack([3 - v, v]))
print(clf.stopped_, clf.predict_proba(X).shape, flush=True)
""")
    wait_for_child(p)
    time.sleep(3)
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=120)
    assert p.returncode == 0 and out == "True (3000, 2)\n", err
    assert not leftovers_of(p.pid)


def leftovers_of(pid: int) -> list[int]:
    return [c for c, _ in children(pid)]


def test_killed_child():
    p = script("""
try:
    clf.fit(X, np.column_stack([3 - v, v]))
except credence.BinaryError as e:
    print(e.code, "signal 9" in str(e), flush=True)
""")
    os.kill(wait_for_child(p), signal.SIGKILL)
    out, err = p.communicate(timeout=60)
    assert out == "-9 True\n", err


def test_killed_parent(tmp_path):
    """The child ends too, and the next process removes what was left."""
    p = script("clf.fit(X, np.column_stack([3 - v, v]))", TMPDIR=str(tmp_path))
    child = wait_for_child(p)
    p.kill()
    p.communicate()
    until = time.monotonic() + 30
    while alive(child) and time.monotonic() < until:
        time.sleep(0.1)
    assert not alive(child)
    assert list(tmp_path.glob("credence-py-*"))
    code = "import credence; credence.Mixture([1.0], [[1.0, 2.0]]).mean()"
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "TMPDIR": str(tmp_path)})
    assert not list(tmp_path.glob("credence-py-*"))


def test_killed_server(data, fitted):
    with fitted.server():
        fitted._fitted.server.child.process.kill()
        fitted._fitted.server.child.process.wait()
        with pytest.raises(BinaryError, match="server is gone"):
            fitted.predict_proba(data[0][:1])
    assert fitted.predict_proba(data[0][:1]).shape == (1, 2)


def test_missing_binary(monkeypatch, tmp_path, data):
    monkeypatch.setenv("CREDENCE_BINARY", str(tmp_path / "nowhere"))
    with pytest.raises(BinaryError, match="does not exist.*\nhint: .*CREDENCE_BINARY"):
        small().fit(*data)
    (tmp_path / "text").write_text("no program")
    monkeypatch.setenv("CREDENCE_BINARY", str(tmp_path / "text"))
    with pytest.raises(BinaryError, match="cannot be executed"):
        credence.binary_version()


def test_other_version(monkeypatch, tmp_path):
    fake = tmp_path / "credence"
    real = credence.find()
    fake.write_text(f"""#!/bin/sh
[ "$1" = version ] && {{ echo '{{"version":"9.9.9-dev+abc"}}'; exit; }}
exec {real} "$@"
""")
    fake.chmod(0o755)
    monkeypatch.setenv("CREDENCE_BINARY", str(fake))
    assert credence.binary_version() == "9.9.9.dev0+abc"
    with pytest.warns(CredenceWarning, match="the binary .* is 9.9.9.dev0"):
        credence.Mixture([1.0], [[1.0, 2.0]]).mean()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        credence.Mixture([1.0], [[1.0, 2.0]]).mean()  # said once


def test_full_disk(data, fitted, monkeypatch, tmp_path):
    """Folders on a device without room."""
    import credence._folder as folder

    class Full(folder.Folder):
        def __truediv__(self, name):
            return Path("/dev/full") if name in ("items.npy", "in.npy") else super().__truediv__(name)

    before = leftovers()
    import credence._mixture as mixture
    import credence._run as run

    monkeypatch.setattr(run, "Folder", Full)
    monkeypatch.setattr(mixture, "Folder", Full)
    with pytest.raises(FileError, match="No space left on device"):
        fitted.predict_proba(data[0])
    with pytest.raises(FileError, match="No space left on device"):
        credence.Mixture([1.0], [[1.0, 2.0]]).mean()
    monkeypatch.undo()
    assert leftovers() == before


def test_no_folder(monkeypatch, data, fitted):
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    with pytest.raises(FileError, match="TMPDIR"):
        small().fit(*data)


def test_odd_places(data, tmp_path, monkeypatch):
    """Folders with blanks, letters of other scripts, and names too long for a socket."""
    import tempfile

    deep = tmp_path / "ein Ordner ß 日本" / ("x" * 80)
    deep.mkdir(parents=True)
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    clf = quiet_fit(small(), *data)
    want = clf.predict_proba(data[0])
    with clf.server():
        assert np.allclose(clf.predict_proba(data[0]), want)
    del clf
    assert not list(deep.iterdir())


def test_environment_gives_way(data, monkeypatch):
    monkeypatch.setenv("CREDENCE_EPOCHS", "7")
    X, counts = data
    assert b"\nepochs: 3\n" in quiet_fit(small(), X, counts)._fitted.files["config.yaml"]
    assert b"\nepochs: 7\n" in quiet_fit(small(epochs=None), X, counts)._fitted.files["config.yaml"]


def test_module_and_script(tmp_path):
    out = subprocess.run([sys.executable, "-m", "credence", "version"], capture_output=True, text=True)
    assert out.returncode == 0 and out.stdout.startswith("credence ")
    out = subprocess.run([sys.executable, "-m", "credence", "nonsense"], capture_output=True, text=True)
    assert out.returncode == 2 and "credence: error: " in out.stderr
    out = subprocess.run(
        [sys.executable, "-m", "credence"], capture_output=True, text=True, env={**os.environ, "CREDENCE_BINARY": "/nowhere"}
    )
    assert out.returncode == 1 and "does not exist" in out.stderr
