"""The build hook: puts the static binary into the wheel, and the Go sources into the sdist."""

from __future__ import annotations

import os
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).resolve().parent))
import go_build  # noqa: E402

ARCHES = {"amd64": "x86_64", "arm64": "aarch64"}
# What the binary does not need: tests, their data, and generators, which are modules of their own.
LEFT_OUT = {"testdata", "_asm", "tools", "python", "r", "docs", "deploy", "dist", "e2e", "studies", "node_modules"}


def tag(system: str, arch: str) -> str:
    """Returns the tag of a wheel: a static binary runs with glibc and with musl."""
    machine = ARCHES.get(arch, arch)
    if system == "linux":
        names = [f"manylinux_2_17_{machine}", f"manylinux2014_{machine}", f"musllinux_1_1_{machine}"]
        return "py3-none-" + ".".join(names)
    if system == "darwin":  # Go 1.26 needs macOS 12
        return "py3-none-macosx_12_0_" + ("arm64" if arch == "arm64" else machine)
    if system == "windows":
        return "py3-none-win_" + arch
    return "py3-none-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")


class CustomBuildHook(BuildHookInterface):
    """Builds with Go before the archive is written."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Adds the binary, or the sources."""
        if self.target_name == "sdist":
            build_data["force_include"].update(go_sources())
            return
        system, arch = go_build.target()
        name = "credence.exe" if system == "windows" else "credence"
        if version == "editable":
            binary = Path(self.root, "src", "credence", "_bin", name)
            binary.parent.mkdir(exist_ok=True)
        else:
            self.folder = tempfile.TemporaryDirectory()
            binary = Path(self.folder.name, name)
        go_build.build(binary, system, arch)
        build_data["pure_python"] = False
        build_data["tag"] = tag(system, arch)
        if version != "editable":
            build_data["force_include"][str(binary)] = f"credence/_bin/{name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Removes the binary."""
        if hasattr(self, "folder"):
            self.folder.cleanup()


def has_go(folder: Path) -> bool:
    """Reports whether a folder holds a package."""
    return any(folder.glob("*.go")) and not (folder / "go.mod").is_file()


def go_sources() -> dict[str, str]:
    """Returns the files that a build needs, each with its place in the archive."""
    root = go_build.sources()
    files = {}
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in LEFT_OUT and not f.startswith("."))
        if Path(folder) != root and "go.mod" in names:
            folders.clear()  # a module of its own
            continue
        at = Path(folder).relative_to(root)
        # Packages, and what they embed from folders below them.
        if Path(folder) != root and not any(has_go(f) for f in (Path(folder), Path(folder).parent)):
            continue
        for name in sorted(names):
            if Path(folder) == root and name not in ("go.mod", "go.sum", "LICENSE"):
                continue
            if not name.endswith("_test.go"):
                files[str(Path(folder) / name)] = str(Path("go") / at / name)
    return files
