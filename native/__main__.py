"""`make compiled`: copy the packages into build/compiled, and compile the hot modules there."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

from mypyc.build import mypycify
from setuptools import Distribution

from native.modules import SUBCLASSED, compiled

TOP = Path(__file__).parents[1]
TARGET = TOP / "build" / "compiled"
PACKAGES = ("adapter", "spark_jobs", "schemas")


def main() -> None:
    """Build; status 2 if there is no compiler."""
    parser = argparse.ArgumentParser(prog="python -m native", description=__doc__)
    parser.add_argument("--optimize", default="2", choices="0123", help="the compiler's -O")
    optimize = parser.parse_args().optimize
    if not shutil.which(os.environ.get("CC", "cc")):
        sys.exit("there is no C compiler (cc): everything runs as Python without it")
    copy()
    os.chdir(TARGET)
    build([str(path) for path in compiled(TARGET)], optimize)


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
    future = "from __future__ import annotations\n"
    text = path.read_text(encoding="utf-8")
    before, found, after = text.partition(f"\nclass {name}:")
    assert found, f"{path} has no class {name}"
    before = before.replace(future, f"{future}\nfrom mypy_extensions import mypyc_attr\n", 1)
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
