"""`make compiled`: copy the packages into build/compiled, and compile the hot modules there.

What is there already is kept if it was made of the same sources, by the same compiler.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import sys
import sysconfig
from importlib import metadata
from pathlib import Path

from mypyc.build import mypycify
from setuptools import Distribution

from native.modules import SUBCLASSED, compiled

TOP = Path(__file__).parents[1]
TARGET = TOP / "build" / "compiled"
PACKAGES = ("adapter", "spark_jobs", "schemas")
STAMP = TARGET / "made-of"
FUTURE = "from __future__ import annotations\n"
MARK = f"""{FUTURE}
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mypy_extensions import mypyc_attr
"""
"""For the compiler alone: what is compiled does not import mypy_extensions."""


def main() -> None:
    """Build; status 1, with the reason, if something is missing."""
    parser = argparse.ArgumentParser(prog="python -m native", description=__doc__)
    default = os.environ.get("OPTIMIZE") or "2"
    parser.add_argument("--optimize", default=default, choices="0123", help="the compiler's -O")
    optimize = parser.parse_args().optimize
    missing = what_is_missing()
    if missing:
        sys.exit(f"{missing}; everything runs as Python without it")
    made_of = digest(optimize)
    if STAMP.is_file() and STAMP.read_text(encoding="ascii") == made_of:
        print(f"{TARGET.relative_to(TOP)} is up to date")
        return
    copy()
    os.chdir(TARGET)
    build([str(path) for path in compiled(TARGET)], optimize)
    STAMP.write_text(made_of, encoding="ascii")


def what_is_missing() -> str:
    """Say what this machine lacks for compiling, or ""."""
    compiler = os.environ.get("CC", "cc").split()[0]
    if not shutil.which(compiler):
        return f"there is no C compiler ({compiler}): install one (Debian: gcc)"
    if not Path(sysconfig.get_path("include"), "Python.h").is_file():
        return "there is no Python.h: install the headers of this Python (Debian: python3-dev)"
    return ""


def digest(optimize: str) -> str:
    """Return a hash of what the result depends on: sources, compiler and Python."""
    found = hashlib.sha256()
    tools = (optimize, metadata.version("mypy"), sys.version, os.environ.get("CC", ""))
    found.update(repr(tools).encode())
    own = [Path(__file__), TOP / "native/modules.py"]
    for path in own + [path for name in PACKAGES for path in sorted((TOP / name).rglob("*"))]:
        if path.suffix in {".py", ".avsc"}:
            found.update(f"{path.relative_to(TOP)}\0".encode() + path.read_bytes() + b"\0")
    return found.hexdigest()


def copy() -> None:
    """Make the target anew, from the sources as they are."""
    shutil.rmtree(TARGET, ignore_errors=True)
    for name in PACKAGES:
        ignored = shutil.ignore_patterns("__pycache__", "*.so")
        shutil.copytree(TOP / name, TARGET / name, ignore=ignored)
    for path, name in SUBCLASSED.items():
        open_for_subclasses(TARGET / path, name)


def open_for_subclasses(path: Path, name: str) -> None:
    """Let classes that are not compiled inherit from a class, in the copy."""
    text = path.read_text(encoding="utf-8")
    before, found, after = text.partition(f"\nclass {name}:")
    assert found, f"{path} has no class {name}"
    before = before.replace(FUTURE, MARK, 1)
    mark = "\n@mypyc_attr(allow_interpreted_subclasses=True)"
    path.write_text(before + mark + found + after, encoding="utf-8")


def build(modules: list[str], optimize: str) -> None:
    """Compile in place, in the working directory."""
    extensions = mypycify(
        [
            "--follow-imports=silent",
            "--ignore-missing-imports",
            "--explicit-package-bases",
            *modules,
        ],
        opt_level=optimize,
        debug_level="0",
        multi_file=True,
        group_name="mqk",
    )
    done = Distribution({"name": "mqk-compiled", "ext_modules": extensions})
    command = done.get_command_obj("build_ext")
    command.inplace = True
    command.ensure_finalized()
    command.run()


if __name__ == "__main__":
    main()
