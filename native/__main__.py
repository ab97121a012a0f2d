"""`make compiled`: copy the packages into build/compiled, and compile the hot modules there.

What is there already is kept if it was made of the same sources, by the same compiler.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

from mypyc.build import mypycify
from setuptools import Distribution

from native.modules import SUBCLASSED, WITHOUT_CYCLES, groups
from native.target import OPTIMIZE, PACKAGES, STAMP, TARGET, TOP, digest, made_of

FUTURE = "from __future__ import annotations\n"
MARK = f"""{FUTURE}
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mypy_extensions import mypyc_attr
"""
"""For the compiler alone: what is compiled does not import mypy_extensions."""
COMMON = "-fcommon"
"""Each file that mypyc makes declares the functions of other libraries, as one table."""


def main() -> None:
    """Build; status 1, with the reason, if something is missing."""
    parser = argparse.ArgumentParser(prog="python -m native", description=__doc__)
    default = os.environ.get("OPTIMIZE") or OPTIMIZE
    parser.add_argument("--optimize", default=default, choices="0123", help="the compiler's -O")
    parser.add_argument("--if-possible", action="store_true", help="status 0 without a compiler")
    given = parser.parse_args()
    optimize = given.optimize
    missing = what_is_missing()
    if missing:
        reason = f"{missing}; everything runs as Python without it"
        if not given.if_possible:
            sys.exit(reason)
        print(f"Not compiled: {reason}")
        return
    sources = digest(optimize)
    if made_of() == sources:
        print(f"{TARGET.relative_to(TOP)} is up to date")
        return
    print(f"Compiling the hot modules into {TARGET.relative_to(TOP)}: some minutes", flush=True)
    copy(TARGET)
    mark_all(TARGET)
    build(TARGET, optimize)
    STAMP.write_text(sources, encoding="ascii")


def what_is_missing() -> str:
    """Say what this machine lacks for compiling, or ""."""
    compiler = os.environ.get("CC", "cc").split()[0]
    if not shutil.which(compiler):
        return f"there is no C compiler ({compiler}): install one (Debian: gcc)"
    if not Path(sysconfig.get_path("include"), "Python.h").is_file():
        return "there is no Python.h: install the headers of this Python (Debian: python3-dev)"
    return ""


def copy(target: Path) -> None:
    """Make a folder of the packages anew, from the sources as they are."""
    shutil.rmtree(target, ignore_errors=True)
    for name in PACKAGES:
        ignored = shutil.ignore_patterns("__pycache__", "*.so")
        shutil.copytree(TOP / name, target / name, ignore=ignored)


def mark_all(target: Path) -> None:
    """Tell the compiler in a copy what the sources do not say of their classes."""
    marks = {
        "allow_interpreted_subclasses=True": SUBCLASSED,
        "acyclic=True, free_list_len=1": WITHOUT_CYCLES,
    }
    for attributes, classes in marks.items():
        for path, names in classes.items():
            mark(target / path, names, attributes)


def mark(path: Path, names: Iterable[str], attributes: str) -> None:
    """Tell the compiler more of these classes, in the copy. attributes: of mypyc_attr."""
    text = path.read_text(encoding="utf-8")
    if MARK not in text:
        text = text.replace(FUTURE, MARK, 1)
    for name in names:
        found = re.search(rf"\nclass {name}[:(]", text)
        assert found, f"{path} has no class {name}"
        line = f"\n@mypyc_attr({attributes})"
        text = text[: found.start()] + line + text[found.start() :]
    path.write_text(text, encoding="utf-8")


def build(target: Path, optimize: str) -> None:
    """Compile the hot modules of a copy in place."""
    modules = {name: list(map(str, paths)) for name, paths in groups(target).items()}
    with contextlib.chdir(target):
        extensions = mypycify(
            [
                "--follow-imports=silent",
                "--ignore-missing-imports",
                "--explicit-package-bases",
                "--no-warn-unreachable",  # `make types` does; a planted bug may make some code so
                *(path for paths in modules.values() for path in paths),
            ],
            separate=[(paths, name) for name, paths in modules.items()],
            opt_level=optimize,
            debug_level="0",
            multi_file=True,
        )
        for extension in extensions:
            extension.extra_compile_args.append(COMMON)
        done = Distribution({"name": "mqk-compiled", "ext_modules": extensions})
        command = done.get_command_obj("build_ext")
        command.inplace = True
        command.ensure_finalized()
        command.run()


if __name__ == "__main__":
    main()
