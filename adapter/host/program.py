"""Runs a program of mqk's in a process of its own: `python -P -m adapter.host.program MODULE ...`.

Half of the work of a start is importing, and a quarter of that is of no use to such a process:
garbage collections of modules that all stay, and what structlog imports to draw tracebacks where it
is installed. This module must not know what the program does, and is for no process that runs other
people's code too.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from adapter.host import memory

DRAWING = ("rich", "twisted")
"""What structlog imports with itself, for ways of logging that are not those of adapter.host.logs.
"""


def load(module: str) -> Callable[[], int]:
    """Import a program; return its main()."""
    with memory.load_without_collecting():
        load_log_library()
        main: Callable[[], int] = importlib.import_module(module).main
    return main


def load_log_library() -> None:
    """Import structlog without what it would import to draw tracebacks."""
    with absent(*DRAWING):
        importlib.import_module("structlog")


@contextmanager
def absent(*packages: str) -> Iterator[None]:
    """Let an import find none of these packages, unless they are imported already.

    Python finds no module whose entry is None.
    """
    hidden = [name for name in packages if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


if __name__ == "__main__":
    sys.exit(load(sys.argv.pop(1))())
