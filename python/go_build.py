"""Builds the binary that the wheel carries, and asks it for its version.

The Go sources are those of the clone that this folder lies in, or, in a source
distribution, the folder ``go``.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent

NEEDS_GO = (
    "building credence needs Go 1.26 or later (https://go.dev/dl), which was not found: "
    "install it, or install a wheel, which needs none"
)


def sources() -> Path:
    """Returns the folder of the Go module."""
    for folder in (HERE / "go", HERE.parent):
        if (folder / "go.mod").is_file() and (folder / "cmd" / "credence").is_dir():
            return folder
    raise FileNotFoundError(
        f"the Go sources of credence are neither in {HERE / 'go'} nor in {HERE.parent}: "
        "build the package in a clone of the repository, or from a source distribution"
    )


def target() -> tuple[str, str]:
    """Returns the operating system and the architecture to build for, as Go names them."""
    machine = os.uname().machine if hasattr(os, "uname") else "x86_64"
    native = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}.get(
        machine, machine
    )
    system = {"linux": "linux", "darwin": "darwin", "win32": "windows"}.get(sys.platform, sys.platform)
    return os.environ.get("GOOS", system), os.environ.get("GOARCH", native)


def build(to: Path, system: str = "", arch: str = "") -> None:
    """Builds the static binary ``to``; for this machine, if nothing else is said.

    ``CREDENCE_BINARIES`` names a folder with binaries that were built already, ``linux_amd64/credence`` and so on.
    """
    if built := os.environ.get("CREDENCE_BINARIES"):
        name = "credence.exe" if system == "windows" else "credence"
        shutil.copy(Path(built, f"{system}_{arch}", name), to)
        return
    if shutil.which("go") is None:
        raise RuntimeError(NEEDS_GO)
    env = {k: v for k, v in os.environ.items() if k not in ("GOOS", "GOARCH")}
    env["CGO_ENABLED"] = "0"
    if system:
        env["GOOS"], env["GOARCH"] = system, arch
    line = ["go", "build", "-trimpath", "-ldflags=-s -w", "-o", str(to), "./cmd/credence"]
    done = subprocess.run(line, cwd=sources(), env=env, capture_output=True, text=True)
    if done.returncode != 0 and "VCS status" in done.stderr:
        # git refuses clones of other users; the version then lacks the commit.
        line.insert(2, "-buildvcs=false")
        done = subprocess.run(line, cwd=sources(), env=env, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"go build failed in {sources()}:\n{done.stderr.strip()}")


@functools.cache
def version() -> str:
    """Returns the version of the binary, as Python writes versions (PEP 440)."""
    if release := os.environ.get("CREDENCE_VERSION"):
        return python_version(release)
    stated = HERE / "PKG-INFO"
    if stated.is_file():  # a source distribution
        for line in stated.read_text(encoding="utf-8").splitlines():
            if line.startswith("Version: "):
                return line.removeprefix("Version: ").strip()
    with tempfile.TemporaryDirectory() as folder:
        binary = Path(folder) / "credence"
        build(binary)
        text = subprocess.run([str(binary), "version", "--json"], capture_output=True, check=True).stdout
    return python_version(json.loads(text)["version"])


def python_version(text: str) -> str:
    """Writes a version of the binary as PEP 440 has it.

    0.1.0-dev+94d8 is 0.1.0.dev0+94d8, and 0.2.0-rc.1 is 0.2.0rc1.
    """
    return re.sub(r"-(a|b|rc)\w*\.(\d+)", r"\1\2", re.sub(r"-dev\b", ".dev0", text))
