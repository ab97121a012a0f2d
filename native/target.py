"""build/compiled: where the packages lie with their compiled modules, and what they are made of.

    python -m native.target

prints the folder if it is made of the sources as they are, for PYTHONPATH; else an empty line.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

TOP = Path(__file__).parents[1]
TARGET = TOP / "build" / "compiled"
PACKAGES = ("adapter", "mqk_demo", "spark_jobs", "schemas")
STAMP = TARGET / "made-of"
OPTIMIZE = "2"
"""The compiler's -O, unless another one is asked for."""


def made_of() -> str:
    """Return the digest of what the target was made of; "" if there is no target."""
    return STAMP.read_text(encoding="ascii") if STAMP.is_file() else ""


def usable() -> Path | None:
    """Return the target if it is made of the sources as they are, as shipped; else None."""
    return TARGET if made_of() == digest(OPTIMIZE) else None


def c_compiler() -> str:
    """Return which C compiler there is, in its own words: "" if there is none."""
    command = [*os.environ.get("CC", "cc").split(), "--version"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return f"{command} {done.stdout}"


def digest(optimize: str) -> str:
    """Return a hash of what the result depends on: sources, compilers, msgspec and Python."""
    found = hashlib.sha256()
    versions = [metadata.version(name) for name in ("mypy", "msgspec")]
    found.update(repr((optimize, versions, sys.version, c_compiler())).encode())
    own = [TOP / f"native/{name}.py" for name in ("__main__", "modules", "target")]
    for path in own + [path for name in PACKAGES for path in sorted((TOP / name).rglob("*"))]:
        if path.suffix in {".py", ".avsc"}:
            found.update(f"{path.relative_to(TOP)}\0".encode() + path.read_bytes() + b"\0")
    return found.hexdigest()


if __name__ == "__main__":
    print(usable() or "")
