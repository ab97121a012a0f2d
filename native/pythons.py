"""For which Pythons compiled wheels are made, and where this machine has them.

The list is in pyproject.toml, where cibuildwheel reads it too.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ASKED = """
import json, pathlib, platform, sys, sysconfig
print(json.dumps([
    platform.python_implementation(), list(sys.version_info[:2]), sys.executable, sys.base_prefix,
    pathlib.Path(sysconfig.get_path("include"), "Python.h").is_file(),
    bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
]))
"""
ANSWER_TIMEOUT_S = 30
"""For a Python on a disk that is slow: it has only to start."""
IDENTIFIER = re.compile(r"cp(\d)(\d+)-")


class Python(NamedTuple):
    """A Python of this machine: version as "3.12", tag as "cp312", prefix of its installation."""

    version: str
    executable: str
    prefix: str

    @property
    def tag(self) -> str:
        return f"cp{self.version.replace('.', '')}"


def targets(pyproject: str) -> list[str]:
    """Return the versions that [tool.cibuildwheel] names, as "3.12", each once."""
    wanted: list[str] = tomllib.loads(pyproject)["tool"]["cibuildwheel"]["build"]
    found = (IDENTIFIER.match(one) for one in wanted)
    return list(dict.fromkeys(f"{one[1]}.{one[2]}" for one in found if one))


def find(version: str) -> Python | None:
    """Return the first Python of a version that can compile; None if the machine has none."""
    for candidate in candidates(version):
        found = ask(str(candidate))
        if found and found.version == version:
            return found
    return None


def candidates(version: str) -> Iterator[str | Path]:
    """Where Pythons of a version lie: this one, on PATH, of pyenv, of uv, of manylinux's images."""
    yield sys.executable
    yield f"python{version}"
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    patches = pyenv.glob(f"versions/{version}.*/bin/python")
    yield from sorted(patches, key=lambda path: _numbers(path.parts[-3]), reverse=True)
    uv = Path(os.environ.get("UV_PYTHON_INSTALL_DIR") or Path.home() / ".local/share/uv/python")
    managed = uv.glob(f"cpython-{version}.*/bin/python{version}")
    yield from sorted(managed, key=lambda path: _numbers(path.parts[-3]), reverse=True)
    tag = f"cp{version.replace('.', '')}"
    yield Path("/opt/python", f"{tag}-{tag}", "bin/python")


def _numbers(version: str) -> list[int]:
    return [int(one) for one in re.findall(r"\d+", version)]


def ask(executable: str) -> Python | None:
    """Return what a Python says of itself; None if it does not run, or cannot compile.

    Without its headers (Python.h), without the GIL, or not CPython: mypyc has no use for it.
    """
    try:
        done = subprocess.run(
            [executable, "-I", "-c", ASKED],
            capture_output=True, text=True, timeout=ANSWER_TIMEOUT_S, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    kind, version, place, prefix, has_headers, is_free_threaded = json.loads(done.stdout)
    if kind != "CPython" or not has_headers or is_free_threaded:
        return None
    return Python(".".join(map(str, version)), place, prefix)
