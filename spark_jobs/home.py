"""A home of Spark from which its Python processes start in half the time.

Spark has them import pyspark from a zip file in its home: each compiles all of it anew, which takes
0.6 s of a processor, and each streaming query has a process of its own. Where pyspark is installed
with pip, it lies beside that file too, with what Python has compiled of it. So the JVM is started
with a home of links to the installed one, in which a folder is in the place of the zip file. This
module knows how pyspark is laid out; it must not know sessions.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import py4j
import pyspark

from adapter.localkafka.jars import cache_folder

VARIABLE = "SPARK_HOME"
ZIPPED = Path("python", "lib", "pyspark.zip")
"""Below a home: what Spark's Python processes import."""


@contextmanager
def compiled_home() -> Iterator[None]:
    """Have the JVM that is started now use such a home, if Spark came with pip and none is set."""
    home = None if VARIABLE in os.environ else find_home(folder_of(pyspark), cache_folder())
    if home is None:
        yield
        return
    os.environ[VARIABLE] = str(home)
    try:
        yield
    finally:
        del os.environ[VARIABLE]


def folder_of(package: object) -> Path:
    """Where a package lies."""
    return Path(str(vars(package)["__file__"])).resolve().parent


def find_home(installed: Path, cache: Path) -> Path | None:
    """The home for an installed pyspark, made the first time; None where none can be made."""
    if not (installed / ZIPPED).is_file():
        return None
    digest = hashlib.sha256(f"{installed} {pyspark.__version__}".encode()).hexdigest()[:8]
    home = cache / f"spark-home-{digest}"
    if not home.is_dir():
        try:
            cache.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=cache, prefix="linking-") as work:
                made = Path(work) / "home"
                link(installed, made)
                made.rename(home)
        except OSError:  # it cannot be written, or another process has made it
            return home if home.is_dir() else None
    return home


def link(installed: Path, home: Path) -> None:
    """Make a home of links to what is installed."""
    importable = home / ZIPPED
    importable.mkdir(parents=True)
    for entry in installed.iterdir():
        if entry.name != ZIPPED.parts[0]:
            (home / entry.name).symlink_to(entry)
    for package in (installed, folder_of(py4j)):
        (importable / package.name).symlink_to(package)
